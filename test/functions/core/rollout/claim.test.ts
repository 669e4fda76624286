import { describe, expect, test } from "vitest";
import type { Engine } from "../../../../functions/core/engine.ts";
import { EngineError } from "../../../../functions/core/errors.ts";
import type { ClaimAnswer, ClaimRequest } from "../../../../functions/core/protocol.ts";
import { type ClaimOptions, claimEpisode } from "../../../../functions/core/rollout/claim.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const request: ClaimRequest = {
  client_uuid: "fleet-1/attempt-1",
  episode_type: "train",
  discard_episode_timeout: 240,
  throttle_policy: null,
};
const answer = (facts: Partial<ClaimAnswer>): ClaimAnswer => ({
  success: false,
  client_uuid: request.client_uuid,
  episode_uuid: "",
  openai_base_url: "",
  openai_api_key: "",
  fail_cause: "",
  ...facts,
});
const grant = answer({ success: true, episode_uuid: "ep-1", openai_base_url: "http://engine/v1" });
const noEpisodes = answer({
  fail_cause: "No available episodes to claim. Try again (maybe 1 minute) later.",
});
const unclear = new EngineError({
  failure: "unclear",
  call: "claim_episode",
  detail: "no answer within 30 s",
});
const unread = new EngineError({ failure: "unclear", call: "get_episode_buffer", detail: "reset" });

/** The two calls that a claim makes, from a script whose last entry stays; the wire is tested with the client. */
function scripted(statuses: string[], claims: (ClaimAnswer | Error)[]) {
  const calls: string[] = [];
  const next = <T>(script: T[]): T => {
    const [first] = script.length > 1 ? script.splice(0, 1) : script;
    if (first === undefined) throw new Error("nothing is scripted");
    return first;
  };
  const engine: Pick<Engine, "status" | "claim"> = {
    status: async () => {
      calls.push("status");
      return { engine_status: next(statuses), engine_status_detail: null, global_step: 3 };
    },
    claim: async () => {
      calls.push("claim");
      const step = next(claims);
      if (step instanceof Error) throw step;
      return step;
    },
  };
  return { engine: engine as Engine, calls };
}

function run(engine: Engine, options: Partial<ClaimOptions> = {}, wanted = request) {
  const clock = new FakeClock(1_000_000);
  const outcome = claimEpisode(engine, wanted, { clock, waitUntil: 1_000_000 + 60_000, ...options });
  return { clock, outcome };
}

test("a grant carries when it was claimed, when it expires and the engine's step", async () => {
  const { outcome } = run(scripted(["ENGINE.ROLLING"], [grant]).engine);
  const claimedAt = 1_000_000;
  expect(await outcome).toEqual({
    kind: "granted",
    grant,
    claimedAt,
    expiresAt: claimedAt + 1_920_000,
    globalStep: 3,
  });
});

describe("waiting", () => {
  test("never lasts past its end: a wait that would is not begun", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [noEpisodes]);
    const { outcome, clock } = run(engine, { waitUntil: 1_000_000 + 5000 });
    expect(await outcome).toEqual({
      kind: "waited-out",
      reason: "no-episodes",
      status: "ENGINE.ROLLING",
      detail: noEpisodes.fail_cause,
    });
    expect(clock.sleeps).toEqual([2000, 2000]);
    expect(calls).toEqual(["status", "claim", "status", "claim", "status", "claim"]);
  });

  test("may end exactly at its end, and one try without any wait is always made", async () => {
    const exactly = scripted(["ENGINE.ROLLING"], [noEpisodes, grant]);
    expect(await run(exactly.engine, { waitUntil: 1_002_000 }).outcome).toMatchObject({ kind: "granted" });
    const late = scripted(["ENGINE.ROLLING"], [grant]);
    expect(await run(late.engine, { waitUntil: 0 }).outcome).toMatchObject({ kind: "granted" });
  });

  test.for([["ENGINE.OFFLINE"], ["ENGINE.CANNOT_CONNECT"], ["ENGINE.NEVER_HEARD_OF"]])(
    "for an engine that is %s polls each 5 s and makes no claim",
    async ([status]) => {
      const { engine, calls } = scripted([String(status)], [grant]);
      const { outcome, clock } = run(engine, { waitUntil: 1_000_000 + 12_000 });
      expect(await outcome).toMatchObject({ kind: "waited-out", reason: "not-rolling", status });
      expect(clock.sleeps).toEqual([5000, 5000]);
      expect(calls).toEqual(["status", "status", "status"]);
    },
  );

  test.for([
    ["refused", answer({ fail_cause: "never heard of" }), "never heard of"],
    [
      "engine-error",
      new EngineError({ failure: "refused", call: "claim_episode", status: 400, detail: "x" }),
      "claim_episode refused with HTTP 400: x",
    ],
  ] as const)("ends with the reason of the last try: %s", async ([because, step, detail]) => {
    const { outcome, clock } = run(scripted(["ENGINE.ROLLING"], [step]).engine, {
      waitUntil: 1_000_000 + 20_000,
    });
    expect(await outcome).toEqual({ kind: "waited-out", reason: because, status: "ENGINE.ROLLING", detail });
    expect(clock.sleeps).toEqual([15_000]);
  });

  test("waits as long as an answer asks for, and says so where that is too long", async () => {
    const facts = { failure: "unclear", call: "claim_episode", status: 429, detail: "slow down" } as const;
    const limited = new EngineError({ ...facts, retryAfterMs: 40_000 });
    const onUnclearClaim = async () => undefined;
    const patient = run(scripted(["ENGINE.ROLLING"], [limited, grant]).engine, {
      waitUntil: 1_100_000,
      onUnclearClaim,
    });
    expect(await patient.outcome).toMatchObject({ kind: "granted" });
    expect(patient.clock.sleeps).toEqual([40_000]);
    const hurried = run(scripted(["ENGINE.ROLLING"], [limited]).engine, {
      waitUntil: 1_030_000,
      onUnclearClaim,
    });
    expect(await hurried.outcome).toMatchObject({ reason: "engine-error", retryAfterSeconds: 40 });
    expect(hurried.clock.sleeps).toEqual([]);
  });

  test("looks at the status again after each delay", async () => {
    const { engine, calls } = scripted(
      ["ENGINE.ROLLING", "ENGINE.WEIGHT_SYNCING", "ENGINE.ROLLING"],
      [noEpisodes, grant],
    );
    const { outcome, clock } = run(engine);
    expect(await outcome).toMatchObject({ kind: "granted" });
    expect(clock.sleeps).toEqual([2000, 5000]);
    expect(calls).toEqual(["status", "claim", "status", "status", "claim"]);
  });

  test("is ended by the signal, asleep or not, without a further claim", async () => {
    const stop = new AbortController();
    const clock = new FakeClock(0, "manual");
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [noEpisodes]);
    const outcome = claimEpisode(engine, request, { clock, waitUntil: 60_000, signal: stop.signal });
    await expect.poll(() => clock.sleeping).toBe(1);
    stop.abort("shutting down");
    expect(await outcome).toMatchObject({ kind: "waited-out", reason: "stopped" });
    expect(calls).toEqual(["status", "claim"]);
    const again = await run(engine, { signal: stop.signal }).outcome;
    expect(again).toMatchObject({ kind: "waited-out", reason: "stopped" });
    expect(calls).toEqual(["status", "claim", "status"]);
  });
});

describe("admission", () => {
  test("is asked before every claim of a train episode, with 2 s between", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [grant]);
    const verdicts = [{ admitted: false, reason: "6 of 6 tasks" }, { admitted: true }];
    const { outcome, clock } = run(engine, {
      admission: async () => verdicts.shift() ?? { admitted: false },
    });
    expect(await outcome).toMatchObject({ kind: "granted" });
    expect(clock.sleeps).toEqual([2000]);
    expect(calls).toEqual(["status", "status", "claim"]);
  });

  test("that is never given ends as throttled, with its reason", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [grant]);
    const admission = async () => ({ admitted: false, reason: "6 of 6 tasks" });
    expect(await run(engine, { admission, waitUntil: 1_001_000 }).outcome).toMatchObject({
      reason: "throttled",
      detail: "6 of 6 tasks",
    });
    expect(calls).toEqual(["status"]);
  });

  test("is not asked for an eval episode", async () => {
    const admission = async () => ({ admitted: false });
    const wanted = { ...request, episode_type: "eval" as const };
    expect(
      await run(scripted(["ENGINE.ROLLING"], [grant]).engine, { admission }, wanted).outcome,
    ).toMatchObject({ kind: "granted" });
  });

  test("that fails for a reason outside the engine is the caller's to see", async () => {
    const admission = () => Promise.reject(new Error("the table is not there"));
    const { outcome } = run(scripted(["ENGINE.ROLLING"], [grant]).engine, { admission });
    await expect(outcome).rejects.toThrow("the table is not there");
  });
});

describe("a rollout that the batch does not need", () => {
  test("asks again each second, and claims once it is needed", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [grant]);
    const answers = ["wait", "wait"] as const;
    let asked = 0;
    const needed = async () => {
      asked += 1;
      return answers[asked - 1];
    };
    const { outcome, clock } = run(engine, { needed });
    expect(await outcome).toMatchObject({ kind: "granted" });
    expect(clock.sleeps).toEqual([1000, 1000]);
    expect(calls).toEqual(["status", "status", "status", "claim"]);
  });

  test("and will not be for long gives its place away at once", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [grant]);
    const { outcome, clock } = run(engine, { needed: async () => "defer" });
    expect(await outcome).toMatchObject({ kind: "waited-out", reason: "not-needed" });
    expect([clock.sleeps, calls]).toEqual([[], ["status"]]);
  });

  test("is started all the same where it is an eval", async () => {
    const wanted = { ...request, episode_type: "eval" as const };
    const { engine } = scripted(["ENGINE.ROLLING"], [grant]);
    expect(await run(engine, { needed: async () => "wait" }, wanted).outcome).toMatchObject({
      kind: "granted",
    });
  });
});

describe("a claim whose answer was lost", () => {
  test("is looked for once, and what is found is used, as of when it was sent", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [unclear]);
    const asked: unknown[] = [];
    const { outcome, clock } = run(engine, {
      onUnclearClaim: async (error) => {
        asked.push(error);
        await clock.advance(7000);
        return grant;
      },
    });
    expect(await outcome).toMatchObject({
      kind: "granted",
      grant,
      claimedAt: 1_000_000,
      expiresAt: 1_000_000 + 1_920_000,
    });
    expect(asked).toEqual([unclear]);
    expect(calls).toEqual(["status", "claim"]);
  });

  test("where nothing was given away is tried again after 15 s", async () => {
    const { engine } = scripted(["ENGINE.ROLLING"], [unclear, grant]);
    let asked = 0;
    const { outcome, clock } = run(engine, {
      onUnclearClaim: async () => {
        asked += 1;
        return undefined;
      },
    });
    expect(await outcome).toMatchObject({ kind: "granted", claimedAt: 1_015_000 });
    expect(clock.sleeps).toEqual([15_000]);
    expect(asked).toBe(1);
  });

  test("is cleared up before another claim is made, whatever the engine does meanwhile", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING", "ENGINE.ROLLING_POST"], [unclear]);
    const finds = [() => Promise.reject(unread), () => Promise.resolve(grant)];
    const { outcome, clock } = run(engine, {
      onUnclearClaim: () => finds.shift()?.() ?? Promise.resolve(undefined),
    });
    expect(await outcome).toMatchObject({ kind: "granted", grant });
    expect(clock.sleeps).toEqual([15_000]);
    expect(calls).toEqual(["status", "claim", "status"]);
  });

  test("is reported where it could not be cleared up in time", async () => {
    const { engine } = scripted(["ENGINE.ROLLING"], [unclear]);
    const { outcome } = run(engine, { onUnclearClaim: () => Promise.reject(unread) });
    expect(await outcome).toEqual({ kind: "unclear-claim", error: unclear, status: "ENGINE.ROLLING" });
  });

  test("is reported at once where nobody looks for it", async () => {
    const { engine, calls } = scripted(["ENGINE.ROLLING"], [unclear, grant]);
    expect(await run(engine).outcome).toEqual({
      kind: "unclear-claim",
      error: unclear,
      status: "ENGINE.ROLLING",
    });
    expect(calls).toEqual(["status", "claim"]);
  });
});
