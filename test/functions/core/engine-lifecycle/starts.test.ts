import { describe, expect, test } from "vitest";
import { running, Story, stopped } from "./story.ts";

/** A story in which a start has just been decided. */
function aboutToStart(settings = {}): Story {
  const story = new Story(running(), settings);
  expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("start");
  return story;
}

describe("a start that failed", () => {
  test("is tried again after growing pauses, three times in all, and then left alone", () => {
    const story = aboutToStart();
    story.starts();
    const minutesUntilStart: number[] = [];
    for (let minute = 1, last = 0; minute <= 60; minute += 1) {
      const step = story.look("ENGINE.OFFLINE", { step: null, detail: "CUDA out of memory" });
      if (step.kind !== "start") continue;
      minutesUntilStart.push(minute - last);
      last = minute;
      story.starts();
    }
    // The look that sees the failure, then pauses of one and two minutes.
    expect(minutesUntilStart).toEqual([2, 3]);
    expect(story.known.failures).toBe(3);
    expect(story.look("ENGINE.OFFLINE").kind).toBe("none");
    expect(story.alarms).toEqual(["gave-up"]);
    expect(story.known.alarms[0]?.text).toContain("3 of 3 starts failed");
    expect(story.known.alarms[0]?.text).toContain("CUDA out of memory");
  });

  test("counts no more once somebody sets the desired state anew", () => {
    const story = aboutToStart({ startAttempts: 1 });
    story.starts();
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("none");
    story.desired = running(2);
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("start");
    expect(story.known).toMatchObject({ failures: 0, generation: 2 });
  });

  test.for([
    ["before anything was seen", [], "fell back to OFFLINE while booting"],
    ["while booting", ["ENGINE.BOOTING"], "fell back to OFFLINE while booting"],
    [
      "before the first policy update",
      ["ENGINE.BOOTING", "ENGINE.ROLLING"],
      "before its first policy update",
    ],
  ] as const)("is one that ends %s", ([, looks, text]) => {
    const story = aboutToStart();
    story.starts();
    for (const status of looks) story.look(status, { step: 1 });
    story.look("ENGINE.OFFLINE", { step: 1, detail: "boom" });
    expect(story.known.failures).toBe(1);
    expect(story.known.last_failure?.text).toContain(text);
    expect(story.known.last_failure?.text).toContain("boom");
    expect(story.alarms).toEqual(["start-failed"]);
  });

  test("is made good by a policy update: the engine is started again at once when it goes then", () => {
    const story = aboutToStart();
    story.starts();
    story.look("ENGINE.OFFLINE", { step: null });
    story.look("ENGINE.OFFLINE", { step: null });
    story.starts();
    story.look("ENGINE.ROLLING", { step: 1 });
    expect(story.known.failures).toBe(1);
    story.look("ENGINE.ROLLING", { step: 2 });
    expect(story.known.failures).toBe(0);
    // The engine's process is new: it knows no step.
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("start");
    expect(story.known.failures).toBe(0);
  });
});

describe("a start whose answer was lost", () => {
  test("lets nobody start until it cannot arrive any more, and is then counted as failed", () => {
    const story = aboutToStart();
    story.starts("dies");
    // The process could live for 15 minutes, and its call be on its way for one more.
    for (let minute = 1; minute <= 15; minute += 1)
      expect(story.look("ENGINE.OFFLINE", { step: null }).kind, `minute ${minute}`).toBe("wait");
    expect(story.look("ENGINE.OFFLINE", { step: null })).toEqual({
      kind: "wait",
      reason: "a pause after a failed start",
    });
    expect(story.known.last_failure?.text).toContain("the answer was lost");
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("start");
  });

  test("is known to have arrived when the engine boots", () => {
    const story = aboutToStart();
    story.starts({ kind: "unclear", words: "timed out" });
    expect(story.look("ENGINE.BOOTING").kind).toBe("wait");
    expect(story.look("ENGINE.ROLLING").kind).toBe("none");
    expect(story.known.start).toMatchObject({ seen: "up", answer: "unclear" });
  });

  test("is waited for in spite of another wish, and stopped when it arrives", () => {
    const story = aboutToStart();
    story.starts("dies");
    story.desired = running(2, { restart: "r-1" });
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("wait");
    story.desired = stopped(3);
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("wait");
    expect(story.look("ENGINE.BOOTING", { step: null }).kind).toBe("stop");
    story.stops();
    expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("none");
    expect(story.known).toMatchObject({ failures: 0, start: undefined });
  });

  test("is stopped when it boots for too long: it may have been refused", () => {
    const story = aboutToStart();
    story.starts("dies");
    story.look("ENGINE.BOOTING");
    expect(story.look("ENGINE.BOOTING", {}, 29).kind).toBe("wait");
    expect(story.look("ENGINE.BOOTING", {}, 1).kind).toBe("stop");
    story.stops();
    expect(story.look("ENGINE.BOOTING", {}, 1).kind).toBe("stop");
    expect(story.known.failures).toBe(1);
  });
});

describe("a start that the engine refused", () => {
  const refusal = { kind: "refused", words: "'str' object has no attribute 'get'" } as const;

  test("is stopped, since the engine boots for ever, and shown in the engine's words", () => {
    const story = aboutToStart();
    story.starts(refusal);
    expect(story.look("ENGINE.BOOTING").kind).toBe("stop");
    expect(story.alarms).toEqual(["start-failed", "call-failed"]);
    expect(story.known.alarms[0]?.text).toContain(refusal.words);
    story.stops();
    story.look("ENGINE.OFFLINE");
    expect(story.known).toMatchObject({ failures: 1, start: undefined });
  });

  test("is stopped also when it was the last that is tried", () => {
    const story = aboutToStart({ startAttempts: 1 });
    story.starts(refusal);
    expect(story.look("ENGINE.BOOTING").kind).toBe("stop");
    story.stops();
    expect(story.look("ENGINE.OFFLINE").kind).toBe("none");
    expect(story.alarms).toEqual(["gave-up"]);
  });

  test("leaves what somebody else has started alone", () => {
    const story = aboutToStart();
    story.starts(refusal);
    expect(story.look("ENGINE.ROLLING").kind).toBe("none");
    expect(story.known.start).toBeUndefined();
  });
});

test("a start that was never sent, since nobody was there, is tried again without a penalty", () => {
  const story = aboutToStart();
  story.starts({ kind: "unreachable", words: "ECONNREFUSED" });
  expect(story.look("ENGINE.OFFLINE", { step: null }).kind).toBe("start");
  expect(story.known.failures).toBe(0);
});

describe("what is shown", () => {
  test("an engine that runs with another config than the wanted one", () => {
    const story = aboutToStart();
    story.starts();
    story.look("ENGINE.ROLLING");
    story.desired = running(2, { hash: "another" });
    expect(story.look("ENGINE.ROLLING").kind).toBe("none");
    expect(story.alarms).toEqual(["config-differs"]);
  });

  test("an engine that boots for long", () => {
    const story = aboutToStart();
    story.starts();
    story.look("ENGINE.BOOTING");
    expect(story.look("ENGINE.BOOTING", {}, 30).kind).toBe("wait");
    expect(story.alarms).toEqual(["boot-stalled"]);
  });

  test("a stop that failed, until the engine is OFFLINE", () => {
    const story = new Story(stopped());
    story.look("ENGINE.ROLLING");
    story.stops({ kind: "refused", words: "the engine answered success: false" });
    expect(story.look("ENGINE.ROLLING").kind).toBe("stop");
    expect(story.alarms).toEqual(["call-failed"]);
    story.look("ENGINE.OFFLINE");
    expect(story.alarms).toEqual([]);
  });
});
