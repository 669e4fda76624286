/** Each example of `docs/state.md` is what the code writes, attribute by attribute. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAbortStore } from "../../functions/adapters/table/aborts.ts";
import { createAdmissionStore } from "../../functions/adapters/table/admission.ts";
import { createBatchStore } from "../../functions/adapters/table/batches.ts";
import { fromAttributes, type Key } from "../../functions/adapters/table/client.ts";
import { getAttributes } from "../../functions/adapters/table/conditional-put.ts";
import { writeCode } from "../../functions/adapters/table/engine-code.ts";
import { createEngineLinesStore } from "../../functions/adapters/table/engine-lines.ts";
import { createEngineNames } from "../../functions/adapters/table/engine-names.ts";
import { createEngineStateStore, setDesired } from "../../functions/adapters/table/engine-state.ts";
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import { createInvocationStore } from "../../functions/adapters/table/invocations.ts";
import { createLateResultStore } from "../../functions/adapters/table/late-results.ts";
import { createLeaseStore, tickLease } from "../../functions/adapters/table/lease.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { createUsageStore } from "../../functions/adapters/table/usage.ts";
import { createWatchStore } from "../../functions/adapters/table/watch.ts";
import { fleetAdmissionSchema } from "../../functions/core/admission/admission-item.ts";
import type { GateState } from "../../functions/core/circuit/gate.ts";
import { alarmsOf } from "../../functions/core/engine-lifecycle/engine-alarms.ts";
import { engineLinesSchema } from "../../functions/core/engine-lifecycle/engine-lines.ts";
import { lifecycleDefaults, observedSchema } from "../../functions/core/engine-lifecycle/engine-state.ts";
import { leaseSchema } from "../../functions/core/engine-lifecycle/lease.ts";
import { invocationWatchSchema } from "../../functions/core/housekeeping/invocations.ts";
import { snapshotSchema } from "../../functions/core/housekeeping/snapshot.ts";
import { SETTLED_MS } from "../../functions/core/housekeeping/take-snapshot.ts";
import { fleetTotalsSchema, rewardDeviation, rewardMean } from "../../functions/core/housekeeping/totals.ts";
import { batchSeenSchema } from "../../functions/core/rollout/batch-seen.ts";
import type { Invocation } from "../../functions/core/rollout/invocation.ts";
import { rolloutItemSchema } from "../../functions/core/rollout/item.ts";
import { lateResultSchema } from "../../functions/core/rollout/late-result.ts";
import { trainingSeenSchema } from "../../functions/core/rollout/training-seen.ts";
import { keepBudget } from "../../functions/core/spend/budget.ts";
import { ALL_TIME, estimateUsd, type Usage } from "../../functions/core/spend/spend.ts";
import { createTables, startTableServer, type TableServer } from "../../local/servers/table-server.ts";
import { stateTable } from "../functions/adapters/table/servers.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { type Example, example, examples } from "./state-page.ts";

let server: TableServer;
beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
});
afterAll(async () => await server.close());

const options = () => ({ client: server.client, table: stateTable.name, ttlDays: 30, snapshotTtlDays: 30 });

async function written({ pk, sk }: Key): Promise<Record<string, unknown> | undefined> {
  const found = await getAttributes(options(), { pk, sk });
  return found && fromAttributes(found);
}

/** The table holds the agent's result as text. */
function withResultDecoded(rollout: Example): object {
  const attempt = rollout["attempt"] as { result: string } | undefined;
  return attempt ? { ...rollout, attempt: { ...attempt, result: JSON.parse(attempt.result) } } : rollout;
}

describe("items of rollouts and fleets", () => {
  test("rollouts, open and ended", async () => {
    const rollouts = examples("rollout");
    expect(rollouts.map(({ state }) => state)).toEqual(["reporting", "ended"]);
    for (const rollout of rollouts) {
      const item = rolloutItemSchema.parse(withResultDecoded(rollout));
      await createRolloutStore(options()).move(undefined, item);
      expect(await written(rollout)).toEqual(rollout);
    }
  });

  test("an invocation", async () => {
    const shown = example("invocation");
    const { id, fleet, alive_at, silent_at, ends_at, waiting, used } = shown as unknown as Invocation;
    const invocation = { id, fleet, alive_at, silent_at, ends_at, waiting, used };
    await createInvocationStore(options()).alive(invocation);
    expect(await written({ pk: `INVOCATION#${id}`, sk: "INVOCATION" })).toEqual(shown);
  });

  test("a fleet's totals", async () => {
    const shown = example("totals");
    await createLifecycleStore(options()).writeTotals("main", undefined, fleetTotalsSchema.parse(shown));
    expect(await written({ pk: "FLEET#main", sk: "TOTALS" })).toEqual(shown);
  });

  test("a gate that has tripped and is paused by a person, and one that its budget paused", async () => {
    const gates = createGateStore(options());
    const [byPerson, byBudget] = examples("gate");
    const { tripped_at, probe_at, paused } = byPerson as unknown as GateState;
    await gates.fail("main", "agent-error");
    await gates.trip("main", tripped_at ?? 0, probe_at ?? 0);
    await gates.setPaused("main", paused);
    expect(await written({ pk: "FLEET#main", sk: "GATE" })).toEqual(byPerson);

    const clock = new FakeClock((byBudget as unknown as GateState).paused?.at);
    const ports = { clock, gates, usage: createUsageStore(options()), log: () => undefined };
    const spend = { usd_today: 20.04, usd_total: 90, budget_usd_per_day: 20, budget_exceeded: true };
    await keepBudget(ports, "code", spend, await gates.read("code"));
    expect(await written({ pk: "FLEET#code", sk: "GATE" })).toEqual(byBudget);
  });

  test("the engines that a fleet has had", async () => {
    const { names, ...shown } = example("engines");
    await createEngineNames(options()).note("main", "main");
    const { names: stored, ...rest } = (await written({ pk: "FLEET#main", sk: "ENGINES" })) ?? {};
    expect([rest, [...(stored as Set<string>)]]).toEqual([shown, names]);
  });

  test("a fleet's admissions", async () => {
    const shown = example("admission");
    await createAdmissionStore(options()).write("math", undefined, fleetAdmissionSchema.parse(shown));
    expect(await written({ pk: "FLEET#math", sk: "ADMISSION" })).toEqual(shown);
  });

  test("an abort", async () => {
    const shown = example("abort");
    const { sk, sent_at } = shown as unknown as { sk: string; sent_at: number };
    await createAbortStore(options()).take("main", sk.slice("ABORT#".length), sent_at, 0);
    expect(await written(shown)).toEqual(shown);
  });

  test("a result that came too late", async () => {
    const shown = example("late");
    await createLateResultStore(options()).note(
      "main",
      "run/first/train/1/gsm8k-17",
      lateResultSchema.parse(shown),
    );
    expect(await written(shown)).toEqual(shown);
  });

  test("what was seen of a batch", async () => {
    const shown = example("batch");
    await createBatchStore(options()).write("main", undefined, batchSeenSchema.parse(shown));
    expect(await written(shown)).toEqual(shown);
  });

  test("which trainings have ended", async () => {
    const shown = example("training");
    await createBatchStore(options()).trainings.write("main", undefined, trainingSeenSchema.parse(shown));
    expect(await written(shown)).toEqual(shown);
  });

  test("a fleet's usage of a day and in all", async () => {
    const [day, all] = examples("usage") as unknown as [Usage, Usage];
    const before: Usage = {
      gb_seconds: all.gb_seconds - day.gb_seconds,
      invocations: all.invocations - day.invocations,
      deliveries: all.deliveries - day.deliveries,
      attempts: (all.attempts ?? 0) - (day.attempts ?? 0),
    };
    const usage = createUsageStore(options());
    await usage.add("main", "2026-05-03", before);
    await usage.add("main", "2026-05-04", day);
    expect(await written({ pk: "FLEET#main", sk: "USAGE#2026-05-04" })).toEqual(day);
    expect(await written({ pk: "FLEET#main", sk: `USAGE#${ALL_TIME}` })).toEqual(all);
  });
});

describe("items of engines", () => {
  test("a watch", async () => {
    const shown = example("watch");
    await createWatchStore(options()).write("main", undefined, invocationWatchSchema.parse(shown));
    expect(await written({ pk: "ENGINE#main", sk: "WATCH" })).toEqual(shown);
  });

  test("a desired state, the second generation", async () => {
    const shown = example("desired");
    const { config, restart, set_at, set_by, total_steps } = shown as Record<string, unknown>;
    await setDesired(options(), "main", { state: "stopped" }, { now: 0 });
    const numbers = { total_steps: Number(total_steps) };
    const wish = { state: "running", config: String(config), restart: String(restart), ...numbers } as const;
    await setDesired(options(), "main", wish, { now: Number(set_at), name: String(set_by) });
    expect(await written({ pk: "ENGINE#main", sk: "DESIRED" })).toEqual(shown);
  });

  test("lines of an engine's terminal", async () => {
    const shown = example("lines");
    await createEngineLinesStore(options()).write("main", engineLinesSchema.parse(shown));
    expect(await written({ pk: "ENGINE#main", sk: "LOG" })).toEqual(shown);
  });

  test("a part of the trainer's code, named by what is in it", async () => {
    const shown = example("code");
    const zip = Buffer.from(String(shown["data"]), "base64");
    const { sha256 } = await writeCode(options(), "main", zip);
    expect(shown.sk).toBe(`CODE#${sha256}#0`);
    expect(await written({ pk: "ENGINE#main", sk: shown.sk })).toEqual(shown);
  });

  test("an observed state, whose alarm follows from it once another config is wanted", async () => {
    const shown = example("observed");
    const observed = observedSchema.parse(shown);
    await createEngineStateStore(options()).writeObserved("main", undefined, observed);
    expect(await written({ pk: "ENGINE#main", sk: "OBSERVED" })).toEqual(shown);

    const wanted = {
      v: 1,
      state: "running",
      config: "x: 1",
      hash: "other",
      generation: 3,
      set_at: 0,
    } as const;
    expect(alarmsOf(observed, wanted, lifecycleDefaults)).toEqual(shown["alarms"]);
    expect(observed.start?.hash).toBe(example("desired")["hash"]);
  });

  test("a lease", async () => {
    const shown = example("lease");
    await createLeaseStore(options()).write(tickLease("main"), undefined, leaseSchema.parse(shown));
    expect(await written({ pk: "ENGINE#main", sk: "LEASE" })).toEqual(shown);
  });

  test("a snapshot, as the latest and by time", async () => {
    const shown = example("snapshot");
    const snapshot = snapshotSchema.parse(shown);
    await createLifecycleStore(options()).writeSnapshot(snapshot);
    expect(await written({ pk: "ENGINE#main", sk: "LATEST" })).toEqual(shown);
    expect(await written({ pk: "ENGINE#main", sk: `SNAPSHOT#${snapshot.at}` })).toEqual({
      ...shown,
      sk: `SNAPSHOT#${snapshot.at}`,
      expires_ttl: Math.floor(Date.parse(snapshot.at) / 1000) + 30 * 86_400,
    });
  });
});

describe("the snapshot's figures follow from the other examples", () => {
  const snapshot = snapshotSchema.parse(example("snapshot"));
  const fleet = snapshot.fleets["main"];
  const totals = fleetTotalsSchema.parse(example("totals"));

  test("its totals, their mean and their deviation", () => {
    expect(fleet?.totals).toEqual(totals.totals);
    expect(fleet?.reward_mean).toBe(rewardMean(totals.totals));
    expect(fleet?.reward_deviation).toBeCloseTo(rewardDeviation(totals.totals) ?? Number.NaN, 4);
  });

  test("the time that the totals stay behind", () => {
    expect(Date.parse(snapshot.at) - totals.as_of).toBe(SETTLED_MS);
  });

  test("what the usage costs", () => {
    const [day, all] = examples("usage") as unknown as [Usage, Usage];
    expect(fleet?.spend?.usd_today).toBeCloseTo(estimateUsd(day), 4);
    expect(fleet?.spend?.usd_total).toBeCloseTo(estimateUsd(all), 4);
    const ended = totals.totals.ended + totals.totals.eval_ended;
    expect(fleet?.spend?.usd_per_ended).toBeCloseTo(estimateUsd(all) / ended, 6);
  });
});
