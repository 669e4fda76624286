import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { createAdmissionStore } from "../../functions/adapters/table/admission.ts";
import { fromAttributes, type Key } from "../../functions/adapters/table/client.ts";
import { getAttributes } from "../../functions/adapters/table/conditional-put.ts";
import { createEngineStateStore, setDesired } from "../../functions/adapters/table/engine-state.ts";
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import { createInvocationStore } from "../../functions/adapters/table/invocations.ts";
import { createLeaseStore, tickLease } from "../../functions/adapters/table/lease.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { createUsageStore } from "../../functions/adapters/table/usage.ts";
import { fleetAdmissionSchema } from "../../functions/core/admission-item.ts";
import { keepBudget, type Spend } from "../../functions/core/budget.ts";
import { alarmsOf } from "../../functions/core/engine-alarms.ts";
import {
  type Desired,
  desiredSchema,
  lifecycleDefaults,
  observedSchema,
  type WantedRunning,
} from "../../functions/core/engine-state.ts";
import type { GateState } from "../../functions/core/gate.ts";
import { type LeaseRecord, leaseSchema } from "../../functions/core/lease.ts";
import type { Invocation } from "../../functions/core/ports.ts";
import { rolloutItemSchema, rolloutStates } from "../../functions/core/rollout-item.ts";
import { snapshotSchema } from "../../functions/core/snapshot.ts";
import { ALL_TIME, estimateUsd, type Usage } from "../../functions/core/spend.ts";
import { SETTLED_MS } from "../../functions/core/take-snapshot.ts";
import { fleetTotalsSchema, rewardDeviation, rewardMean } from "../../functions/core/totals.ts";
import { createTables, startTableServer, type TableServer } from "../../local/table-server.ts";
import { stateTable } from "../functions/adapters/table/servers.ts";
import { FakeClock } from "../support/fake-clock.ts";

const page = readFileSync(new URL("../../docs/state.md", import.meta.url), "utf8");

type Example = Key & Record<string, unknown>;
const examples = (kind: string): Example[] =>
  [...page.matchAll(new RegExp(`\`\`\`json ${kind}\n(.*?)\`\`\``, "gs"))].map(([, json = ""]) =>
    JSON.parse(json),
  );

/** The table holds the agent's result as text. */
function withResultDecoded(example: Example): object {
  const attempt = example["attempt"] as { result: string } | undefined;
  return attempt ? { ...example, attempt: { ...attempt, result: JSON.parse(attempt.result) } } : example;
}

const TABLE = "state";
let server: TableServer;

beforeAll(async () => {
  server = await startTableServer();
  const keys = [
    { AttributeName: "pk", KeyType: "HASH" as const },
    { AttributeName: "sk", KeyType: "RANGE" as const },
  ];
  const attributes = keys.map(({ AttributeName }) => ({ AttributeName, AttributeType: "S" as const }));
  await createTables(server, [{ name: TABLE, keys, attributes, indexes: [] }]);
});
afterAll(async () => await server.close());

const options = () => ({ client: server.client, table: TABLE, ttlDays: 30, snapshotTtlDays: 30 });

async function written(key: Key): Promise<Record<string, unknown> | undefined> {
  const found = await getAttributes(options(), key);
  return found && fromAttributes(found);
}

describe("each example is what the code writes, attribute by attribute", () => {
  test("rollouts, open and ended", async () => {
    const rollouts = examples("rollout");
    expect(rollouts.map(({ state }) => state)).toEqual(["reporting", "ended"]);
    for (const example of rollouts) {
      await createRolloutStore(options()).move(
        undefined,
        rolloutItemSchema.parse(withResultDecoded(example)),
      );
      expect(await written(example)).toEqual(example);
    }
  });

  test("an invocation", async () => {
    const [example] = examples("invocation");
    const { id, fleet, alive_at, silent_at, ends_at } = example as unknown as Invocation;
    await createInvocationStore(options()).alive({ id, fleet, alive_at, silent_at, ends_at });
    expect(await written({ pk: `INVOCATION#${id}`, sk: "INVOCATION" })).toEqual(example);
  });

  test("a fleet's totals", async () => {
    const [example] = examples("totals");
    await createLifecycleStore(options()).writeTotals("main", undefined, fleetTotalsSchema.parse(example));
    expect(await written({ pk: "FLEET#main", sk: "TOTALS" })).toEqual(example);
  });

  test("a gate that has tripped and is paused", async () => {
    const gates = createGateStore(options());
    const [example] = examples("gate");
    const { tripped_at, probe_at, paused } = example as unknown as GateState;
    await gates.fail("main", "agent-error");
    await gates.trip("main", tripped_at ?? 0, probe_at ?? 0);
    await gates.setPaused("main", paused);
    expect(await written({ pk: "FLEET#main", sk: "GATE" })).toEqual(example);
  });

  test("a snapshot, as the latest and by time", async () => {
    const [example] = examples("snapshot");
    const snapshot = snapshotSchema.parse(example);
    await createLifecycleStore(options()).writeSnapshot(snapshot);
    expect(await written({ pk: "ENGINE#main", sk: "LATEST" })).toEqual(example);
    expect(await written({ pk: "ENGINE#main", sk: `SNAPSHOT#${snapshot.at}` })).toEqual({
      ...example,
      sk: `SNAPSHOT#${snapshot.at}`,
      expires_ttl: Math.floor(Date.parse(snapshot.at) / 1000) + 30 * 86_400,
    });
  });
});

test("the example's mean and deviation are those of its totals", () => {
  const fleet = snapshotSchema.parse(examples("snapshot")[0]).fleets["main"];
  expect(fleet?.reward_mean).toBe(fleet && rewardMean(fleet.totals));
  expect(fleet?.reward_deviation).toBeCloseTo((fleet && rewardDeviation(fleet.totals)) ?? Number.NaN, 4);
});

test("the diagram knows each state of a rollout, and no other", () => {
  const diagram = /```mermaid\n(.*?)```/s.exec(page)?.[1] ?? "";
  const names = [...diagram.matchAll(/(\w+) --> (\w+|\[\*\])/g)].flatMap(([, from = "", to = ""]) => [
    from,
    to,
  ]);
  expect([...new Set(names)].filter((name) => name !== "[*]").toSorted()).toEqual(rolloutStates.toSorted());
});

test("every function and file that the page names is there", () => {
  const files = [...page.matchAll(/`(functions\/[\w/.-]+\.ts)`/g)].map(([, path = ""]) => path);
  const sources = files
    .map((path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"))
    .join("\n");
  const calls = [...page.matchAll(/`(?:\w+\(\))?\.?(\w+)`(?=[^\n]*\|$)/gm)].map(([, name = ""]) => name);
  const named = calls.filter((name) =>
    /^(create|read|write|open|changed|conditional|move)\w*[A-Z]\w*$|^move$/.test(name),
  );
  expect(named.length).toBeGreaterThan(8);
  for (const name of named) expect(sources).toMatch(new RegExp(`\\b${name}\\b`));
});
