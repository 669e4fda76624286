import { describe, expect, test, vi } from "vitest";
import type { Engine } from "../../../../functions/core/engine.ts";
import { EngineError } from "../../../../functions/core/errors.ts";
import type { SettlePorts } from "../../../../functions/core/rollout/context.ts";
import type { RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { END_PENDING_MS, report } from "../../../../functions/core/rollout/report.ts";
import { deadUrl, engineAt } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { anOpenItem, NOW } from "../items.ts";
import { type Script, scriptedEngine, us } from "../scripted-engine.ts";

const result = { reward: 1, is_success: true, metadata: {}, log_metrics: {} };
const limits = { fleet: "main", fleetId: "main", maxAttempts: 3 };
const stored = (facts: Partial<RolloutItem> = {}) =>
  anOpenItem({ state: "reporting", ...facts }, { result, result_at: NOW });

/** Reporting needs the clock, the log and the engine; the rest of the ports is not touched. */
function portsWith(clock: FakeClock, engine: Engine): SettlePorts {
  const batches = { read: async () => undefined, trainings: { read: async () => undefined } };
  return { clock, engine, batches, log: vi.fn() } as unknown as SettlePorts;
}
async function run(
  script: Script,
  options: { resumed?: boolean; seconds?: number; item?: Partial<RolloutItem> } = {},
) {
  const played = await scriptedEngine(script);
  const until = NOW + (options.seconds ?? 120) * 1000;
  const reported = await report(portsWith(played.clock, played.engine), limits, stored(options.item), {
    until,
    resumed: options.resumed ?? false,
  });
  expect(played.clock.now()).toBeLessThanOrEqual(until);
  return { ...played, reported };
}
const notFound = [400, "Episode episode-1 not found."] as const;

describe("the end of an episode", () => {
  test("that the engine takes is all there is to do", async () => {
    const { reported, ends, looks } = await run({ ends: ["ok"] });
    expect(reported).toEqual({ decided: true, reason: "ended" });
    expect(ends()).toMatchObject([
      {
        client_uuid: us,
        episode_uuid: "episode-1",
        task_id: "task-1",
        workflow_output: { reward: 1, metadata: { task_id: "task-1" } },
        declare_client_active: false,
      },
    ]);
    expect(looks()).toBe(0);
  });

  test.each([
    [notFound, "episode-lost"],
    [[400, "Episode episode-1 is not in claimed status, maybe you take **too long**"], "episode-lost"],
    [[404, "Episode episode-1 is claimed by another client"], "episode-lost"],
    [
      [400, "Engine is not in rolling state. Current status: [ENGINE.WEIGHT_SYNCING]. Cannot end episode."],
      "engine-left-rolling",
    ],
    [[422, [{ loc: ["body", "workflow_output", "reward"], msg: "no number" }]], "invalid-output"],
  ] as const)("that is refused at once with %j is %s, and not sent again", async (answer, reason) => {
    const { reported, ends, looks } = await run({ ends: [answer] });
    expect(reported).toMatchObject({ decided: true, reason });
    expect([ends().length, looks()]).toEqual([1, 0]);
  });
});

describe("an end that something before the engine answers", () => {
  test.each([
    [[403, "who are you?"], 2],
    [[404, "Not Found"], 2],
    [[401, "Not authenticated"], 2],
    [[429, "Too Many Requests"], 2],
    [[502, "bad gateway"], 4],
    [[503, "busy"], 4],
    [[503, "busy", "5"], 2],
    [[405, "Method Not Allowed"], 2],
  ] as const)(
    "with %j decides nothing: looked into, %i times in all, and sent again",
    async (answer, seen) => {
      const { reported, ends, looks } = await run({ ends: [answer, answer, "ok"], pool: ["ours"] });
      expect(reported).toEqual({ decided: true, reason: "ended" });
      expect([ends().length, looks()]).toEqual([3, seen]);
    },
  );

  test("is no end that may have been taken: an engine that has gone on has not got the reward", async () => {
    const away = await run({ ends: [[429, "slow down"]], pool: ["batch-over"] });
    expect(away.reported).toMatchObject({ decided: true, reason: "engine-left-rolling" });
    const lost = await run({ ends: [[502, "bad gateway"]], pool: ["batch-over"] });
    expect(lost.reported).toMatchObject({ decided: true, reason: "unknown" });
  });

  test("all the time keeps the stored result for the next delivery", async () => {
    const { reported } = await run({ ends: [[403, "who are you?"]], pool: ["ours"] });
    expect(reported).toMatchObject({ decided: false });
  });

  test("in the engine's form, with words that are not the engine's, is believed at the third time", async () => {
    const odd = [400, "Request blocked"] as const;
    const passing = await run({ ends: [odd, odd, "ok"], pool: ["ours"] });
    expect(passing.reported).toEqual({ decided: true, reason: "ended" });
    const staying = await run({ ends: [odd, odd, odd], pool: ["ours"] });
    expect(staying.reported).toMatchObject({ decided: true, reason: "engine-refused" });
    expect(staying.ends()).toHaveLength(3);
  });

  test("does not hide that the engine cannot read the body", async () => {
    const invalid = [422, [{ loc: ["body"], msg: "no number" }]] as const;
    const { reported, ends } = await run({ ends: [[502, "bad gateway"], invalid], pool: ["ours"] });
    expect(reported).toMatchObject({ decided: true, reason: "invalid-output" });
    expect(ends()).toHaveLength(2);
  });

  test("with a time is sent again after that, and not at all where the function ends sooner", async () => {
    const limited = [429, "slow down", "70"] as const;
    const patient = await run({ ends: [limited, "ok"], pool: ["ours"] }, { seconds: 120 });
    expect(patient.reported).toEqual({ decided: true, reason: "ended" });
    expect(patient.clock.sleeps).toEqual([70_000]);
    const hurried = await run({ ends: [limited], pool: ["ours"] }, { seconds: 60 });
    expect(hurried.reported).toMatchObject({ decided: false });
    expect([hurried.ends().length, hurried.looks()]).toEqual([1, 0]);
  });
});

describe("an end whose answer was lost", () => {
  test("is not sent again where the pool shows that it was taken", async () => {
    const { reported, ends } = await run({ ends: ["cut"], pool: ["nowhere", "nowhere", "ended"] });
    expect(reported).toEqual({ decided: true, reason: "ended" });
    expect(ends()).toHaveLength(1);
  });

  test("is sent again where the pool shows twice that the episode is still ours", async () => {
    const { reported, ends, looks } = await run({ ends: ["cut", "ok"], pool: ["ours"] });
    expect(reported).toEqual({ decided: true, reason: "ended" });
    expect([ends().length, looks()]).toEqual([2, 2]);
  });

  test("counts as taken although the second one is refused as not found, once the pool shows it", async () => {
    const { reported, ends } = await run({
      ends: ["cut", notFound],
      pool: ["ours", "ours", "nowhere", "ended"],
    });
    expect(reported).toEqual({ decided: true, reason: "ended" });
    expect(ends()).toHaveLength(2);
  });

  test.each([
    ["other", "episode-lost", 0],
    ["nowhere", "unknown", 15],
    ["batch-over", "unknown", 25],
  ] as const)("where the pool shows the episode as %s, is %s after %d s", async (shown, reason, seconds) => {
    const { reported, clock, ends } = await run({ ends: ["cut"], pool: [shown] });
    expect(reported).toMatchObject({ decided: true, reason });
    expect(clock.now()).toBe(NOW + 5000 + seconds * 1000);
    expect(ends()).toHaveLength(1);
  });

  test("is episode-lost after 15 s where the engine has the episode in its line again", async () => {
    const { reported, clock } = await run({ ends: ["cut"], pool: ["nowhere"], inLine: true });
    expect(reported).toMatchObject({ decided: true, reason: "episode-lost" });
    expect(clock.now()).toBe(NOW + 5000 + 15_000);
  });

  test("is left for later while the pool cannot be read, and never sent blindly", async () => {
    const { reported, ends } = await run({ ends: ["cut"], pool: ["unreadable"] }, { seconds: 60 });
    expect(reported).toMatchObject({ decided: false });
    expect(ends()).toHaveLength(1);
  });

  test("is left for later with the moment since when the episode is gone, if time is up", async () => {
    const { reported } = await run({ ends: ["cut"], pool: ["nowhere"] }, { seconds: 14 });
    expect(reported).toEqual({ decided: false, detail: "looked, and saw it missing", goneSince: NOW + 5000 });
  });

  test("of an eval episode counts as taken once the episode is no longer ours", async () => {
    for (const shown of ["nowhere", "other", "batch-over"] as const) {
      const { reported } = await run({ ends: ["cut"], pool: [shown] }, { item: { episode_type: "eval" } });
      expect(reported).toEqual({ decided: true, reason: "ended" });
    }
  });
});

describe("an end that was left without an answer", () => {
  test("is not sent again while the engine may be at it, and the moment is kept for the next look", async () => {
    const { clock, engine, ends } = await scriptedEngine({ ends: ["ok"], pool: ["ours"] });
    const sent: number[] = [];
    const hanging: Engine = {
      ...engine,
      end: async () => {
        sent.push(clock.now());
        await clock.sleep(12_000);
        throw new EngineError({ failure: "unclear", call: "end_episode", detail: "no answer" });
      },
    };
    const options = { until: NOW + 120_000, resumed: false };
    const reported = await report(portsWith(clock, hanging), limits, stored(), options);
    expect(reported).toMatchObject({ decided: false, endSentAt: NOW });
    expect(sent).toEqual([NOW]);

    const previous = anOpenItem({ state: "reporting" }, { result, result_at: NOW, end_sent_at: NOW });
    const look = async () =>
      await report(portsWith(clock, engine), limits, previous, {
        until: clock.now() + 12_000,
        resumed: true,
      });
    while (clock.now() < NOW + END_PENDING_MS - 15_000)
      expect(await look()).toMatchObject({ decided: false });
    expect(ends()).toEqual([]);
    await clock.sleep(NOW + END_PENDING_MS - clock.now());
    expect(await look()).toEqual({ decided: true, reason: "ended" });
    expect(ends()).toHaveLength(1);
  });
});

describe("a result that another process may have reported", () => {
  test("is not sent where the pool shows its end", async () => {
    const { reported, ends } = await run({ ends: ["ok"], pool: ["ended"] }, { resumed: true });
    expect(reported).toEqual({ decided: true, reason: "ended" });
    expect(ends()).toEqual([]);
  });

  test("is sent where the episode is still ours at the second look", async () => {
    const { reported, ends, looks } = await run({ ends: ["ok"], pool: ["ours"] }, { resumed: true });
    expect(reported).toEqual({ decided: true, reason: "ended" });
    expect([ends().length, looks()]).toEqual([1, 2]);
  });

  test("is not sent to an episode of somebody else", async () => {
    const { reported, ends } = await run({ ends: ["ok"], pool: ["other"] }, { resumed: true });
    expect(reported).toMatchObject({ decided: true, reason: "episode-lost" });
    expect(ends()).toEqual([]);
  });

  test("goes on counting from when the episode was first seen gone", async () => {
    const played = await scriptedEngine({ pool: ["nowhere"] });
    const item = anOpenItem({ state: "reporting" }, { result, result_at: NOW, gone_since: NOW - 15_000 });
    const reported = await report(portsWith(played.clock, played.engine), limits, item, {
      until: NOW + 10_000,
      resumed: true,
    });
    expect([reported, played.clock.now()]).toMatchObject([{ decided: true, reason: "unknown" }, NOW]);
  });
});

test("an engine that cannot be reached decides nothing, and is tried as long as there is time", async () => {
  const clock = new FakeClock(NOW);
  const engine = engineAt(await deadUrl(), { clock });
  const reported = await report(portsWith(clock, engine), limits, stored(), {
    until: NOW + 31_000,
    resumed: false,
  });
  expect(reported).toMatchObject({ decided: false, goneSince: undefined });
  expect(clock.sleeps).toEqual([5000, 5000, 5000, 5000, 5000, 5000]);
});

test("an attempt without a stored result has nothing to report", async () => {
  const { clock, engine } = await scriptedEngine({});
  const options = { until: NOW + 60_000, resumed: false };
  expect(await report(portsWith(clock, engine), limits, anOpenItem(), options)).toMatchObject({
    reason: "crashed",
  });
});
