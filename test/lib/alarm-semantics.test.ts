/**
 * Each alarm of the template, by the datapoints that the real emitters publish: which make it go off, which do not. What
 * AWS publishes itself is written here as AWS documents it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Snapshot } from "../../functions/core/housekeeping/snapshot.ts";
import { createMeter, publishSnapshot, publishWaited } from "../../functions/meter.ts";
import { fleetOf, snapshotOf } from "../cli/samples.ts";
import { type AlarmDefinition, type Datapoint, isOn, minutesOn } from "../support/cloudwatch-alarm.ts";
import { engineUrl, plain, synthesise } from "./synthesise.ts";

interface Alarm extends AlarmDefinition {
  readonly AlarmName: string;
}
function alarmsOf(settings: Record<string, unknown> = {}): ReadonlyMap<string, Alarm> {
  const found = Object.values(synthesise({ engineUrl, ...settings }).findResources("AWS::CloudWatch::Alarm"));
  const all = found.map(({ Properties }) => plain(Properties) as Alarm);
  return new Map(all.map((alarm) => [alarm.AlarmName.replace("Sortie: ", ""), alarm]));
}
const everyMinute = alarmsOf();
const slow = alarmsOf({ scheduleMinutes: 5 });

function named(alarms: ReadonlyMap<string, Alarm>, name: string): Alarm {
  const alarm = alarms.get(name);
  if (!alarm) throw new Error(`expected an alarm ${name}, found ${[...alarms.keys()].join("; ")}`);
  return alarm;
}

/** What the emitters print in CloudWatch's embedded format. */
let printed: string[] = [];
beforeEach(() => {
  // To the console that is watched here, where it would publish nothing otherwise.
  vi.stubEnv("POWERTOOLS_DEV", "true");
  vi.stubEnv("POWERTOOLS_METRICS_DISABLED", "false");
  vi.stubEnv("POWERTOOLS_SERVICE_NAME", "Sortie");
  vi.spyOn(console, "log").mockImplementation((line) => void printed.push(String(line)));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

interface Embedded {
  readonly _aws: {
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string }[];
    }[];
  };
  readonly [field: string]: unknown;
}

/** The datapoints that CloudWatch makes of what `emit` publishes in that minute. */
function published(at: number, emit: () => void): Datapoint[] {
  printed = [];
  emit();
  return printed.flatMap((line) => {
    const entry = JSON.parse(line) as Embedded;
    return entry._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
      Dimensions.flatMap((names) => {
        const dimensions = Object.fromEntries(names.map((name) => [name, String(entry[name])]));
        const point = { at, namespace: Namespace, dimensions };
        return Metrics.flatMap(({ Name }) =>
          [entry[Name]].flat().map((value) => ({ ...point, name: Name, value: Number(value) })),
        );
      }),
    );
  });
}

type Written = NonNullable<Parameters<typeof snapshotOf>[0]>;
type Facts = Omit<Written, "fleets"> & {
  readonly fleet?: Parameters<typeof fleetOf>[1];
};

/** The ticks of a span of minutes, each a snapshot of these facts. */
function ticks(from: number, to: number, facts: Facts = {}, every = 1): Datapoint[] {
  const { fleet, ...engine } = facts;
  const snapshot: Snapshot = snapshotOf({ ...engine, fleets: { main: fleetOf({}, fleet) } });
  const minutes = Array.from({ length: Math.ceil((to - from) / every) }, (_, index) => from + index * every);
  return minutes.flatMap((at) => published(at, () => publishSnapshot(snapshot)));
}

/** One value a minute, as AWS's own metrics have it. */
function aws(
  namespace: "AWS/SQS" | "AWS/Lambda",
  name: string,
  of: string,
  value: number,
  [from, to]: [number, number] = [0, 120],
): Datapoint[] {
  const dimensions = { [namespace === "AWS/SQS" ? "QueueName" : "FunctionName"]: of };
  return Array.from({ length: to - from }, (_, index) => ({
    at: from + index,
    namespace,
    name,
    dimensions,
    value,
  }));
}
const queue = "<FleetmainQueue.QueueName>";
const rolloutFunction = "<FleetmainRolloutFunction>";
const lifecycleFunction = "<EnginemainLifecycleFunction>";

const rolling: Facts = {};
const offline: Facts = { status: { engine_status: "ENGINE.OFFLINE" } };
const paused: Facts = { fleet: { paused: "the judge is being replaced" } };
const stalled: Facts = { alarms: [{ code: "stalled", since: 1, text: "nothing moves" }] };
const bootStalled: Facts = { ...offline, alarms: [{ code: "boot-stalled", since: 1, text: "it boots" }] };
const startFailed: Facts = { alarms: [{ code: "start-failed", since: 1, text: "no" }] };
const crashed: Facts = { alarms: [{ code: "crashed", since: 1, text: "gone" }] };
const unreachable: Facts = { status: { engine_status: "ENGINE.CANNOT_CONNECT" } };
const circuit: Facts = { fleet: { circuit: { since: 1, failures: 12, reason: "agent-error" } } };
const overspent: Facts = {
  fleet: {
    paused: "spent",
    spend: {
      usd_today: 9,
      usd_total: 9,
      usd_per_ended: null,
      budget_usd_per_day: 5,
      budget_exceeded: true,
    },
  },
};
const overdue: Facts = { fleet: { overdue: 2 } };

const old = aws("AWS/SQS", "ApproximateAgeOfOldestMessage", queue, 7200);
const work = [
  ...aws("AWS/SQS", "ApproximateNumberOfMessagesVisible", queue, 0),
  ...aws("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", queue, 5),
];
const nothingLeft = aws("AWS/SQS", "NumberOfMessagesDeleted", queue, 0);
/** A message that comes back each half hour, and is given back again. */
const deferred = (seconds: number) =>
  [10, 40, 70, 100].flatMap((at) => published(at, () => publishWaited("main", seconds)));
const attempt = (reason: "unknown" | "ended") =>
  published(30, () =>
    createMeter("main").attempt({ reason, episodeType: "train", reward: 1, milliseconds: 1000 }),
  );
const letters = (count: number) =>
  aws("AWS/SQS", "ApproximateNumberOfMessagesVisible", "<FleetmainDeadLetterQueue.QueueName>", count);

type Case = readonly [alarm: string, when: string, data: () => Datapoint[]];

const goesOff: readonly Case[] = [
  ["dead-letters, fleet main", "there is one", () => letters(1)],
  [
    "oldest-message, fleet main",
    "it is two hours old and the engine rolls",
    () => [...ticks(0, 120), ...old],
  ],
  [
    "deferred-message, fleet main",
    "a message that SQS leaves out is given back after two hours",
    () => [...ticks(0, 120), ...deferred(7200)],
  ],
  [
    "no-ended-episode, fleet main",
    "all messages are deferred or run, and nothing has left the queue",
    () => [...ticks(0, 120), ...work, ...nothingLeft],
  ],
  ["unknown-outcomes, fleet main", "there was one", () => attempt("unknown")],
  ["overdue-episodes, fleet main", "they stay", () => ticks(0, 120, overdue)],
  ["budget-exceeded, fleet main", "it is", () => ticks(0, 120, overspent)],
  ["circuit-open, fleet main", "it stays open", () => ticks(0, 120, circuit)],
  [
    "function-errors, fleet main",
    "each invocation fails at its start",
    () => aws("AWS/Lambda", "Errors", rolloutFunction, 1),
  ],
  [
    "function-timeout, fleet main",
    "one invocation is cut off",
    () => aws("AWS/Lambda", "Duration", rolloutFunction, 900_000, [31, 32]),
  ],
  ["function-throttled, fleet main", "it goes on", () => aws("AWS/Lambda", "Throttles", rolloutFunction, 3)],
  ["engine-unreachable, engine main", "it stays so", () => ticks(0, 120, unreachable)],
  ["engine-start-failed, engine main", "it did", () => ticks(30, 31, startFailed)],
  ["engine-crashed, engine main", "it did", () => ticks(30, 31, crashed)],
  ["engine-stalled, engine main", "nothing moves", () => ticks(0, 120, stalled)],
  ["engine-stalled, engine main", "it boots for ever", () => ticks(0, 120, bootStalled)],
  ["lifecycle-silent, engine main", "no tick comes any more", () => ticks(0, 60)],
  [
    "function-errors, engine main",
    "each tick fails",
    () => aws("AWS/Lambda", "Errors", lifecycleFunction, 1),
  ],
  [
    "function-timeout, engine main",
    "a tick is cut off",
    () => aws("AWS/Lambda", "Duration", lifecycleFunction, 900_000, [31, 32]),
  ],
];

const staysOff: readonly Case[] = [
  ["dead-letters, fleet main", "there is none", () => letters(0)],
  ["oldest-message, fleet main", "the engine is offline", () => [...ticks(0, 120, offline), ...old]],
  ["oldest-message, fleet main", "the fleet is paused on purpose", () => [...ticks(0, 120, paused), ...old]],
  [
    "oldest-message, fleet main",
    "it is young",
    () => [...ticks(0, 120), ...aws("AWS/SQS", "ApproximateAgeOfOldestMessage", queue, 60)],
  ],
  ["oldest-message, fleet main", "the queue says nothing", () => ticks(0, 120)],
  ["deferred-message, fleet main", "it is young", () => [...ticks(0, 120), ...deferred(600)]],
  [
    "deferred-message, fleet main",
    "the engine is offline",
    () => [...ticks(0, 120, offline), ...deferred(7200)],
  ],
  [
    "deferred-message, fleet main",
    "the fleet is paused",
    () => [...ticks(0, 120, paused), ...deferred(7200)],
  ],
  ["deferred-message, fleet main", "nothing is given back", () => ticks(0, 120)],
  [
    "no-ended-episode, fleet main",
    "the fleet is paused",
    () => [...ticks(0, 120, paused), ...work, ...nothingLeft],
  ],
  [
    "no-ended-episode, fleet main",
    "the engine is offline",
    () => [...ticks(0, 120, offline), ...work, ...nothingLeft],
  ],
  [
    "no-ended-episode, fleet main",
    "one leaves each half hour",
    () => [
      ...ticks(0, 120),
      ...work,
      ...nothingLeft,
      ...[20, 45, 70, 95].flatMap((at) => aws("AWS/SQS", "NumberOfMessagesDeleted", queue, 1, [at, at + 1])),
    ],
  ],
  [
    "no-ended-episode, fleet main",
    "nothing is there to do",
    () => [
      ...ticks(0, 120),
      ...nothingLeft,
      ...aws("AWS/SQS", "ApproximateNumberOfMessagesVisible", queue, 0),
      ...aws("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", queue, 0),
    ],
  ],
  ["unknown-outcomes, fleet main", "all ended", () => attempt("ended")],
  [
    "overdue-episodes, fleet main",
    "the next tick settles them",
    () => [...ticks(0, 2, overdue), ...ticks(2, 120)],
  ],
  ["budget-exceeded, fleet main", "a person has paused the fleet", () => ticks(0, 120, paused)],
  [
    "circuit-open, fleet main",
    "somebody paused the fleet because of it",
    () => ticks(0, 120, { fleet: { ...circuit.fleet, ...paused.fleet } }),
  ],
  [
    "circuit-open, fleet main",
    "the first probes close it",
    () => [...ticks(0, 3, circuit), ...ticks(3, 120)],
  ],
  [
    "function-errors, fleet main",
    "one invocation fails now and then",
    () => [10, 40, 70].flatMap((at) => aws("AWS/Lambda", "Errors", rolloutFunction, 1, [at, at + 1])),
  ],
  [
    "function-timeout, fleet main",
    "agents use all of the time that they are given",
    () => aws("AWS/Lambda", "Duration", rolloutFunction, 897_000),
  ],
  [
    "function-throttled, fleet main",
    "it is over after some minutes",
    () => aws("AWS/Lambda", "Throttles", rolloutFunction, 3, [30, 37]),
  ],
  [
    "engine-unreachable, engine main",
    "it answers again",
    () => [...ticks(0, 3, unreachable), ...ticks(3, 120)],
  ],
  ["engine-start-failed, engine main", "it rolls", () => ticks(0, 120, rolling)],
  ["engine-crashed, engine main", "it rolls", () => ticks(0, 120, rolling)],
  ["engine-stalled, engine main", "it is offline, as wanted", () => ticks(0, 120, offline)],
  ["lifecycle-silent, engine main", "ticks come", () => ticks(0, 120, offline)],
  [
    "lifecycle-silent, engine main",
    "an engine is started for ten minutes, and the tick publishes once a minute meanwhile",
    () => [...ticks(0, 40), ...ticks(40, 50, bootStalled), ...ticks(50, 120)],
  ],
  ["lifecycle-silent, engine main", "one tick is missing", () => [...ticks(0, 40), ...ticks(46, 120)]],
  [
    "function-errors, engine main",
    "one tick fails",
    () => aws("AWS/Lambda", "Errors", lifecycleFunction, 1, [5, 6]),
  ],
  [
    "function-timeout, engine main",
    "a start takes its ten minutes",
    () => aws("AWS/Lambda", "Duration", lifecycleFunction, 610_000),
  ],
];

test.each(goesOff)("%s goes off when %s", (name, _, data) => {
  expect(minutesOn(named(everyMinute, name), data(), 120)).not.toEqual([]);
});

test.each(staysOff)("%s stays off when %s", (name, _, data) => {
  expect(minutesOn(named(everyMinute, name), data(), 120)).toEqual([]);
});

test("each alarm has both, and a paragraph of the runbook", () => {
  const all = [...everyMinute.keys()].toSorted();
  for (const cases of [goesOff, staysOff])
    expect([...new Set(cases.map(([name]) => name))].toSorted().filter((name) => all.includes(name))).toEqual(
      all.filter((name) => cases.some(([one]) => one === name)),
    );
  expect(all.filter((name) => !goesOff.some(([one]) => one === name))).toEqual([]);
  expect(all.filter((name) => !staysOff.some(([one]) => one === name))).toEqual([]);
});

test("each metric that says that something is wrong has an alarm that listens", () => {
  const meter = readFileSync(join(import.meta.dirname, "../../functions/meter.ts"), "utf8");
  const emitted = [...meter.matchAll(/\["([A-Z]\w+)", MetricUnit/g)].map(([, name]) => name ?? "");
  const listened = JSON.stringify([...everyMinute.values()]);
  // These are figures for the dashboard and the table, not signs of trouble by themselves.
  const figures = [
    "Attempts",
    "Ended",
    "EpisodeDuration",
    "EstimatedUsd",
    "GlobalStep",
    "OpenEpisodes",
    "Reward",
  ];
  // SQS's own are what alarms look at; and never-confirmed ends stand on the dashboard and in `sortie doctor`.
  const elsewhere = ["DeadLetters", "NeverConfirmed", "WaitingMessages"];
  const deaf = emitted.filter((name) => !listened.includes(`"${name}"`));
  expect(deaf.toSorted()).toEqual([...figures, ...elsewhere].toSorted());
});

describe("with ticks five minutes apart", () => {
  const facts: readonly [string, Facts][] = [
    ["overdue-episodes, fleet main", overdue],
    ["budget-exceeded, fleet main", overspent],
    ["circuit-open, fleet main", circuit],
    ["engine-unreachable, engine main", unreachable],
    ["engine-start-failed, engine main", startFailed],
    ["engine-crashed, engine main", crashed],
    ["engine-stalled, engine main", stalled],
  ];
  test.each(facts)("%s goes off all the same", (name, wrong) => {
    // A schedule is not punctual: some of its ticks fall into the period of the one before.
    const data = ticks(0, 120, wrong, 5).map((point) => ({
      ...point,
      at: point.at - (point.at % 15 === 10 ? 1 : 0),
    }));
    expect(minutesOn(named(slow, name), data, 120)).not.toEqual([]);
    expect(minutesOn(named(slow, name), ticks(0, 120, rolling, 5), 120)).toEqual([]);
  });

  test("messages that wait are seen, and ticks are not missed", () => {
    const data = [...ticks(0, 120, rolling, 5), ...old, ...work, ...nothingLeft, ...deferred(7200)];
    for (const topic of ["oldest-message", "no-ended-episode", "deferred-message"])
      expect(minutesOn(named(slow, `${topic}, fleet main`), data, 120)).not.toEqual([]);
    expect(minutesOn(named(slow, "lifecycle-silent, engine main"), data, 120)).toEqual([]);
    expect(isOn(named(slow, "lifecycle-silent, engine main"), data, 240)).toBe(true);
  });
});
