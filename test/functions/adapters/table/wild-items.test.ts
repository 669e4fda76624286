/**
 * Whatever an engine, a task or an agent chooses, every item is one that DynamoDB takes, by its own rules, and that can be
 * read again. The local server lets through what AWS refuses, so each write is checked by `refusals` as well.
 */
import type { AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parseJson } from "../../../../functions/adapters/engine/json.ts";
import { createAdmissionStore } from "../../../../functions/adapters/table/admission.ts";
import { createEngineStateStore } from "../../../../functions/adapters/table/engine-state.ts";
import { createGateStore } from "../../../../functions/adapters/table/gate.ts";
import { createInvocationStore } from "../../../../functions/adapters/table/invocations.ts";
import { createLifecycleStore, readLatestSnapshot } from "../../../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../../../functions/adapters/table/rollouts.ts";
import { createUsageStore } from "../../../../functions/adapters/table/usage.ts";
import { admissionDefaults, decide } from "../../../../functions/core/admission/admission.ts";
import { lifecycleDefaults } from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import {
  nothingObserved,
  observeEngine,
} from "../../../../functions/core/engine-lifecycle/observe-engine.ts";
import { InvalidMessageError, InvalidOutputError } from "../../../../functions/core/errors.ts";
import {
  fitSnapshot,
  type Snapshot,
  snapshotSchema,
} from "../../../../functions/core/housekeeping/snapshot.ts";
import { addAttempts, noTotals, type Totals } from "../../../../functions/core/housekeeping/totals.ts";
import {
  claimAnswerSchema,
  engineStatusSchema,
  poolInformationSchema,
  type WorkflowOutput,
} from "../../../../functions/core/protocol.ts";
import { checkOutput } from "../../../../functions/core/rollout/check-output.ts";
import { fitOutput } from "../../../../functions/core/rollout/fit-output.ts";
import { isOpen, type RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { decodeMessage } from "../../../../functions/core/rollout/message.ts";
import {
  closed,
  firstSeen,
  type NextItem,
  opened,
  withResult,
} from "../../../../functions/core/rollout/transitions.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { type Item, refusals } from "../../../support/dynamo-rules.ts";
import { pythonNumber, wildNumber, wildTask, wildText } from "../../../support/wild.ts";
import { anAttempt, NOW } from "../../core/items.ts";
import { shippedClient, stateTable } from "./servers.ts";

let server: TableServer;
let client: DynamoDBClient;
const table = () => ({ client, table: "state" });
const runs = (numRuns: number) => ({ numRuns, seed: 20_301_107 });

beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
  client = checked(shippedClient(server.endpoint));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

/** Fails a write that DynamoDB would refuse. */
function checked(client: DynamoDBClient): DynamoDBClient {
  client.middlewareStack.add(
    (next) => (args) => {
      const { Item, ExpressionAttributeValues: values = {} } = args.input as {
        Item?: Item;
        ExpressionAttributeValues?: Record<string, AttributeValue>;
      };
      const faults = [
        ...(Item ? refusals(Item) : []),
        ...refusals({ pk: { S: "x" }, sk: { S: "x" }, ...values }),
      ];
      if (faults.length > 0) throw new Error(`DynamoDB would refuse ${faults.slice(0, 3).join("; ")}`);
      return next(args);
    },
    { step: "initialize", priority: "low" },
  );
  return client;
}

const stamped = (item: NextItem, stamp: string): RolloutItem => ({ ...item, stamp });
const agentOutput = fc.record(
  {
    reward: fc.oneof(wildNumber, fc.array(wildNumber), fc.constant(null)),
    is_success: fc.boolean(),
    metadata: fc.dictionary(wildText, fc.anything({ maxDepth: 4 })),
    log_metrics: fc.dictionary(wildText, fc.oneof(wildNumber, fc.array(wildNumber))),
  },
  { requiredKeys: [] },
);

/** What is left of an agent's output after the checks; undefined where they refuse it. */
function accepted(output: unknown): WorkflowOutput | undefined {
  try {
    return fitOutput(checkOutput(output, "eval", true)).output;
  } catch (error) {
    if (error instanceof InvalidOutputError) return undefined;
    throw error;
  }
}

let serial = 0;
test("a rollout's item, from its message to its end", async () => {
  const store = createRolloutStore({ ...table(), ttlDays: 1 });
  const facts = fc.record({ task: wildTask, step: wildNumber, output: agentOutput, detail: wildText });
  await fc.assert(
    fc.asyncProperty(facts, async ({ task, step, output, detail }) => {
      serial += 1;
      const body = JSON.stringify({
        task: { task_id: task },
        run: `r${serial}`,
        repeat: Number.MAX_SAFE_INTEGER,
      });
      const rollout = decodeMessage(body, "m");
      const result = accepted(output);
      const write = async (previous: RolloutItem | undefined, next: NextItem, stamp: string) => {
        const moved = await store.move(previous, stamped(next, stamp));
        expect(moved.moved).toBe(true);
        const found = await store.read("main", rollout.key);
        if (!found) throw new Error("expected the item that was written, found none");
        return found;
      };
      const first = firstSeen(rollout, { fleet: "main", engine: "main" }, NOW);
      const attempt = anAttempt({ global_step: step, episode: "e".repeat(256) });
      const open = await write(undefined, opened(first, attempt, NOW), "1");
      if (!isOpen(open)) throw new Error("expected an open item");
      const reporting = result && (await write(open, withResult(open, result, { calls: 1 }, NOW), "2"));
      // As the engine will get it: JSON has no -0.
      if (reporting) expect(reporting.attempt?.result).toEqual(JSON.parse(JSON.stringify(result)));
      const previous = reporting && isOpen(reporting) ? reporting : open;
      const reason = result ? ("ended" as const) : ("invalid-output" as const);
      const ended = await write(
        previous,
        closed(previous, { reason, now: NOW, maxAttempts: 1, detail }),
        "3",
      );
      expect(ended.state).toBe(result ? "ended" : "dead");
      expect(ended.task_id).toBe(task.toWellFormed());
    }),
    runs(150),
  );
});

test("a message that names no storable rollout is refused before anything is claimed", () => {
  fc.assert(
    fc.property(fc.oneof(wildText, fc.json()), (body) => {
      try {
        const { key } = decodeMessage(body, "m");
        expect(Buffer.byteLength(key)).toBeLessThanOrEqual(1800);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidMessageError);
      }
    }),
    runs(300),
  );
});

const names = fc.oneof(wildText, wildTask);
const map = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(name, value), { maxLength: 30 })
    .map((entries) => `{${entries.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(",")}}`);
const list = (value: fc.Arbitrary<string>) =>
  fc.array(value, { maxLength: 20 }).map((some) => `[${some.join(",")}]`);
const text = wildText.map((some) => JSON.stringify(some));
/** The engine's answer, byte by byte. */
const poolText = fc
  .record({
    details: map(names, list(text)),
    clients: map(names, list(text)),
    rewards: map(names, list(pythonNumber)),
    running: map(
      names,
      fc.record({ u: text, n: text }).map(({ u, n }) => `{"client_uuid":${u},"llm_call_count":${n}}`),
    ),
    count: wildNumber,
    words: text,
  })
  .map(
    ({ details, clients, rewards, running, count, words }) =>
      `{"engine_status":"ENGINE.ROLLING","sample_collection_method":${words},"completed_episodes":${count},` +
      `"global_step":${count},"completed_tasks_details":${details},"completed_tasks_client_uuids":${clients},` +
      `"completed_tasks_rewards":${rewards},"running_episode_details":${running}}`,
  );

const totalsOf = (tasks: readonly string[], copies: number): Totals =>
  Array.from({ length: copies }, (_, n) => tasks.map((task) => `${n || ""}${task}`.slice(0, 512)))
    .flat()
    .reduce(
      (sum, task_id) =>
        addAttempts(
          sum,
          {
            key: "k",
            state: "dead",
            episode_type: "train",
            task_id: task_id.toWellFormed(),
            attempts: 1,
            history: [{ id: "i.1", episode: "e", reason: "agent-error", at: 1, from: 0, step: 1 }],
          },
          0,
          2,
        ),
      noTotals(),
    );

function snapshotOf(pool: Snapshot["pool"], words: string, totals: readonly Totals[], at: number): Snapshot {
  const fleet = { queue: null, dead_letters: 0, open: 1, reward_mean: null, reward_deviation: null };
  return snapshotSchema.parse({
    v: 1,
    at: new Date(NOW + at * 1000).toISOString(),
    engine: "main",
    status: engineStatusSchema.parse({ engine_status: words, engine_status_detail: words, global_step: 1 }),
    pool,
    fleets: Object.fromEntries(totals.map((totals, n) => [`fleet-${n}`, { ...fleet, totals }])),
  });
}

test("a snapshot, whatever the engine's pool says: it is readable, and taken", async () => {
  const store = createLifecycleStore({ ...table(), snapshotTtlDays: 1 });
  let at = 0;
  await fc.assert(
    fc.asyncProperty(poolText, wildText, fc.array(wildTask), async (answer, words, tasks) => {
      at += 1;
      const pool = poolInformationSchema.parse(parseJson(answer));
      expect(Object.keys(pool.completed_tasks_details)).toEqual(
        Object.keys(
          (JSON.parse(answer.replace(/-?Infinity|NaN/g, "0")) as typeof pool).completed_tasks_details,
        ),
      );
      const snapshot = fitSnapshot(snapshotOf(pool, words, [totalsOf(tasks, 1)], at));
      await store.writeSnapshot(snapshot);
      expect(await readLatestSnapshot(table(), "main")).toMatchObject({
        at: snapshot.at,
        reduced: snapshot.reduced,
      });
    }),
    runs(100),
  );
});

test("a snapshot of eight fleets with 800 dead groups of the longest names each; none of them is hidden", async () => {
  const store = createLifecycleStore({ ...table(), snapshotTtlDays: 1 });
  const totals = Array.from({ length: 8 }, () => totalsOf(["語".repeat(512)], 800));
  const snapshot = fitSnapshot(snapshotOf(null, "ENGINE.ROLLING", totals, 10_000));
  expect(snapshot.reduced).toEqual(["incomplete"]);
  await store.writeSnapshot(snapshot);
  const found = await readLatestSnapshot(table(), "main");
  for (const { totals } of Object.values(found?.fleets ?? {})) {
    const listed = Object.values(totals.incomplete).reduce((sum, dead) => sum + dead, 0);
    expect(listed).toBeGreaterThan(0);
    expect(listed + totals.incomplete_unlisted).toBe(800);
  }
});

test("a fleet's totals", async () => {
  const store = createLifecycleStore({ ...table(), snapshotTtlDays: 1 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(wildTask),
      fc.integer({ min: 1, max: 60 }),
      wildNumber,
      async (tasks, copies, sum) => {
        serial += 1;
        const totals = { ...totalsOf(tasks, copies), reward_sum: sum, reward_squares: sum * sum };
        expect(await store.writeTotals(`f${serial}`, undefined, { as_of: 1, version: 1, totals })).toBe(true);
        const found = await store.readTotals(`f${serial}`);
        expect(found?.totals.incomplete).toEqual(totals.incomplete);
      },
    ),
    runs(60),
  );
});

test("a fleet's admissions", async () => {
  const store = createAdmissionStore({ ...table(), ttlDays: 1 });
  const rules = {
    ...admissionDefaults,
    setting: { ratio: 100, batchSize: 100, repeats: 2 },
    isOurs: () => true,
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(wildTask, { maxLength: 40 }),
      wildNumber,
      poolText,
      async (tasks, step, answer) => {
        serial += 1;
        const pool = { ...poolInformationSchema.parse(parseJson(answer)), global_step: step };
        const askers = tasks.map((taskId) => ({ taskId, counted: false }));
        const { next } = decide(undefined, pool, askers, rules, NOW);
        if (!next) return;
        const item = { ...next, version: 1, stamp: "s", changed_at: NOW };
        expect(await store.write(`f${serial}`, undefined, item)).toBe(true);
        const found = await store.read(`f${serial}`);
        expect([found?.places, found?.seen]).toEqual([next.places, next.seen]);
      },
    ),
    runs(60),
  );
});

test("what is observed of an engine", async () => {
  const store = createEngineStateStore(table());
  await fc.assert(
    fc.asyncProperty(poolText, wildText, wildNumber, async (answer, words, step) => {
      serial += 1;
      const pool = poolInformationSchema.parse(parseJson(answer));
      const answered = { engine_status: words, engine_status_detail: words, global_step: step };
      const look = { now: NOW, status: engineStatusSchema.parse(answered), pool, waiting: 1 };
      const seen = observeEngine(nothingObserved(NOW), look, lifecycleDefaults);
      expect(await store.writeObserved(`e${serial}`, undefined, { ...seen, version: 1 })).toBe(true);
      expect((await store.readObserved(`e${serial}`))?.status).toBe(seen.status.toWellFormed());
    }),
    runs(60),
  );
});

test("a gate, an invocation and usage", async () => {
  const [gates, invocations, usage] = [
    createGateStore(table()),
    createInvocationStore(table()),
    createUsageStore(table()),
  ];
  await fc.assert(
    fc.asyncProperty(wildText, wildNumber, async (why, number) => {
      serial += 1;
      const fleet = `f${serial}`;
      await gates.setPaused(fleet, { at: NOW, why });
      expect((await gates.read(fleet)).paused?.at).toBe(NOW);
      const invocation = { id: fleet, fleet, alive_at: NOW, silent_at: NOW, ends_at: number };
      await invocations.alive(invocation);
      expect((await invocations.read(fleet))?.id).toBe(fleet);
      await usage.add(fleet, "2030-01-01", { gb_seconds: number, invocations: 1, deliveries: 1 });
      expect((await usage.read(fleet, "2030-01-01")).invocations).toBe(1);
    }),
    runs(40),
  );
});

test("an engine's claim whose episode has no usable name is no claim", () => {
  const claim = (episode_uuid: string) =>
    claimAnswerSchema.safeParse({ success: true, client_uuid: "c", episode_uuid }).success;
  expect([claim("e".repeat(256)), claim("e".repeat(257))]).toEqual([true, false]);
});
