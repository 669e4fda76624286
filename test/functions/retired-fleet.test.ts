/** A fleet that was given up, and the lifecycle function of a deployment that lacks it, as they are deployed. */
import { expect, test } from "vitest";
import { lifecycleVariables } from "../../functions/contract/environment-names.ts";
import { type FleetFixture, fleetFixtures } from "../support/fleet-fixture.ts";
import { functionProcesses, lifecycleProcesses } from "../support/function-process.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();
const start = functionProcesses();
const startLifecycle = lifecycleProcesses();
/** With real time; a process that is silent for 1.25 s counts as dead. */
const real = { speed: 1, limits: { settleMarginSeconds: 2, minEpisodeSeconds: 0, heartbeatSeconds: 1 } };

/** A rollout whose function has died while its agent worked; its episode stays open. */
async function leaveOneOpen(): Promise<FleetFixture> {
  const house = await open(real);
  await house.push(aRollout({ env_type: "hang" }));
  const lambda = start(house);
  const invoked = lambda.invoke(await house.receive());
  await house.until(() => house.engine.summary().modelCalls === 1);
  lambda.kill();
  await invoked;
  expect(house.engine.summary()).toMatchObject({ open: 1 });
  return house;
}

/** Ticks until the lifecycle function has seen the silence for long enough, and one more. */
async function tickOn(house: FleetFixture, environment: Record<string, string>): Promise<void> {
  const { tick } = startLifecycle(house, environment);
  for (let ticks = 0; ticks < 4; ticks += 1) {
    expect(await tick()).toMatchObject({ status: "success" });
    await house.clock.sleep(1300);
  }
}

test("what it left open is settled: the episode given back, its message where it was", async () => {
  const house = await leaveOneOpen();
  await tickOn(house, { [lifecycleVariables.retiredFleets]: JSON.stringify([house.fleet]) });
  expect(house.engine.summary()).toMatchObject({ open: 0, aborts: 1, counted: 0 });
  expect(await house.item(keyOf())).toMatchObject({ state: "waiting", history: [{ reason: "suspected" }] });
  expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
  expect(await house.letters()).toEqual([]);
});

test("one that nobody names is not this deployment's to settle", async () => {
  const house = await leaveOneOpen();
  await tickOn(house, {});
  expect(house.engine.summary()).toMatchObject({ open: 1, aborts: 0 });
});
