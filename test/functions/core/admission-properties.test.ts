import { describe, expect, test } from "vitest";
import { decide } from "../../../functions/core/admission/admission.ts";
import { thresholdOf } from "../../../functions/core/admission/throttle.ts";
import { createRandom } from "../../../local/random.ts";
import { AdmissionModel, type Chances, type ModelFleet, type Rollout } from "./admission-model.ts";

const fleets: ModelFleet[] = [
  { name: "math", setting: { ratio: 0.4, batchSize: 6, repeats: 2 } },
  { name: "code", setting: { ratio: 0.6, batchSize: 6, repeats: 2 } },
];
const SEEDS = 1500;

function queue(): Rollout[] {
  return fleets.flatMap(({ name }) =>
    Array.from({ length: 40 }, (_, index): Rollout => {
      const task = `${name}-${Math.floor(index / 2)}`;
      return {
        fleet: name,
        task,
        client: `${name}/i${index}.1`,
        state: "waiting",
        countedIn: undefined,
        admittedAt: 0,
        notBefore: 0,
      };
    }),
  );
}

/** Plays on, and looks at every moment how many tasks are in the batch that nothing excuses. */
function play(seed: number, chances: Chances) {
  const random = createRandom(seed);
  const slots = 4 + Math.floor(random() * 12);
  const model = new AdmissionModel(random, fleets, queue(), slots, chances.idleMs);
  const most = new Map<string, number>();
  for (let step = 0; step < 400; step += 1) {
    model.act(chances);
    for (const { name } of fleets) {
      const unexcused = [...model.tasksInBatch(name)].filter((task) => !model.excused.has(task)).length;
      most.set(name, Math.max(most.get(name) ?? 0, unexcused));
    }
  }
  return { model, most };
}

const bound = ({ setting }: ModelFleet) => Math.ceil(thresholdOf(setting));
const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);

describe(`in ${SEEDS} interleavings of functions, claims, ends, failures and crashes`, () => {
  const chances: Chances = { sync: false, idleMs: Number.POSITIVE_INFINITY, crashes: true };
  const plays = seeds.map((seed) => play(seed, chances));

  test("no fleet ever has more tasks in a batch than its bound, without exception", () => {
    for (const { model, most } of plays) {
      expect([...model.excused]).toEqual([]);
      for (const fleet of fleets) expect(most.get(fleet.name)).toBeLessThanOrEqual(bound(fleet));
    }
  });

  test("and the bound is reached, functions do get in each other's way, and work gets done", () => {
    const reached = plays.filter(({ most }) =>
      fleets.every((fleet) => most.get(fleet.name) === bound(fleet)),
    );
    expect(reached.length).toBeGreaterThan(SEEDS / 2);
    expect(plays.reduce((sum, { model }) => sum + model.conflicts, 0)).toBeGreaterThan(SEEDS);
  });
});

describe(`in ${SEEDS} interleavings with weight syncs and idle engines as well`, () => {
  const chances: Chances = { sync: true, idleMs: 10_000, crashes: true };
  const plays = seeds.map((seed) => play(seed + 100_000, chances));

  test("only tasks of an earlier batch, and an idle engine's, come on top of the bound", () => {
    for (const { most } of plays)
      for (const fleet of fleets) expect(most.get(fleet.name)).toBeLessThanOrEqual(bound(fleet));
  });

  test("reservations drain once nothing moves any more", () => {
    for (const { model } of plays) {
      drain(model);
      for (const { name } of fleets) {
        const item = model.items.get(name);
        const places = item?.global_step === model.step ? Object.values(item.places) : [];
        expect(places.filter(({ since }) => since !== undefined)).toEqual([]);
      }
    }
  });

  test("a fleet under its bound gets its next task in, and one at its bound does not", () => {
    for (const { model } of plays) {
      drain(model);
      for (const fleet of fleets) {
        // Somebody else's work: the engine is not idle.
        const other: Rollout = { ...queueItem("other"), state: "running" };
        model.rollouts.push(other);
        const room = model.tasksInBatch(fleet.name).size < bound(fleet);
        expect(model.ask(fleet.name, "new")).toBe(room);
        other.state = "done";
      }
    }
  });

  test("a new batch has room at once", () => {
    for (const { model } of plays.slice(0, 200)) {
      model.settle();
      model.sync();
      for (const fleet of fleets)
        expect(Array.from({ length: 5 }, (_, index) => model.ask(fleet.name, `next-${index}`))).toEqual(
          Array.from({ length: 5 }, (_, index) => index < bound(fleet)),
        );
    }
  });
});

/** Looks, further apart than a reservation lasts: the first misses a task, the next doubts, the last drops. */
function drain(model: AdmissionModel): void {
  model.settle();
  for (let look = 0; look < 3; look += 1) {
    for (const { name } of fleets) model.look(name);
    model.now += 61_000;
  }
  for (const { name } of fleets) model.look(name);
}

function queueItem(fleet: string): Rollout {
  return {
    fleet,
    task: "theirs",
    client: `${fleet}/i.1`,
    state: "waiting",
    countedIn: undefined,
    admittedAt: 0,
    notBefore: 0,
  };
}

test("the verdicts do not depend on the order of a batch's records", () => {
  for (const seed of seeds.slice(0, 300)) {
    const random = createRandom(seed);
    const { model } = play(seed, { sync: true, idleMs: 10_000, crashes: true });
    const item = model.items.get("math");
    const rules = model.rules.get("math");
    if (!rules) throw new Error("no rules");
    const askers = Array.from({ length: 12 }, () => ({
      taskId: `math-${Math.floor(random() * 30)}`,
      counted: false,
    }));
    const shuffled = askers.toSorted(() => random() - 0.5);
    const asked = (order: typeof askers) => {
      const { verdicts, next } = decide(item, model.pool(), order, rules, model.now);
      const admitted = order.flatMap(({ taskId }, index) => (verdicts[index]?.admitted ? [taskId] : []));
      return { admitted: admitted.toSorted(), next };
    };
    expect(asked(shuffled)).toEqual(asked(askers));
  }
});
