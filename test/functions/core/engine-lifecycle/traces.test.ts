/** The reference's 18 recorded situations about the lifecycle: its requests, and what it made of each status. */
import { expect, test } from "vitest";
import { createEngineStateStore, setDesired } from "../../../../functions/adapters/table/engine-state.ts";
import { driveEngine } from "../../../../functions/core/engine-lifecycle/drive.ts";
import {
  lifecycleDefaults,
  type Observed,
} from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import { type Replay, replay } from "../../../support/replay.ts";
import { requestsOf, type Trace, type TracedRequest, traces } from "../../../support/traces.ts";
import { useTable } from "../../adapters/table/engine-table.ts";

const options = useTable();
const CONFIG = "ajet:\n  backbone: verl\n  data:\n    train_batch_size: 4\n  rollout:\n    num_repeat: 2\n";
const recorded = traces.filter(({ name }) => /^(auto start|sync config|start|stop): /.test(name));

interface Expected {
  /** When the ticks come, virtual seconds. Default: one, at once. */
  readonly ticks?: readonly number[];
  /** The step of each tick. */
  readonly steps: readonly string[];
  readonly alarms?: readonly string[];
  /** Words that the record shows. */
  readonly shown?: string;
}
const ready = { steps: ["none"] };

const expectations: Record<string, Expected> = {
  "auto start: offline engine": { ticks: [0, 10, 40], steps: ["start", "wait", "none"] },
  "auto start: engine is ENGINE.ROLLING": ready,
  "auto start: engine is ENGINE.ROLLING_POST": ready,
  // Deviation lifecycle-waits: errors in the reference.
  "auto start: engine is ENGINE.WEIGHT_EXPORTING": { steps: ["wait"] },
  "auto start: engine is ENGINE.NEVER_HEARD_OF": { steps: ["wait"] },
  "auto start: unreachable engine": {
    ticks: [0, 60, 120],
    steps: ["wait", "wait", "wait"],
    alarms: ["unreachable"],
  },
  "auto start: engine is ENGINE.BOOTING, then rolling": { ticks: [0, 40], steps: ["wait", "none"] },
  "auto start: engine is ENGINE.WEIGHT_SYNCING, then rolling": { ticks: [0, 40], steps: ["wait", "none"] },
  "auto start: forced restart of a rolling engine": { ticks: [0, 9.2, 40], steps: ["stop", "start", "none"] },
  "sync config: engine not offline": ready,
  // Its engine stays OFFLINE, which the reference does not wait to see.
  "sync config: accepted": { steps: ["start"], alarms: ["start-failed"], shown: "fell back to OFFLINE" },
  "sync config: refused": {
    steps: ["start"],
    alarms: ["start-failed", "call-failed"],
    shown: "Engine is already started.",
  },
  "start: engine not offline": ready,
  "start: refused": {
    steps: ["start"],
    alarms: ["start-failed", "call-failed"],
    shown: "No training config found",
  },
  // Deviation failed-starts: an error in the reference.
  "start: engine falls back offline": {
    steps: ["start"],
    alarms: ["start-failed"],
    shown: "fell back to OFFLINE",
  },
  "stop: already offline": ready,
  "stop: rolling engine": { steps: ["stop"] },
  "stop: refused": { steps: ["stop"], alarms: ["call-failed"], shown: "success: false" },
};

test("every recorded situation has an expectation", () => {
  expect(recorded.map(({ name }) => name).toSorted()).toEqual(Object.keys(expectations).toSorted());
  expect(recorded).toHaveLength(18);
});

test.for(recorded)("$name", (trace) =>
  replay(trace, async (replayed) => {
    const expected: Expected = expectations[trace.name] ?? { steps: [] };
    const wish = wishOf(trace);
    await setDesired(options(), trace.name, wish, { now: 0 });
    const steps: string[] = [];
    let observed: Observed | undefined;
    for (const [at, second] of (expected.ticks ?? [0]).entries()) {
      await replayed.clock.advance(second * 1000 - replayed.clock.now());
      const driven = await driveEngine(ports(replayed, at), trace.name, {
        settings: lifecycleDefaults,
        endsAt: replayed.clock.now() + 900_000,
      });
      steps.push(driven.step.kind);
      observed = driven.observed;
    }
    expect(steps).toEqual(expected.steps);
    expect(observed?.alarms.map(({ code }) => code)).toEqual(expected.alarms ?? []);
    expect(JSON.stringify(observed?.alarms)).toContain(expected.shown ?? "");
    expect(actsOf(replayed.played.seen, trace)).toEqual(actsOf(requestsOf(trace), trace));
  }),
);

function wishOf({ name }: Trace): Parameters<typeof setDesired>[2] {
  if (name.startsWith("stop: ")) return { state: "stopped" };
  return { state: "running", config: CONFIG, ...(name.includes("forced restart") && { restart: "r-1" }) };
}

function ports({ engine, clock }: Replay, tick: number): Parameters<typeof driveEngine>[0] {
  return {
    clock,
    engine,
    states: createEngineStateStore(options()),
    lease: { token: tick + 1, isHeld: () => true },
    log: () => undefined,
    pool: async () => null,
    waiting: async () => 0,
    code: () => Promise.reject(new Error("expected no code to be asked for")),
  };
}

/**
 * What is sent, in order, with looks in a row as one and none at the end (deviation lifecycle-ticks), and without the
 * other half of a start where the reference was asked for one half alone (deviation config-with-start).
 */
function actsOf(requests: readonly TracedRequest[], { name }: Trace): object[] {
  const half = name.startsWith("start: ")
    ? "/sync_train_config"
    : name === "sync config: accepted"
      ? "/start_engine"
      : undefined;
  const acts = requests
    .filter(({ path }) => path !== half)
    .map(({ method, path, json }) => ({ method, path, ...(json && { json }) }));
  const isLook = (at: number) => acts[at]?.path === "/get_engine_status";
  const isLast = (at: number) => at === acts.length - 1;
  return acts.filter((_, at) => !isLook(at) || at === 0 || !(isLook(at + 1) || isLast(at)));
}
