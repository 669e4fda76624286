/** The suites of the table and of the queue once more, on MiniStack: a second implementation of both. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { CreateQueueCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, test, vi } from "vitest";
import { createQueueClient } from "../../functions/adapters/queue/client.ts";
import { createTableClient } from "../../functions/adapters/table/client.ts";
import { createTables } from "../../local/servers/table-server.ts";
import { queueContract } from "../functions/adapters/queue/contract.ts";
import { tableContract } from "../functions/adapters/table/contract.ts";
import { stateTable } from "../functions/adapters/table/servers.ts";
import { awsEnvironment, type MiniStack, startMiniStack } from "./ministack.ts";

/** Set by `.ci/deploy-check`, which installs it. */
const command = process.env["SORTIE_MINISTACK"];

if (command === undefined) test.skip("MiniStack: run by .ci/deploy-check, which installs it", () => {});
else
  describe("on MiniStack", () => {
    const folder = mkdtempSync(join(tmpdir(), "sortie-contracts-"));
    let server: MiniStack | undefined;
    beforeAll(async () => {
      server = await startMiniStack(command, folder, () => {});
      for (const [name, value] of Object.entries(awsEnvironment(server.endpoint))) vi.stubEnv(name, value);
    }, 70_000);
    afterAll(async () => {
      await server?.close();
      rmSync(folder, { recursive: true, force: true });
      vi.unstubAllEnvs();
    });

    tableContract("MiniStack", async () => {
      const client = createTableClient();
      const maker = new DynamoDBClient();
      const endpoint = server?.endpoint ?? "";
      await createTables({ endpoint, client: maker, close: async () => {} }, [stateTable]);
      return {
        client,
        table: stateTable.name,
        close: async () => {
          client.destroy();
          maker.destroy();
        },
      };
    });

    queueContract("MiniStack", async () => {
      const client = createQueueClient();
      let serial = 0;
      const create = async (name: string) => {
        const made = await client.send(
          new CreateQueueCommand({ QueueName: name, Attributes: { VisibilityTimeout: "960" } }),
        );
        return made.QueueUrl ?? "";
      };
      return {
        client,
        create: async () => {
          serial += 1;
          return {
            queueUrl: await create(`queue-${serial}`),
            deadLetterQueueUrl: await create(`dead-${serial}`),
          };
        },
        close: async () => client.destroy(),
      };
    }, ["a message is deleted once, and deleting it again does no harm"]);
  });
