/** What is made of an engine that is OFFLINE: it says step 0 after a stop, after a crash and after its last step alike. */
import { describe, expect, test } from "vitest";
import { running, Story, stopped } from "./story.ts";

const gone = { step: 0 };

/** A training of ten steps that Sortie has started, seen at these steps. */
function training(steps: readonly number[], settings = {}, total: number | null = 10): Story {
  const story = new Story(running(1, total === null ? {} : { total_steps: total }), settings);
  startIn(story, steps, 0);
  return story;
}

function startIn(story: Story, steps: readonly number[], afterwards: number): void {
  for (
    let minute = 0;
    story.look("ENGINE.OFFLINE", afterwards === 0 ? { step: null } : gone).kind !== "start";
  )
    if (++minute > 30) throw new Error(`expected a start, found ${story.known.step.reason}`);
  story.starts();
  story.look("ENGINE.BOOTING", gone);
  for (const step of steps) story.look("ENGINE.ROLLING", { step });
}

describe("a training that has run its last step", () => {
  test("is finished, and not started again until somebody asks for it", () => {
    const story = training([1, 5, 10]);
    expect(story.look("ENGINE.OFFLINE", gone)).toEqual({
      kind: "none",
      reason: "the training has run its last step",
    });
    expect(story.known.conclusion).toEqual({
      what: "finished",
      why: "its last step was done: step 10 of 10 was seen",
      at: story.now,
    });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("none");
    expect(story.alarms).toEqual([]);
    story.desired = running(2, { total_steps: 10 });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
    expect(story.known.finished).toBe(false);
  });

  test("is finished also where the engine could not be reached in its last minutes", () => {
    const story = training([1, 10]);
    story.look("ENGINE.CANNOT_CONNECT", { step: null });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("none");
    expect(story.known.conclusion?.what).toBe("finished");
  });

  test("which is its only one, is finished once its policy update has begun", () => {
    const story = training([1], {}, 1);
    story.look("ENGINE.WEIGHT_SYNCING", { step: 1 });
    story.look("ENGINE.OFFLINE", gone);
    expect(story.known.conclusion?.what).toBe("finished");
  });

  test("is finished where somebody else has started it, and the wanted config says how long it is", () => {
    const story = new Story(running(1, { total_steps: 4 }));
    story.look("ENGINE.ROLLING", { step: 3 });
    story.look("ENGINE.ROLLING", { step: 4 });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("none");
    expect(story.known.finished).toBe(true);
  });

  test("goes by the config that it was started with, not by one that is wanted since", () => {
    const story = training([1, 10]);
    story.desired = running(1, { total_steps: 20, hash: "another" });
    story.look("ENGINE.OFFLINE", gone);
    expect(story.known.conclusion?.what).toBe("finished");
  });

  test("together with somebody's new wish does not hold that up", () => {
    const story = training([1, 10]);
    story.desired = running(2, { total_steps: 10 });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
  });

  test("a failed start after it is a failed start", () => {
    const story = training([1, 10]);
    story.look("ENGINE.OFFLINE", gone);
    story.desired = running(2, { total_steps: 10 });
    startIn(story, [], 1);
    story.look("ENGINE.OFFLINE", gone);
    expect(story.known).toMatchObject({ finished: false, failures: 1, conclusion: { what: "crashed" } });
  });
});

describe("an own stop", () => {
  test("is followed by the start that a restart asks for, whatever step was reached", () => {
    const story = training([1, 10]);
    story.desired = running(2, { total_steps: 10, restart: "r-1" });
    expect(story.look("ENGINE.ROLLING", { step: 10 }).kind).toBe("stop");
    story.stops();
    // The first look at it, then eight seconds.
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("wait");
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
    expect(story.known).toMatchObject({ finished: false, failures: 0, restarted: "r-1" });
    expect(story.known.conclusion).toMatchObject({
      what: "stopped",
      why: "Sortie stopped it: a restart was asked for",
    });
    expect(story.alarms).toEqual([]);
  });

  test("of a stalled engine is followed by a start, in its last step too", () => {
    const story = training([9, 10], { restartWhenStalled: true });
    const busy = { step: 10, waiting: 7 };
    story.look("ENGINE.ROLLING", busy);
    expect(story.look("ENGINE.ROLLING", busy, 30).kind).toBe("stop");
    story.stops();
    // The first look at it, then eight seconds.
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("wait");
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
    expect(story.known.conclusion).toMatchObject({
      what: "stopped",
      why: "Sortie stopped it: the engine stalled",
    });
  });

  test("that was never sent is none: what runs on for long enough and dies then has crashed", () => {
    const story = training([1, 2]);
    story.desired = stopped(2);
    story.look("ENGINE.ROLLING", { step: 2 });
    story.stops({ kind: "unreachable", words: "ECONNREFUSED" });
    story.desired = running(3, { total_steps: 10 });
    story.look("ENGINE.ROLLING", { step: 2 });
    story.look("ENGINE.ROLLING", { step: 3 }, 11);
    // The first look at it, then eight seconds.
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("wait");
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
    expect(story.known.conclusion?.what).toBe("crashed");
  });

  test("that was sent in the last minutes is believed, though its answer was lost", () => {
    const story = training([1, 2]);
    story.desired = running(2, { total_steps: 10, restart: "r-1" });
    story.look("ENGINE.ROLLING", { step: 2 });
    story.stops({ kind: "unclear", words: "no answer" });
    story.look("ENGINE.CANNOT_CONNECT", { step: null }, 30);
    // The first look at it, then eight seconds.
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("wait");
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
    expect(story.known.conclusion?.what).toBe("stopped");
  });
});

describe("an end when the engine is wanted down", () => {
  test("is no crash: somebody else stopped it", () => {
    const story = training([1, 2]);
    story.desired = stopped(2);
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("none");
    expect(story.known).toMatchObject({ conclusion: { what: "stopped" }, crashes: undefined });
  });
});

describe("a trainer that crashes", () => {
  test("after a policy update is started again at once, with an alarm until the next update", () => {
    const story = training([1, 2, 7]);
    expect(story.look("ENGINE.OFFLINE", { step: 0, detail: "CUDA out of memory" }).kind).toBe("start");
    expect(story.known.conclusion).toMatchObject({ what: "crashed", at: story.now });
    expect(story.known.conclusion?.why).toBe(
      "the engine went OFFLINE at step 7, of 10 steps, and Sortie had not stopped it; the engine's detail: CUDA out of memory",
    );
    expect(story.alarms).toEqual(["crashed"]);
    story.starts();
    story.look("ENGINE.ROLLING", { step: 1 });
    expect(story.alarms).toEqual(["crashed"]);
    story.look("ENGINE.ROLLING", { step: 2 });
    expect(story.alarms).toEqual([]);
    expect(story.known.conclusion?.what).toBe("crashed");
  });

  test("after each policy update is left alone after the third time within six hours", () => {
    const story = training([1, 2]);
    story.look("ENGINE.OFFLINE", gone);
    story.starts();
    for (const step of [1, 2]) story.look("ENGINE.ROLLING", { step });
    expect(story.look("ENGINE.OFFLINE", gone)).toEqual({
      kind: "wait",
      reason: "a pause after a crash",
    });
    startIn(story, [1, 2], 1);
    expect(story.look("ENGINE.OFFLINE", gone)).toEqual({
      kind: "none",
      reason: "it failed or crashed too often: left alone",
    });
    expect(story.alarms).toEqual(["gave-up"]);
    expect(story.known.alarms[0]?.text).toContain("the trainer crashed 3 times");
    expect(story.known.alarms[0]?.text).toContain("at step 2, of 10 steps");
    // Time alone does not make it good.
    expect(story.look("ENGINE.OFFLINE", gone, 600).kind).toBe("none");
    story.desired = running(2, { total_steps: 10 });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
    expect(story.known.crashes).toBeUndefined();
  });

  test("now and then is started again each time", () => {
    const story = training([1, 2]);
    for (let crash = 0; crash < 8; crash += 1) {
      story.look("ENGINE.ROLLING", { step: 3 }, 4 * 60);
      story.look("ENGINE.OFFLINE", gone);
      if (story.known.step.kind === "start") story.starts();
      else startIn(story, [], 1);
      for (const step of [1, 2]) story.look("ENGINE.ROLLING", { step });
    }
    expect(story.alarms).toEqual([]);
    expect(story.known.crashes).toHaveLength(2);
  });

  test("whose config names no last step is left alone after the third time, however long it ran: it may have finished", () => {
    const story = training([1, 2], {}, null);
    for (let crash = 0; crash < 2; crash += 1) {
      story.look("ENGINE.ROLLING", { step: 3 }, 48 * 60);
      story.look("ENGINE.OFFLINE", gone);
      if (story.known.step.kind === "start") story.starts();
      else startIn(story, [], 1);
      for (const step of [1, 2]) story.look("ENGINE.ROLLING", { step });
    }
    story.look("ENGINE.OFFLINE", gone, 48 * 60);
    expect(story.alarms).toEqual(["gave-up"]);
    expect(story.known.conclusion?.why).toContain("the config names no last step");
  });

  test("in its last step before a policy update was seen has crashed", () => {
    const story = training([10]);
    story.look("ENGINE.OFFLINE", gone);
    expect(story.known).toMatchObject({ finished: false, failures: 1, conclusion: { what: "crashed" } });
    expect(story.alarms).toEqual(["start-failed"]);
  });

  test("while it boots for the first time is a failed start", () => {
    const story = training([]);
    story.look("ENGINE.OFFLINE", gone);
    expect(story.known).toMatchObject({ finished: false, failures: 1, conclusion: { what: "crashed" } });
    expect(story.known.conclusion?.why).toContain("fell back to OFFLINE while booting");
    expect(story.alarms).toEqual(["start-failed"]);
  });

  test("and that somebody else had started is started by Sortie, which is wanted to keep it running", () => {
    const story = new Story(running(1, { total_steps: 10 }));
    story.look("ENGINE.ROLLING", { step: 5 });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("start");
    expect(story.alarms).toEqual(["crashed"]);
    expect(story.known.crashes).toEqual([story.now]);
  });

  test("or is stopped, while Sortie only watches, is left alone and no alarm", () => {
    const story = new Story(undefined);
    story.look("ENGINE.ROLLING", { step: 5 });
    expect(story.look("ENGINE.OFFLINE", gone).kind).toBe("none");
    expect(story.alarms).toEqual([]);
    expect(story.known.conclusion?.what).toBe("crashed");
  });

  test("with its server says so", () => {
    const story = training([1, 2]);
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("start");
    expect(story.known.conclusion?.why).toContain("the engine's server has started anew");
  });

  test("and counts its steps anew before anybody looked is another run", () => {
    const story = training([1, 10]);
    story.look("ENGINE.ROLLING", { step: 1 });
    story.look("ENGINE.OFFLINE", gone);
    expect(story.known.conclusion?.what).toBe("crashed");
  });
});

test("an engine that was OFFLINE at the first look has come to no end", () => {
  const story = new Story(running());
  story.look("ENGINE.OFFLINE", gone);
  expect(story.known.conclusion).toBeUndefined();
});
