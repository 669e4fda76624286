import { vi } from "vitest";
import { createQueueClient } from "../../../../functions/adapters/queue/client.ts";
import { accountId, credentials, region } from "../../../../local/region.ts";
import { createQueues, startQueueServer } from "../../../../local/servers/queue-server.ts";
import { queueContract } from "./contract.ts";

queueContract("fauxqs", async () => {
  const server = await startQueueServer();
  // As in a function: the client finds the server through the environment, whatever host a queue's URL names.
  vi.stubEnv("AWS_ENDPOINT_URL_SQS", server.endpoint);
  vi.stubEnv("AWS_REGION", region);
  vi.stubEnv("AWS_ACCESS_KEY_ID", credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", credentials.secretAccessKey);
  const client = createQueueClient();
  let serial = 0;
  const settings = {
    visibilitySeconds: 960,
    retentionSeconds: 1_209_600,
    delaySeconds: 0,
    waitSeconds: 0,
    redrive: undefined,
  };
  return {
    client,
    create: async () => {
      serial += 1;
      const names = [`queue-${serial}`, `dead-${serial}`] as const;
      await createQueues(
        server,
        names.map((name) => ({ ...settings, name })),
      );
      const url = (name: string) => `http://queues.invalid/${accountId}/${name}`;
      return { queueUrl: url(names[0]), deadLetterQueueUrl: url(names[1]) };
    },
    close: async () => {
      client.destroy();
      vi.unstubAllEnvs();
      await server.close();
    },
  };
});
