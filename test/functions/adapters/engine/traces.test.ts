import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { rolloutStat } from "../../../../cli/rollout-stat.ts";
import { callTimeouts } from "../../../../functions/adapters/engine/call-names.ts";
import { EngineError, InvalidMessageError } from "../../../../functions/core/errors.ts";
import type { ClaimRequest, PoolInformation, WorkflowOutput } from "../../../../functions/core/protocol.ts";
import { type ClaimOutcome, claimEpisode, type Granted } from "../../../../functions/core/rollout/claim.ts";
import { endOrAbort } from "../../../../functions/core/rollout/claim-rules.ts";
import { deviations } from "../../../support/deviations.ts";
import {
  CLIENT,
  comparable,
  compareRequests,
  expectedRequests,
  type Replay,
  replay,
} from "../../../support/replay.ts";
import { requestsOf, type Trace, traces } from "../../../support/traces.ts";

/** They come with the lifecycle. */
const isLifecycle = ({ name }: Trace) => /^(auto start|sync config|start|stop): /.test(name);
/** The reference would have retried it for ever, so nothing is recorded; see below for what happens here. */
const isNotRecorded = ({ outcome }: Trace) => outcome.returns === "would retry for ever: not run";
const replayed = traces.filter((trace) => !isLifecycle(trace) && !isNotRecorded(trace));
const about = (prefix: string) => replayed.filter(({ name }) => name.startsWith(`${prefix}: `));

/** The traces do not say what the reference was called with; its claim does. */
function claimOf(trace: Trace): ClaimRequest {
  const body = requestsOf(trace).find(({ path }) => path.endsWith("/claim_episode"))?.json;
  const defaults = { episode_type: "train" as const, discard_episode_timeout: 240, throttle_policy: null };
  return { ...defaults, ...(body as Partial<ClaimRequest>), client_uuid: CLIENT };
}

function claim(trace: Trace, { engine, clock }: Replay, waitSeconds = 3600): Promise<ClaimOutcome> {
  const request = claimOf(trace);
  const policy = request.throttle_policy;
  // As little of a throttle as the traces need; the real one has its own conformance test.
  const admission = async () => {
    const admitted =
      policy === null || tasksInBatch(await engine.pool()) < policy.ratio * policy.expected_batch_size;
    return { admitted };
  };
  return claimEpisode(engine, request, {
    clock,
    waitUntil: waitSeconds * 1000,
    onUnclearClaim: async () => undefined,
    ...(policy === null ? {} : { admission }),
  });
}

function tasksInBatch(pool: PoolInformation): number {
  return Object.values(pool.completed_tasks_client_uuids).filter((uuids) => uuids.includes("client-self"))
    .length;
}

async function granted(trace: Trace, replay: Replay): Promise<Granted> {
  const outcome = await claim(trace, replay);
  if (outcome.kind !== "granted") throw new Error(`expected a grant, found ${JSON.stringify(outcome)}`);
  return outcome;
}

test("every recorded situation is replayed, or counted as out of scope", () => {
  expect(traces).toHaveLength(76);
  expect(traces.filter(isLifecycle)).toHaveLength(18);
  expect(traces.filter(isNotRecorded).map(({ name }) => name)).toEqual([
    "begin: throttle policy without a task id",
  ]);
  const prefixes = [
    "begin",
    "end",
    "abort",
    "can continue",
    "rollout stat",
    "episode buffer",
    "print rollout stat",
  ];
  const named = prefixes.map((prefix) => replayed.filter(({ name }) => name.split(":")[0] === prefix).length);
  expect(named).toEqual([30, 16, 3, 4, 1, 1, 2]);
  expect(replayed).toHaveLength(57);
});

test("time limits are the reference's, but for end and abort", () => {
  for (const { path, timeout = 30 } of traces.flatMap(requestsOf)) {
    const name = path.split("/").at(-1) as keyof typeof callTimeouts;
    // Deviation settle-timeouts.
    const seconds = name === "end_episode" || name === "abort_episode" ? 330 : timeout;
    expect(callTimeouts[name], path).toBe(seconds * 1000);
  }
});

/** Deviations bounded-waiting and offline-is-waiting: in virtual seconds, how long we wait where the reference did not end. */
const waitsForEver = new Map([
  ["begin: engine offline throughout", 26],
  ["begin: engine never rolls within the hour", 26],
]);

describe("begin", () => {
  test.for(about("begin").filter(({ name }) => !waitsForEver.has(name)))("$name", (trace) =>
    replay(trace, async (replay) => {
      const outcome = await granted(trace, replay);
      compareRequests(trace, replay);
      const expected = trace.outcome.returns as { episode_uuid: string; base_url: string; api_key: string };
      const { grant } = outcome;
      expect(grant.episode_uuid).toBe(expected.episode_uuid);
      expect(grant.openai_api_key).toBe(expected.api_key);
      // The scheme and host that this client uses, with its path prefix.
      expect(grant.openai_base_url.replace(replay.engine.url, trace.server_url)).toBe(expected.base_url);
      // Deviation fault-empty-record: the reference's other records are of refusals.
      expect(outcome.expiresAt / 1000).toBeCloseTo(trace.episode_records["ep-1"] ?? Number.NaN, 6);
    }),
  );

  test.for(about("begin").filter(({ name }) => waitsForEver.has(name)))("$name", (trace) =>
    replay(trace, async (replay) => {
      const outcome = await claim(trace, replay, waitsForEver.get(trace.name));
      const status = trace.engine_status[0]?.[1];
      expect(outcome).toEqual({ kind: "waited-out", reason: "not-rolling", status, detail: status });
      const seen = replay.played.seen.map(comparable);
      const expected = expectedRequests(trace);
      expect(seen.slice(0, expected.length)).toEqual(expected);
      expect(seen.map((request) => Reflect.get(request, "at"))).toEqual([
        0, 5020, 10_040, 15_060, 20_080, 25_100,
      ]);
      expect(replay.clock.sleeps).toEqual([5000, 5000, 5000, 5000, 5000]);
    }),
  );

  // Deviation fault-endless-retry.
  test.for(traces.filter(isNotRecorded))("$name", (trace) =>
    replay(trace, async ({ engine, played, clock }) => {
      const throttle_policy = {
        ratio: 0.5,
        expected_batch_size: 4,
        expected_num_repeat: 2,
        current_task_id: "",
      };
      const request = { ...claimOf(trace), throttle_policy };
      const claiming = claimEpisode(engine, request, { clock, waitUntil: 60_000 });
      await expect(claiming).rejects.toThrow(InvalidMessageError);
      expect(played.seen).toEqual([]);
    }),
  );
});

/** What the end of a trace was called with: its body says so, but for the task id that the client itself enters. */
function resultOf(trace: Trace): { task_id: string; workflow_output: WorkflowOutput } {
  const body = requestsOf(trace).find(({ path }) => path.endsWith("/end_episode"))?.json;
  const { workflow_output } = (body ?? {}) as { workflow_output?: WorkflowOutput };
  const output = workflow_output ?? { reward: 1, is_success: null, metadata: {}, log_metrics: {} };
  const { task_id: _, ...metadata } = output.metadata;
  const other = trace.name === "end: metadata already names another task" ? { task_id: "other" } : {};
  const task_id = trace.name === "end: task without an id" ? "" : "t9";
  return { task_id, workflow_output: { ...output, metadata: { ...metadata, ...other } } };
}

/** Claims if the reference did, then ends (or aborts) at the reference's time. */
async function settle(trace: Trace, replay: Replay): Promise<void> {
  const { engine, clock } = replay;
  const requests = requestsOf(trace);
  const known = requests.some(({ path }) => path.endsWith("/claim_episode"));
  const expiresAt = known ? (await granted(trace, replay)).expiresAt : 0;
  await clock.advance(Math.max(0, Math.round((requests.at(-1)?.at ?? 0) * 1000) - clock.now()));
  const episode_uuid = trace.name === "end: no episode" ? "" : "ep-1";
  if (endOrAbort({ expiresAt, now: clock.now(), known }) === "abort")
    return engine.abort(CLIENT, episode_uuid);
  return engine.end({ client_uuid: CLIENT, episode_uuid, ...resultOf(trace) });
}

/** What is known after the scripted reply. */
function failureOf(trace: Trace, path: string): { failure: string; detail?: string } {
  const reply = trace.replies[path]?.[0] ?? {};
  if (reply.error !== undefined || (reply.status ?? 0) >= 500) return { failure: "unclear" };
  const { detail } = (reply.json ?? {}) as { detail?: unknown };
  return { failure: "refused", ...(typeof detail === "string" ? { detail } : {}) };
}

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("end", () => {
  test.for(about("end"))("$name", (trace) =>
    replay(trace, async (replay) => {
      const error = await thrownBy(settle(trace, replay));
      compareRequests(trace, replay);
      if (trace.name === "end: no episode") {
        // Deviation failures-are-reported.
        expect(error).toMatchObject({ failure: "refused", call: "abort_episode" });
      } else if (trace.outcome.raises === undefined) {
        expect(error).toBeUndefined();
      } else {
        expect(error).toBeInstanceOf(EngineError);
        const nothingSent = trace.outcome.raises === "AssertionError";
        expect(error).toMatchObject(nothingSent ? { failure: "refused" } : failureOf(trace, "/end_episode"));
      }
    }),
  );
});

describe("abort", () => {
  test.for(about("abort"))("$name", (trace) =>
    replay(trace, async (replay) => {
      const error = await thrownBy(replay.engine.abort(CLIENT, "ep-1"));
      compareRequests(trace, replay);
      if (trace.name === "abort: accepted") expect(error).toBeUndefined();
      // Deviation failures-are-reported: the reference swallows them.
      else expect(error).toMatchObject({ code: /./, ...failureOf(trace, "/abort_episode") });
    }),
  );
});

describe("what is read", () => {
  test.for(about("can continue"))("$name", (trace) =>
    replay(trace, async (replay) => {
      const asked = replay.engine.canContinue(CLIENT, trace.name.endsWith("no episode") ? "" : "ep-1");
      if (trace.name.includes("in trouble")) {
        // Deviation failures-are-reported.
        await expect(asked).rejects.toMatchObject({ failure: "unclear", status: 500, detail: "x" });
      } else {
        expect(await asked).toBe(trace.outcome.returns);
      }
      compareRequests(trace, replay);
    }),
  );

  // Deviation failures-are-reported: the reference makes an empty pool and an empty buffer of it.
  test.for([...about("rollout stat"), ...about("episode buffer")])("$name", (trace) =>
    replay(trace, async (replay) => {
      const { engine } = replay;
      const asked = trace.name.startsWith("rollout stat") ? engine.pool() : engine.buffer();
      await expect(asked).rejects.toMatchObject({ failure: "unclear", status: 503, detail: "x" });
      compareRequests(trace, replay);
    }),
  );

  test.for(replayed.filter(({ name }) => name.startsWith("print rollout stat")))("$name", (trace) =>
    replay(trace, async (replay) => {
      const rows = rolloutStat(await replay.engine.pool(), trace.server_url);
      const expected = trace.outcome.returns as Record<string, string>;
      expect(rows).toEqual(Object.entries(expected));
      compareRequests(trace, replay);
    }),
  );
});

test("every deviation stands in docs/deviations.md with its reason, and nothing else does", () => {
  const text = readFileSync(new URL("../../../../docs/deviations.md", import.meta.url), "utf8");
  const sections = text.split(/^## /m).slice(1);
  expect(sections.map((section) => section.split("\n")[0])).toEqual(Object.keys(deviations));
  for (const section of sections) expect(section.length, section.split("\n")[0]).toBeGreaterThan(100);
});
