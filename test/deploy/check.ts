/**
 * The deploy check: the real template and the real bundles, deployed by the CDK to MiniStack, run by its event source and
 * its schedule against the stand-in engine. One line per step; exit code 1 and MiniStack's log if a step fails.
 */
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { createModel } from "../../local/engine/model.ts";
import { type EngineHandle, startEngine } from "../../local/engine/start.ts";
import { generateProblems } from "../../local/problems/problems.ts";
import { Cloud, until } from "./cloud.ts";
import { bootstrap, type Deployer, deploy } from "./deployment.ts";
import { awsEnvironment, startMiniStack } from "./ministack.ts";

const command = process.argv[2];
if (command === undefined)
  throw new Error("expected the path of ministack as the argument; run .ci/deploy-check");

const seed = 7;
const problems = generateProblems({ seed, count: 8 });
const began = clock.now();
const say = (text: string) =>
  console.log(`deploy-check ${((clock.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}`);

interface Check {
  readonly deployer: Deployer;
  readonly cloud: Cloud;
  readonly engine: EngineHandle;
  readonly settings: Readonly<Record<string, unknown>>;
}

async function deployFirst({ deployer, settings, cloud }: Check): Promise<void> {
  await bootstrap(deployer);
  say("bootstrapped");
  const { code, words } = await deploy(deployer, "first", settings);
  if (code !== 0) throw new Error(`the first deployment failed:\n${words.slice(-3000)}`);
  say(`deployed: ${await cloud.status()}`);
}

async function seeQueues({ cloud, settings }: Check): Promise<void> {
  const queue = await cloud.attributes(await cloud.output("QueueUrlMain"));
  const dead = await cloud.attributes(await cloud.output("DeadLetterQueueUrlMain"));
  const redrive = JSON.parse(queue["RedrivePolicy"] ?? "{}") as Record<string, unknown>;
  expectSame("where the queue's dead letters go", redrive["deadLetterTargetArn"], dead["QueueArn"]);
  const visibility = Number(queue["VisibilityTimeout"]);
  expectSame("visibility above the timeout", visibility > Number(settings["timeoutSeconds"]), true);
  say(`queue: visibility ${visibility} s, dead letters after ${redrive["maxReceiveCount"]} deliveries`);
}

/** Pushes tasks through the deployed queue, until the deployed function has ended their episodes. */
async function runTasks({ cloud, engine }: Check, tasks: readonly { task_id: string }[]): Promise<void> {
  const [queue, table] = await Promise.all([cloud.output("QueueUrlMain"), cloud.output("TableName")]);
  const ended = async () => {
    const states = await cloud.rollouts(table, "main");
    return tasks.every(({ task_id }) => states[task_id] === "ended");
  };
  await cloud.push(queue, tasks);
  await until("every task to end", 120, ended);
  await until("the queue to be empty", 30, async () => (await cloud.depth(queue)) === 0);
  const { endsAccepted, open } = engine.summary();
  say(`${tasks.length} tasks ended; the engine took ${endsAccepted} in all, ${open} open`);
}

async function seeSnapshot({ cloud }: Check): Promise<void> {
  const table = await cloud.output("TableName");
  await until(
    "a snapshot by the schedule",
    150,
    async () => (await cloud.snapshot(table, "main")) !== undefined,
  );
  const snapshot = await cloud.snapshot(table, "main");
  say(`snapshot in the table: ${snapshot?.status.engine_status}, step ${snapshot?.status.global_step}`);
}

async function deployAgain(check: Check): Promise<void> {
  const { deployer, settings, cloud } = check;
  const before = await Promise.all([cloud.output("QueueUrlMain"), cloud.output("TableName")]);
  const { code, words } = await deploy(deployer, "second", { ...settings, memoryMb: 640 });
  if (code !== 0) throw new Error(`the second deployment failed:\n${words.slice(-3000)}`);
  expectSame("memory of the rollout function", await cloud.functionMemory("FleetmainRollout"), 640);
  const after = await Promise.all([cloud.output("QueueUrlMain"), cloud.output("TableName")]);
  expectSame("queue and table", after.join(), before.join());
  const states = await cloud.rollouts(after[1], "main");
  expectSame("rollouts that the table knows", Object.keys(states).length, 3);
  say("deployed again with another setting: queue, table and rollouts are the same");
  await runTasks(check, problems.slice(3, 5));
}

async function refuseRenaming({ deployer, settings, cloud }: Check): Promise<void> {
  const queue = await cloud.output("QueueUrlMain");
  const { code, words } = await deploy(deployer, "renamed", { ...settings, fleets: { other: {} } });
  expectSame("whether the deployment failed", code !== 0, true);
  expectSame("the reason", words.includes("A fleet cannot be renamed"), true);
  expectSame("messages of the old queue, which stands", await cloud.depth(queue), 0);
  say(`a renamed fleet is refused, and the stack is as before: ${await cloud.status()}`);
}

function expectSame(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: expected ${expected}, found ${found}`);
}

const folder = await mkdtemp(join(tmpdir(), "sortie-deploy-"));
const logPath = join(folder, "log");
const log = createWriteStream(logPath);
const model = createModel({ tasks: problems, seed });
const config = { batchTasks: 4, repeats: 2, bootSeconds: 1, syncSeconds: 2, modelSeconds: () => 0.2 };
const engine = await startEngine({ clock, seed, model, config });
const ministack = await startMiniStack(command, folder, (text) => log.write(text));
try {
  const environment = awsEnvironment(ministack.endpoint);
  Object.assign(process.env, environment);
  const deployer = { environment, folder, log: (text: string) => log.write(text) };
  const settings = {
    engineUrl: engine.url,
    retain: false,
    timeoutSeconds: 60,
    maxEpisodes: 4,
    episodesPerInvocation: 2,
    claimWaitSeconds: 20,
  };
  const check: Check = { deployer, cloud: new Cloud(), engine, settings };
  await deployFirst(check);
  await seeQueues(check);
  await runTasks(check, problems.slice(0, 3));
  await seeSnapshot(check);
  await deployAgain(check);
  await refuseRenaming(check);
  await check.cloud.deleteStack();
  say("the stack is deleted by its name");
} catch (error) {
  console.error(`deploy-check FAILED: ${error instanceof Error ? error.message : error}`);
  console.error((await readFile(logPath, "utf8")).slice(-8000));
  process.exitCode = 1;
} finally {
  await ministack.close();
  await engine.close();
  log.end();
  await rm(folder, { recursive: true, force: true });
}
