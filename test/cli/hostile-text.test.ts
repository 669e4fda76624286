/** Others' text comes into every command: from datasets, agents, queues and engines. None of it may steer a terminal. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createProgram } from "../../cli/program.ts";
import { createEngineStateStore, setDesired } from "../../functions/adapters/table/engine-state.ts";
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { nothingObserved } from "../../functions/core/engine-lifecycle/observe-engine.ts";
import { Transcripts } from "../../functions/core/transcript/transcripts.ts";
import { anItem, anOpenItem } from "../functions/core/items.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { type Ran, sortie } from "./here.ts";
import { fleetOf, snapshotOf } from "./samples.ts";
import { BUCKET, createTranscriptBucket } from "./transcripts/bucket.ts";

const EVIL = "evil\u001b[2J\u001b[31m\u009b1m\u202egpj\u2066\u200f\r\u0007\u2028\nFORGED: all is well";
const now = Date.parse("2026-05-04T10:00:00.000Z");
const key = `run/monday/train/0/${EVIL}`;
const openKey = `run/monday/train/1/${EVIL}`;
let deployed: Deployed;
let folder: string;
let tasks: string;
let faulty: string;

beforeAll(async () => {
  deployed = await startDeployment(["main"], { TranscriptBucket: BUCKET });
  folder = await mkdtemp(join(tmpdir(), "hostile-"));
  tasks = join(folder, "tasks.jsonl");
  faulty = join(folder, "faulty.jsonl");
  await writeFile(tasks, `${JSON.stringify({ task_id: EVIL, main_query: EVIL })}\n`);
  const twice = JSON.stringify({ task_id: EVIL });
  await writeFile(faulty, [JSON.stringify({ [EVIL]: EVIL }), twice, twice, EVIL].join("\n"));
  await fillTable();
  await fillBucket();
  const body = JSON.stringify({ run: "monday", task: { task_id: EVIL } });
  const letter = {
    reason: "agent-error",
    error: EVIL,
    rollout: key,
    attempts: "3",
    episodes: EVIL,
    died_at: EVIL,
  };
  await deployed.send(deployed.main.deadLetterQueueUrl, body, withoutForbidden(letter));
  await deployed.send(
    deployed.main.deadLetterQueueUrl,
    "no task",
    withoutForbidden({ reason: EVIL, error: EVIL }),
  );
});
afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** SQS takes the characters of XML alone, which spares it the worst of these. */
function withoutForbidden(attributes: Record<string, string>): Record<string, string> {
  const allowed = (text: string) => text.replace(/(?![\t\n\r\u0080-\u009f])\p{Cc}/gu, "");
  return Object.fromEntries(Object.entries(attributes).map(([name, text]) => [name, allowed(text)]));
}

async function fillTable(): Promise<void> {
  const rollouts = createRolloutStore({ ...deployed.table, ttlDays: 1 });
  const past = {
    id: `${EVIL}.1`,
    episode: EVIL,
    reason: "agent-error" as const,
    detail: EVIL,
    at: now,
    from: 1,
    step: 1,
  };
  const facts = { task_id: EVIL, run: "monday", changed_at: now };
  await rollouts.move(
    undefined,
    anItem({ ...facts, key, state: "dead", attempts: 3, tries: 3, history: [past] }),
  );
  const open = anOpenItem({ ...facts, key: openKey });
  const { attempt } = open;
  await rollouts.move(undefined, {
    ...open,
    attempt: attempt && { ...attempt, episode: EVIL, invocation: EVIL },
  });
  await createGateStore(deployed.table).setPaused("main", { at: now, why: EVIL });
  const status = { engine_status: `ENGINE.${EVIL}`, engine_status_detail: EVIL, global_step: 3 };
  const circuit = { since: now, failures: 12, reason: EVIL };
  await createLifecycleStore({ ...deployed.table, snapshotTtlDays: 1 }).writeSnapshot(
    snapshotOf({
      status,
      alarms: [{ code: EVIL, since: now, text: EVIL }],
      never_confirmed: 2,
      fleets: { main: fleetOf({ incomplete: { [EVIL]: 1 } }, { paused: EVIL, circuit }) },
    }),
  );
  await fillEngine();
}

/** A conversation in which everybody says the worst. */
async function fillBucket(): Promise<void> {
  const store = await createTranscriptBucket(deployed);
  const ports = { store, clock: new FakeClock(now), log: () => undefined, kept: "all" as const };
  const transcripts = new Transcripts(ports);
  const open = anOpenItem({ key, run: "monday", task_id: EVIL });
  const recording = transcripts.begin(open, { apiKey: "sk-ajet-c2VjcmV0", question: EVIL });
  const call = {
    id: EVIL,
    type: "function",
    function: { name: EVIL, arguments: JSON.stringify({ a: EVIL }) },
  };
  const said = [
    { role: EVIL, content: EVIL },
    { role: "assistant", content: EVIL, reasoning_content: EVIL, tool_calls: [call] },
    { role: "tool", tool_call_id: EVIL, content: EVIL },
  ];
  const answer = { model: EVIL, choices: [{ message: { content: EVIL }, finish_reason: EVIL }] };
  recording?.call({
    path: "/v1/chat/completions",
    contentType: "application/json",
    at: now,
    ms: 1,
    status: 200,
    request: JSON.stringify({ messages: said }),
    response: JSON.stringify(answer),
  });
  recording?.log("warn", EVIL, { [EVIL]: EVIL });
  recording?.returned({ reward: 1, is_success: true, metadata: { [EVIL]: EVIL }, log_metrics: {} }, true);
  recording?.end({ ...open, state: "waiting", history: [] });
  await vi.waitFor(() => expect(transcripts.pending).toBe(0));
}

async function fillEngine(): Promise<void> {
  const store = createEngineStateStore(deployed.table);
  await setDesired(deployed.table, "main", { state: "running", config: "a: 1\n" }, { now, name: EVIL });
  await store.writeObserved("main", undefined, {
    ...nothingObserved(now),
    version: 1,
    token: 1,
    generation: 1,
    status: `ENGINE.${EVIL}`,
    detail: EVIL,
    failures: 1,
    step: { kind: "wait", reason: EVIL },
    unreachable: { since: now, count: 3, look_again_at: now, detail: EVIL },
    last_failure: { at: now, text: EVIL },
    call_error: { at: now, text: EVIL },
    alarms: [{ code: "call-failed", since: now, text: EVIL }],
  });
}

const config = "a: 2\n";
/** Every command, by what is written on its line. `{tasks}` and such stand for files. */
const lines: readonly [string, ...string[]][] = [
  ["push {tasks} --dry-run"],
  ["push {faulty}"],
  ["push {faulty} --dry-run --skip-invalid"],
  ["push {tasks} --run monday"],
  ["push {tasks} --map {evil}=main_query"],
  ["push {tasks} --run {evil}"],
  ["rollout {key} --chat"],
  ["transcripts export --run monday"],
  ["transcripts export --run {evil}"],
  ["stats"],
  ["stats --since 1d"],
  ["stats --plot"],
  ["stats --watch"],
  ["stats --engine {evil}"],
  ["episodes --since 7d"],
  ["episodes --open"],
  ["rollout {key}"],
  ["rollout {openKey}"],
  ["rollout {evil}"],
  ["pause --why {evil}"],
  ["pause --fleet {evil}"],
  ["resume"],
  ["dead list"],
  ["dead show --body"],
  ["dead list --reason {evil}"],
  ["dead redrive --limit 1"],
  ["dead purge"],
  ["engine status"],
  ["engine status --engine {evil}"],
  ["engine start --config - --wait --timeout 1s"],
  ["engine stop --engine other"],
  ["engine agree --engine {evil}"],
  ["engine log --engine {evil}"],
  ["agent try {evil} --tasks {tasks}"],
  ["init {tasks}/{evil}"],
  ["start --rollouts {evil}"],
  ["engine restart --wait --timeout 1s"],
  ["doctor"],
  ["doctor --table {evil}"],
  ["{evil}"],
];

async function run(line: string, terminal = false): Promise<Ran> {
  const values: Record<string, string> = { tasks, faulty, key, openKey, evil: EVIL };
  const args = line
    .split(" ")
    .map((word) => word.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ""));
  const stop = new AbortController();
  let time = now;
  return await sortie(args, {
    environment: deployed.environment,
    input: config,
    terminal,
    answer: "n",
    now: () => time,
    stop: stop.signal,
    pause: async () => {
      time += 1000;
      if (line.includes("--watch")) stop.abort();
    },
    style: (format, text) => styleText(format, text, { validateStream: false }),
  });
}

/** Styles and the cursor, as the command itself uses them. */
const ESC = "\u001b";
/** Last: what `cli-progress` draws its bar with. */
const OWN = new RegExp(
  String.raw`${ESC}\[(?:(?:1|2|22|31|32|33|39)m|H|2J|K|J)|${ESC}(?:[78]|\[(?:\?25[lh]|\?7[lh]|1G|0K))`,
  "g",
);
const LEAKED = new RegExp(`evil\ufffd?${ESC}|^FORGED`, "m");
const DANGEROUS = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

function expectHarmless({ out, err, progress }: Ran): void {
  // A bar goes back to the start of its line.
  for (const text of [out, err, progress.replace(/\r(?!\n)/g, "")]) {
    expect(text.replace(OWN, "")).not.toMatch(DANGEROUS);
    expect(text).not.toMatch(LEAKED);
  }
}

test.each(lines)("sortie %s shows none of it", async (line) => {
  for (const terminal of [false, true]) expectHarmless(await run(line, terminal));
});

test.each(lines.filter(([line]) => !/^\{evil\}|--watch|--wait/.test(line)))(
  "sortie %s --json stays JSON, with the text as it is",
  async (line) => {
    const ran = await run(`${line} --json`);
    expectHarmless(ran);
    if (ran.out !== "") expect(() => ran.json()).not.toThrow();
  },
);

test("JSON holds the text as it is", async () => {
  expect((await run("rollout {key} --json")).json()).toMatchObject({ task_id: EVIL });
});

test("no command is left out", () => {
  const program = createProgram({ ...process, out: () => undefined, err: () => undefined } as never);
  const names = program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((sub) => `${command.name()} ${sub.name()}`),
  );
  const unwalked = names.filter((name) => !lines.some(([line]) => line.startsWith(name)));
  expect(names.length).toBeGreaterThan(10);
  expect(unwalked).toEqual([]);
});
