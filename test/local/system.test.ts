import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { Duration } from "aws-cdk-lib";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type System, type SystemOptions, startSystem } from "../../local/system.ts";
import { type Demo, synthesise } from "./helpers/demo-app.ts";
import { messageCounts } from "./helpers/queues.ts";

let directory = "";
let demo: Demo;
let system: System | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "system-"));
  const code = join(directory, "code");
  await mkdir(code);
  await build({
    entryPoints: [fileURLToPath(new URL("./handlers/demo.ts", import.meta.url))],
    outfile: join(code, "index.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  const eventSource = { batchSize: 10, maxBatchingWindow: Duration.seconds(0) };
  const seconds = { visibility: Duration.seconds(2), timeout: Duration.seconds(2) };
  demo = synthesise({ directory, code, eventSource, ...seconds });
}, 30_000);
afterEach(() => system?.close());
afterAll(() => rm(directory, { recursive: true }));

const logFile = () => join(directory, "run", "functions.log");

async function start(options: Partial<SystemOptions> = {}): Promise<System> {
  system = await startSystem({ assemblyDir: demo.assemblyDir, logFile: logFile(), ...options });
  return system;
}

async function send(to: System, ...bodies: string[]): Promise<void> {
  const QueueUrl = to.queueUrls.get(demo.queue);
  for (const MessageBody of bodies) await to.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
}

async function counted(by: System, pk: string): Promise<number> {
  const { Item } = await by.dynamodb.send(
    new GetItemCommand({
      TableName: by.tableNames.get(demo.table),
      Key: { pk: { S: pk }, sk: { S: "count" } },
    }),
  );
  return Number(Item?.["times"]?.N ?? 0);
}

const counts = (of: System, queue: string) => messageCounts(of.sqs, of.queueUrls.get(queue) ?? "");

it("takes messages from the queue through a function to the table, and failures to the dead letters", async () => {
  const started = await start();
  await send(started, "good", "bad", "fine");
  await expect
    .poll(() => counts(started, demo.deadLetters), { timeout: 10_000 })
    .toEqual({ visible: 1, inFlight: 0 });
  expect(await counts(started, demo.queue)).toEqual({ visible: 0, inFlight: 0 });
  expect(await Promise.all(["good", "bad", "fine"].map((body) => counted(started, body)))).toEqual([1, 2, 1]);
  await started.close();
  system = undefined;
  const lines = (await readFile(logFile(), "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.filter(({ message }) => String(message).includes("'good'"))).toEqual([
    expect.objectContaining({ level: "WARN", message: "worked { body: 'good' }" }),
  ]);
}, 20_000);

it("ticks by the schedule, as often as it is told", async () => {
  const started = await start({ tickSeconds: 0.3 });
  await expect.poll(() => counted(started, "tick"), { timeout: 5_000 }).toBeGreaterThanOrEqual(3);
  expect(started.functions.get(demo.ticker)?.processes()).toHaveLength(1);
});

it("keeps what is open for the next run, when told to", async () => {
  const keepDir = join(directory, "keep");
  const first = await start({ keepDir });
  await Promise.all([...first.eventSources.values()].map((source) => source.stop()));
  await send(first, "later");
  await first.close();
  const second = await start({ keepDir });
  await expect.poll(() => counted(second, "later"), { timeout: 8_000 }).toBe(1);
}, 15_000);

it("loses no message when its function's processes are killed", async () => {
  const started = await start();
  const worker = started.functions.get(demo.worker);
  await send(started, "one");
  await expect.poll(() => worker?.processes().length, { timeout: 5_000 }).toBe(1);
  for (const { pid } of worker?.processes() ?? []) worker?.kill(pid);
  await send(started, "two");
  await expect
    .poll(() => counts(started, demo.queue), { timeout: 8_000 })
    .toEqual({ visible: 0, inFlight: 0 });
  expect(await counted(started, "one")).toBeGreaterThanOrEqual(1);
  expect(await counted(started, "two")).toBeGreaterThanOrEqual(1);
}, 15_000);

it("leaves no process behind", async () => {
  const started = await start();
  await send(started, "one");
  const worker = started.functions.get(demo.worker);
  await expect.poll(() => worker?.processes().length, { timeout: 5_000 }).toBe(1);
  await started.close();
  system = undefined;
  expect([...started.functions.values()].flatMap((lambda) => lambda.processes())).toEqual([]);
});

it("says what is wrong with an assembly, and leaves nothing running", async () => {
  await expect(start({ assemblyDir: join(directory, "nowhere") })).rejects.toThrow("Run cdk synth first");
});
