/** What the pages say of the AWS CLI and of boto3, run as it stands there against the local servers. */
import { execFile } from "node:child_process";
import { delimiter } from "node:path";
import { promisify } from "node:util";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toAttributes } from "../../functions/adapters/table/client.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { credentials, region } from "../../local/region.ts";
import { createQueues, type QueueServer, startQueueServer } from "../../local/servers/queue-server.ts";
import { createTables, startTableServer, type TableServer } from "../../local/servers/table-server.ts";
import { stateTable } from "../functions/adapters/table/servers.ts";
import { blocks, readPage } from "./blocks.ts";
import { examples } from "./state-page.ts";

const readme = readPage("README.md");
const statePage = readPage("docs/state.md");
/** Of a Python environment with both; set by `.ci/clients-check`, which makes it. */
const bin = process.env["SORTIE_CLIENTS"];

describe("messages as the README shows them are rollouts", () => {
  test("the AWS CLI's", () => {
    const [body = ""] = readme.match(/(?<=--message-body ')[^']+/) ?? [];
    expect(decodeMessage(body, "m1")).toEqual({
      key: "message/m1",
      task: {
        task_id: "t1",
        main_query: "What is 6 × 7?",
        metadata: { answer: "#### 42" },
        init_messages: [],
        env_type: "",
      },
      repeat: 0,
      run: undefined,
      episodeType: "train",
      discardTimeout: undefined,
    });
  });

  test("the envelope", () => {
    const [body = ""] = blocks(readme, "json").filter((block) => block.includes('"episode_type"'));
    expect(decodeMessage(body, "m1")).toMatchObject({ key: "run/monday/train/0/t1", discardTimeout: 240 });
  });
});

describe.skipIf(bin === undefined)(
  "with the real clients (run by .ci/clients-check, which installs them)",
  () => {
    let queues: QueueServer;
    let tables: TableServer;
    const timeout = 60_000;

    beforeAll(async () => {
      [queues, tables] = await Promise.all([startQueueServer(), startTableServer()]);
      const seconds = { visibilitySeconds: 60, retentionSeconds: 3600, delaySeconds: 0, waitSeconds: 0 };
      await createQueues(queues, [{ name: "tasks", redrive: undefined, ...seconds }]);
      await createTables(tables, [stateTable]);
      const snapshot = examples("snapshot").map((item) => ({ ...item, sk: `SNAPSHOT#${item["at"]}` }));
      for (const item of [...examples("rollout"), ...examples("snapshot"), ...snapshot])
        await tables.client.send(
          new PutItemCommand({ TableName: stateTable.name, Item: toAttributes(item) }),
        );
    });
    afterAll(async () => await Promise.all([queues.close(), tables.close()]));

    async function run(command: string, ...args: string[]): Promise<string> {
      const { stdout } = await promisify(execFile)(command, args, {
        env: {
          PATH: [bin, process.env["PATH"]].join(delimiter),
          AWS_ENDPOINT_URL_SQS: queues.endpoint,
          AWS_ENDPOINT_URL_DYNAMODB: tables.endpoint,
          AWS_REGION: region,
          AWS_DEFAULT_REGION: region,
          AWS_ACCESS_KEY_ID: credentials.accessKeyId,
          AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
          // A profile of the user's must not get in.
          AWS_CONFIG_FILE: "/dev/null",
          AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
          PYTHONUTF8: "1",
          QUEUE_URL: queues.url("tasks"),
          TABLE: stateTable.name,
        },
      });
      return stdout.trim();
    }

    const shell = (code: string) => run("bash", "--norc", "-eo", "pipefail", "-c", code);
    const python = (code: string) => run(`${bin}/python`, "-c", code);

    async function received(): Promise<string[]> {
      const bodies: string[] = [];
      for (;;) {
        const { Messages = [] } = await queues.client.send(
          new ReceiveMessageCommand({ QueueUrl: queues.url("tasks"), MaxNumberOfMessages: 10 }),
        );
        if (Messages.length === 0) return bodies;
        bodies.push(...Messages.map(({ Body = "" }) => Body));
      }
    }

    test("the README's send-message puts its task into the queue", { timeout }, async () => {
      const [code = ""] = blocks(readme, "sh").filter((block) => block.startsWith("aws sqs send-message"));
      // For SQS, version 1 of the AWS CLI takes no address from the environment.
      await shell(`aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL_SQS" "$@"; }\n${code}`);
      const [body = "", ...more] = await received();
      expect(more).toEqual([]);
      expect(decodeMessage(body, "m1").task).toMatchObject({ task_id: "t1", main_query: "What is 6 × 7?" });
    });

    test("the README's loop in Python pushes each task four times", { timeout }, async () => {
      const [code = ""] = blocks(readme, "python");
      await python(`
import os

class Task:
    """As pydantic writes an AgentJet task."""
    def __init__(self, name): self.name = name
    def model_dump_json(self):
        return '{"main_query":"6 × 7?","init_messages":[],"task_id":"%s","env_type":"","metadata":{}}' % self.name

tasks = [Task("a"), Task("b")]
queue_url = os.environ["QUEUE_URL"]
${code}`);
      const ids = (await received()).map((body, index) => decodeMessage(body, `m${index}`).task.task_id);
      expect(ids.toSorted()).toEqual(["a", "a", "a", "a", "b", "b", "b", "b"]);
    });

    test("state.md's AWS CLI commands read what its examples hold", { timeout }, async () => {
      const commands = blocks(statePage, "sh").flatMap((block) => block.split("\n\n"));
      const answers: string[] = [];
      for (const command of commands) answers.push(await shell(command));
      const [latest = "", mean, history, rollout = "", ended] = answers;
      expect(JSON.parse(latest)).toMatchObject({ Item: { engine: { S: "main" }, unconfirmed: { N: "3" } } });
      expect(mean).toBe("0.625");
      expect(history).toBe("2026-05-04T10:03:00.412Z\t12\t400\t0.625");
      expect(JSON.parse(rollout)).toMatchObject({ Item: { state: { S: "ended" }, tries: { N: "2" } } });
      expect(ended).toBe("gsm8k-17\t1777888899000\t0.5");
      expect(answers).toHaveLength(5);
    });

    test("state.md's Python reads the same", { timeout }, async () => {
      const [code = ""] = blocks(statePage, "python");
      const named = code.replace('"the stack\'s output TableName"', 'os.environ["TABLE"]');
      expect(named).not.toBe(code);
      const lines = (await python(`import os\n${named}`)).split("\n");
      expect(lines[0]).toBe("2026-05-04T10:03:00.412Z ENGINE.ROLLING 12");
      expect(lines[1]).toMatch(/^queue \{.*'visible': Decimal\('180'\).*\} open 37 reward mean 0\.625$/);
      expect(lines.slice(2)).toEqual([
        "2026-05-04T10:03:00.412Z 12 0.625",
        "ended [('agent-error', None), ('ended', Decimal('0.5'))]",
        "mean 0.5 of 1",
      ]);
    });
  },
);
