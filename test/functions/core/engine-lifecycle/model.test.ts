import { describe, expect, test } from "vitest";
import { driveEngine } from "../../../../functions/core/engine-lifecycle/drive.ts";
import { lifecycleDefaults } from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import { withLease } from "../../../../functions/core/engine-lifecycle/lease.ts";
import { type Chaos, calm, rough, World } from "./model.ts";

const settings = { ...lifecycleDefaults, bootMinutes: 8, stalledMinutes: 8 };
const TICK_MS = 60_000;

interface Run {
  readonly world: World;
  ticks: number;
}

function tick(run: Run, restartWhenStalled: boolean): void {
  const { world } = run;
  run.ticks += 1;
  const process = world.process(`tick-${run.ticks}`);
  const log = () => undefined;
  const options = { settings: { ...settings, restartWhenStalled }, endsAt: process.endsAt };
  void withLease(
    { clock: process.clock, leases: process.leases, log },
    { name: "e", holder: process.id },
    async (lease) => driveEngine(process.ports(lease), "e", options),
  ).then((done) => {
    if (done.held && !/, as wanted|booting/.test(done.value.step.reason))
      world.tell(`${process.id} ${done.value.step.kind}: ${done.value.step.reason}`);
  });
}

/** A tick each minute, sometimes two at once, while the world is as it is. */
async function live(run: Run, minutes: number, chaos: Chaos, restartWhenStalled: boolean): Promise<void> {
  const { world } = run;
  world.chaos = chaos;
  for (let minute = 0; minute < minutes; minute += 1) {
    world.engine.reachable = !world.chance(chaos.outage);
    tick(run, restartWhenStalled);
    if (world.chance(chaos.freeze)) tick(run, restartWhenStalled);
    await world.clock.advance(TICK_MS);
    if (world.engine.mostTrainers > 1) return;
  }
}

const acts: readonly ((world: World) => void)[] = [
  (world) => world.want({ state: "running" }),
  (world) => world.want({ state: "running" }),
  (world) => world.want({ state: "running", restart: `restart-${world.clock.now()}` }),
  (world) => world.want({ state: "stopped" }),
  (world) => world.engine.killTrainer(),
  (world) => world.engine.crash(),
  (world) => world.engine.restartServer(),
];

async function roughHours(run: Run, restartWhenStalled: boolean): Promise<void> {
  for (let act = 0; act < 6 && run.world.engine.mostTrainers <= 1; act += 1) {
    acts[run.world.below(acts.length)]?.(run.world);
    await live(run, 3 + run.world.below(12), rough, restartWhenStalled);
  }
}

const RUNS = Number(process.env["LIFECYCLE_RUNS"] ?? 300);
/** How far apart two clocks may be that are both within a few seconds of the table's. */
const SKEW_MS = 5000;
const seeds = Array.from({ length: 8 }, (_, block) => block);

describe("whatever dies, sleeps, is lost or comes late", () => {
  test.for(seeds)(
    "there are never two trainers, and the desired state comes about (block %i)",
    { timeout: 60_000 },
    async (block) => {
      for (let seed = block; seed < RUNS; seed += seeds.length) {
        const run: Run = { world: new World(seed), ticks: 0 };
        const { world } = run;
        world.skewMs = SKEW_MS;
        const restartWhenStalled = world.chance(0.5);
        await roughHours(run, restartWhenStalled);
        const story = () => `seed ${seed}\n${world.story.join("\n")}`;
        expect(world.engine.mostTrainers, story()).toBeLessThanOrEqual(1);

        // What a person does in the end, and time enough for whatever is still on its way.
        world.want(world.chance(0.3) ? { state: "stopped" } : { state: "running", restart: "last" });
        await live(run, 90, calm, restartWhenStalled);
        expect(world.engine.mostTrainers, story()).toBeLessThanOrEqual(1);
        const running = world.desired?.state === "running";
        expect(world.engine.trainers, story()).toBe(running ? 1 : 0);
        expect(world.engine.status === "ENGINE.OFFLINE", story()).toBe(!running);
        expect(
          world.observed?.alarms.map(({ code }) => code),
          story(),
        ).toEqual([]);
        expect(world.observed?.failures, story()).toBe(0);
      }
    },
  );
});

/** A calm world with an engine that never boots. */
test("an engine that never boots is started three times in a row, and then left alone until asked again", async () => {
  const run: Run = { world: new World(1), ticks: 0 };
  const { world } = run;
  world.want({ state: "running" });
  await live(run, 120, { ...calm, badBoot: 1 }, false);
  expect(world.engine.starts).toBe(3);
  expect(world.observed).toMatchObject({ failures: 3, status: "ENGINE.OFFLINE" });
  expect(world.observed?.alarms.map(({ code }) => code)).toEqual(["gave-up"]);

  world.want({ state: "running" });
  await live(run, 20, calm, false);
  expect(world.engine).toMatchObject({ starts: 4, trainers: 1 });
  expect(world.observed?.alarms).toEqual([]);
});

test("a trainer that died is an alarm, and is started anew only where the settings say so", async () => {
  for (const restartWhenStalled of [false, true]) {
    const run: Run = { world: new World(3), ticks: 0 };
    const { world } = run;
    world.want({ state: "running" });
    await live(run, 20, calm, restartWhenStalled);
    expect(world.engine.trainers).toBe(1);
    world.engine.killTrainer();
    await live(run, 30, calm, restartWhenStalled);
    expect(world.engine.trainers).toBe(restartWhenStalled ? 1 : 0);
    expect(world.observed?.alarms.map(({ code }) => code)).toEqual(restartWhenStalled ? [] : ["stalled"]);
  }
});

test("a trainer that crashes after each policy update is started three times, and then left alone", async () => {
  const run: Run = { world: new World(5), ticks: 0 };
  const { world } = run;
  world.want({ state: "running" });
  for (let minute = 0; minute < 180; minute += 1) {
    await live(run, 1, calm, false);
    if (world.observed?.run?.updated === true) world.engine.crash();
  }
  expect(world.engine.starts).toBe(3);
  expect(world.observed?.alarms.map(({ code }) => code)).toEqual(["gave-up"]);
  expect(world.observed?.crashes).toHaveLength(3);
});

test("a training that runs its last step is finished, and not trained again", async () => {
  const run: Run = { world: new World(7), ticks: 0 };
  const { world } = run;
  world.engine.totalSteps = 5;
  world.want({ state: "running", total_steps: 5 });
  await live(run, 180, calm, true);
  expect(world.engine.starts).toBe(1);
  expect(world.observed).toMatchObject({ finished: true, conclusion: { what: "finished" }, alarms: [] });
});
