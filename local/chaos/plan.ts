/**
 * What shall go wrong in a run, drawn from its seed alone: the same seed plans the same faults. When exactly a planned
 * fault meets a request still varies from run to run, since real processes do.
 */
import { createRandom, integer, pick } from "../random.ts";
import { type FaultKind, type KillPoint, killPoints } from "./kinds.ts";
import { proxyAnswers } from "./proxy-answers.ts";

export interface PlanOptions {
  readonly seed: number;
  readonly rollouts: number;
  /** Faults are injected for at most so long. */
  readonly minutes: number;
  readonly kinds: readonly FaultKind[];
  /** How long an agent takes at least. */
  readonly agentSeconds?: number | undefined;
  /** Whether a minute is one, or some seconds. */
  readonly realTime?: boolean | undefined;
}

/** Strikes when something has happened so often. */
export interface Nth<T> {
  readonly what: T;
  readonly nth: number;
}
export interface RequestFault {
  readonly kind: FaultKind;
  /** The engine's path or the operation of an AWS service. */
  readonly call: string;
}
/** Strikes at a time, in ms from the beginning; `seconds` is what its kind makes of it. */
export interface TimedFault {
  readonly kind: FaultKind;
  readonly at: number;
  readonly seconds: number;
}
export interface Plan {
  readonly kills: readonly Nth<KillPoint>[];
  readonly sweepKills: readonly Nth<"before" | "after">[];
  readonly engine: readonly Nth<RequestFault>[];
  readonly table: readonly Nth<RequestFault>[];
  readonly queue: readonly Nth<RequestFault>[];
  /** Counted in stored episodes. */
  readonly redeliveries: readonly number[];
  readonly timed: readonly TimedFault[];
  /** Refuses the first heartbeat of every invocation. */
  readonly firstHeartbeats: boolean;
}

const engineCalls = [
  "/claim_episode",
  "/claim_episode",
  "/end_episode",
  "/end_episode",
  "/end_episode",
  "/abort_episode",
  "/v1/chat/completions",
  "/get_engine_status",
  "/get_current_batch_rollout_pool_information",
  "/get_episode_buffer",
] as const;
const tableCalls = ["PutItem", "PutItem", "PutItem", "GetItem", "UpdateItem", "Query", "DeleteItem"] as const;
const queueCalls = ["DeleteMessage", "ChangeMessageVisibility", "SendMessage"] as const;
/** What a server that cannot build its pool answers otherwise. */
const poolCalls = {
  "engine-default-pool": "/get_current_batch_rollout_pool_information",
  "engine-buffer-500": "/get_episode_buffer",
} as const;
/** These happen less than once a rollout. */
const rareCalls: ReadonlySet<string> = new Set([
  "/abort_episode",
  "/get_episode_buffer",
  "UpdateItem",
  "SendMessage",
  "ChangeMessageVisibility",
]);

/** Seconds that a timed fault lasts, from and to. */
const lasts: Partial<Record<FaultKind, readonly [number, number]>> = {
  "kill-random": [0, 0],
  "kill-waiting": [0.5, 1.5],
  "kill-lifecycle": [0, 1],
  "engine-refusing": [0.5, 4],
  "engine-restart-kept": [0.2, 2],
  "engine-restart-lost": [0.2, 2],
  "engine-sync": [0, 0],
  "engine-slow-end": [20, 32],
  "engine-slow-abort": [12, 25],
  "engine-cut-ends": [20, 32],
  "engine-crash": [0.5, 3],
  "engine-stopped": [0.5, 3],
  "table-throttle": [0.5, 2.5],
  "agent-service-killed": [0, 0],
  "agent-service-hang": [2, 6],
  "agent-function-killed": [0, 0],
  // Three heartbeats: more silence than a living invocation has otherwise.
  "table-away": [10, 13],
};
const lastsInRealTime: typeof lasts = { "table-away": [60, 120] };
/** All needs time to recover after these. */
const heavy: ReadonlySet<FaultKind> = new Set([
  "engine-refusing",
  "engine-restart-kept",
  "engine-restart-lost",
  "engine-sync",
  "engine-slow-end",
  "engine-slow-abort",
  "engine-cut-ends",
  "engine-crash",
  "engine-stopped",
  "kill-waiting",
  "table-away",
]);

export function makePlan({
  seed,
  rollouts,
  minutes,
  kinds,
  agentSeconds,
  realTime = false,
}: PlanOptions): Plan {
  const random = createRandom("chaos", seed);
  const wanted = new Set(kinds);
  const share = (per: number, least: number) => Math.max(least, Math.round(rollouts / per));
  const requests = (prefix: string, calls: readonly string[], count: number): Nth<RequestFault>[] =>
    kinds
      .filter((kind) => kind.startsWith(prefix) && requestKinds.has(kind))
      .flatMap((kind) => Array.from({ length: count }, () => kind))
      .map((kind) => {
        const call = pick(random, calls);
        const most = rareCalls.has(call) ? Math.max(3, rollouts / 10) : rollouts;
        return { what: { kind, call }, nth: integer(random, 1, Math.ceil(most)) };
      });
  // Each kind has its own draw even where it is left out, so that a run with fewer kinds keeps the others' places.
  const kills = killPoints
    .flatMap((point) => Array.from({ length: share(250, 1) }, () => point))
    .map((what) => ({ what, nth: integer(random, 1, Math.ceil(rollouts * 0.8)) }))
    .filter(({ what }) => wanted.has(`kill-${what}`));
  const sweepKills = Array.from({ length: share(100, 1) }, () => ({
    what: pick(random, ["before", "after"] as const),
    nth: integer(random, 1, 4),
  }));
  return {
    kills,
    sweepKills: wanted.has("kill-sweep") ? sweepKills : [],
    engine: [
      ...requests("engine-", engineCalls, share(60, 2)),
      ...poolFaults({ seed, rollouts, kinds }),
      ...proxyFaults({ seed, rollouts, kinds }),
    ],
    table: requests("table-", tableCalls, share(40, 3)),
    queue: requests("queue-", queueCalls, share(60, 2)),
    redeliveries: wanted.has("queue-delivered-twice")
      ? Array.from({ length: share(25, 2) }, () => integer(random, 1, rollouts))
      : [],
    timed: timedFaults({ seed, rollouts, minutes, agentSeconds, realTime }).filter(({ kind }) =>
      wanted.has(kind),
    ),
    firstHeartbeats: wanted.has("table-first-heartbeat"),
  };
}

/** Many more pools are read than rollouts end; their draws are their own, so that the others keep theirs. */
function poolFaults({ seed, rollouts, kinds }: Omit<PlanOptions, "minutes">): Nth<RequestFault>[] {
  const random = createRandom("chaos-pool", seed);
  const count = Math.max(4, Math.round(rollouts / 12));
  return Object.entries(poolCalls).flatMap(([kind, call]) => {
    const most = call === poolCalls["engine-buffer-500"] ? Math.max(4, rollouts / 5) : rollouts * 2;
    const drawn = Array.from({ length: count }, () => integer(random, 1, Math.ceil(most)));
    const what = { kind: kind as keyof typeof poolCalls, call };
    return kinds.includes(what.kind) ? drawn.map((nth) => ({ what, nth })) : [];
  });
}

/** Each kind on some of the routes, another part of them with each seed. Its own draw, as above. */
function proxyFaults({ seed, rollouts, kinds }: Omit<PlanOptions, "minutes">): Nth<RequestFault>[] {
  const routes = [...new Set(engineCalls)];
  return (Object.keys(proxyAnswers) as FaultKind[])
    .filter((kind) => kinds.includes(kind))
    .flatMap((kind) => {
      const random = createRandom("chaos-proxy", seed, kind);
      const first = integer(random, 0, routes.length - 1);
      return Array.from({ length: Math.max(3, Math.round(rollouts / 60)) }, (_, index) => {
        const call = routes[(first + index) % routes.length] ?? "/end_episode";
        const most = rareCalls.has(call) ? Math.max(3, rollouts / 10) : rollouts;
        return { what: { kind, call }, nth: integer(random, 1, Math.ceil(most)) };
      });
    });
}

const requestKinds: ReadonlySet<FaultKind> = new Set([
  "engine-hang",
  "engine-500",
  "engine-garbage",
  "engine-close-before",
  "engine-close-after",
  "table-500",
  "table-close-after",
  "queue-500",
  "queue-close-after",
]);

/** How long the rollouts keep the system busy, ms: a guess, longer than it takes without faults. */
export function busyMs(rollouts: number, minutes: number, agentSeconds = 0): number {
  return Math.min(minutes * 60_000, 15_000 + rollouts * 250 + agentSeconds * 1000);
}

function timedFaults({
  seed,
  rollouts,
  minutes,
  agentSeconds,
  realTime,
}: Omit<PlanOptions, "kinds">): TimedFault[] {
  const window = busyMs(rollouts, minutes, agentSeconds);
  const spans = realTime ? { ...lasts, ...lastsInRealTime } : lasts;
  const faults = (Object.entries(spans) as [FaultKind, readonly [number, number]][]).flatMap(
    ([kind, [from, to]]) => {
      const random = createRandom("chaos-timed", seed, kind);
      const every = heavy.has(kind) ? 60_000 : 20_000;
      return Array.from({ length: Math.max(1, Math.round(window / every)) }, () => ({
        kind,
        at: Math.round(3000 + random() * Math.max(0, window - 3000)),
        seconds: from + random() * (to - from),
      }));
    },
  );
  return faults.toSorted((a, b) => a.at - b.at);
}
