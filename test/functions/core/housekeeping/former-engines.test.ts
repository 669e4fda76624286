import { expect, test } from "vitest";
import { createEngineNames } from "../../../../functions/adapters/table/engine-names.ts";
import { withFormerEngines } from "../../../../functions/core/housekeeping/former-engines.ts";
import { sweep } from "../../../../functions/core/housekeeping/sweep.ts";
import { anAttempt, aPool, NOW } from "../items.ts";
import { type World, worlds } from "./engine-and-table.ts";

const open = worlds();
const until = NOW + 25_000;
const result = { reward: 1, is_success: true, metadata: {}, log_metrics: {} };

/** The lifecycle function of an engine of this name, for these fleets. */
function lifecycle(world: World, fleets = [world.name]) {
  const names = createEngineNames(world.table);
  const index = withFormerEngines({ names, store: world.store, log: world.log }, fleets);
  return { sweep: (engine: string) => sweep({ ...world.ports, index }, engine, until), index };
}

test("what was open when an engine got another name is swept under the new one, with its stored result", async () => {
  const world = await open();
  await lifecycle(world).sweep("before");
  const attempt = anAttempt({ result, result_at: NOW });
  await world.put({ key: "stored", engine: "before", state: "reporting", tries: 1, attempt });
  world.show(aPool({ completed_tasks_client_uuids: { "task-1": [`${world.name}/${attempt.id}`] } }));
  expect(await lifecycle(world).sweep("after")).toMatchObject({ settled: 1, unsettled: 0 });
  expect(await world.stands("stored")).toMatchObject({
    state: "ended",
    history: [{ reason: "ended", reward: 1 }],
  });
});

test("another fleet that is still under the old name is left alone", async () => {
  const world = await open();
  await lifecycle(world).sweep("before");
  await world.put({
    key: "theirs",
    fleet: "theirs",
    engine: "before",
    state: "running",
    attempt: anAttempt(),
  });
  const { index } = lifecycle(world);
  expect(await index.openRollouts("after")).toEqual([]);
  expect(await index.openRollouts("before")).toMatchObject([{ fleet: "theirs" }]);
});

test("names that cannot be read leave the sweep with its own, until they can", async () => {
  const world = await open();
  await world.put({ key: "open", engine: "before", state: "running", attempt: anAttempt() });
  const answers = [new Error("throttled"), ["before", "after"]];
  const note = async () => {
    const answer = answers.shift();
    if (answer instanceof Error || answer === undefined) throw answer;
    return answer;
  };
  const index = withFormerEngines({ names: { note }, store: world.store, log: world.log }, [world.name]);
  expect(await index.openRollouts("after")).toEqual([]);
  expect(await index.openRollouts("after")).toMatchObject([{ key: "open" }]);
  // Read once.
  expect(await index.openRollouts("after")).toHaveLength(1);
});
