import { CreateQueueCommand, SetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { type BuildAppOptions, buildApp } from "fauxqs";
import { accountId, credentials, region } from "../region.ts";
import type { QueueSpec } from "../template/specs.ts";
import { keepGivenBack, queuePart, takeAllOfUnicode } from "./queue-mends.ts";

export interface QueueServer {
  readonly endpoint: string;
  readonly client: SQSClient;
  /** The address of a queue on this server; its own answers name a host that may not resolve. */
  url(name: string): string;
  close(): Promise<void>;
}

/** Starts an SQS server on a free loopback port: in memory, or kept in SQLite in `dataDir`. */
export async function startQueueServer(dataDir?: string): Promise<QueueServer> {
  await takeAllOfUnicode();
  const stores = dataDir === undefined ? undefined : await keptStores(dataDir);
  // Not startFauxqs(), which listens on every interface of the machine.
  const app = buildApp({ logger: false, defaultRegion: region, ...stores?.options });
  if (stores) app.addHook("preClose", (done) => done(stores.close()));
  const endpoint = await app.listen({ port: 0, host: "127.0.0.1" });
  const client = new SQSClient({ endpoint, region, credentials });
  return {
    endpoint,
    client,
    url: (name) => `${endpoint}/${accountId}/${name}`,
    close: async () => {
      client.destroy();
      await app.close();
    },
  };
}

/** Creates the queues, or brings those that are kept from an earlier run up to date. */
export async function createQueues(server: QueueServer, queues: Iterable<QueueSpec>): Promise<void> {
  for (const queue of queues) {
    await server.client.send(new CreateQueueCommand({ QueueName: queue.name }));
    await server.client.send(
      new SetQueueAttributesCommand({ QueueUrl: server.url(queue.name), Attributes: attributesOf(queue) }),
    );
  }
}

function attributesOf(queue: QueueSpec): Record<string, string> {
  const redrive = queue.redrive && {
    deadLetterTargetArn: queue.redrive.targetArn,
    maxReceiveCount: queue.redrive.maxReceiveCount,
  };
  return {
    VisibilityTimeout: String(queue.visibilitySeconds),
    MessageRetentionPeriod: String(queue.retentionSeconds),
    DelaySeconds: String(queue.delaySeconds),
    ReceiveMessageWaitTimeSeconds: String(queue.waitSeconds),
    ...(redrive && { RedrivePolicy: JSON.stringify(redrive) }),
  };
}

type Stores = NonNullable<BuildAppOptions["stores"]>;
interface Persistence {
  load(sqs: Stores["sqsStore"], sns: Stores["snsStore"], s3: Stores["s3Store"]): void;
  close(): void;
}

/** What startFauxqs() does with `dataDir`; the package exports no parts for it. */
async function keptStores(
  dataDir: string,
): Promise<{ options: Pick<BuildAppOptions, "stores">; close: () => undefined }> {
  const [sqs, sns, s3, disk] = await Promise.all([
    queuePart<{ SqsStore: new () => Stores["sqsStore"] }>("sqs/sqsStore.js"),
    queuePart<{ SnsStore: new () => Stores["snsStore"] }>("sns/snsStore.js"),
    queuePart<{ S3Store: new () => Stores["s3Store"] }>("s3/s3Store.js"),
    queuePart<{ PersistenceManager: new (dataDir: string) => Persistence }>("persistence.js"),
  ]);
  const stores = { sqsStore: new sqs.SqsStore(), snsStore: new sns.SnsStore(), s3Store: new s3.S3Store() };
  const persistence = new disk.PersistenceManager(dataDir);
  keepGivenBack(persistence);
  // Before the stores know where they are kept, or loading would write what it reads.
  persistence.load(stores.sqsStore, stores.snsStore, stores.s3Store);
  for (const store of [stores.sqsStore, ...stores.sqsStore.allQueues()])
    Object.assign(store, { persistence });
  return { options: { stores }, close: () => void persistence.close() };
}
