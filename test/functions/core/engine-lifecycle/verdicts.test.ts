import { describe, expect, test } from "vitest";
import { running, Story, stopped } from "./story.ts";

const statuses = [
  "ENGINE.OFFLINE",
  "ENGINE.BOOTING",
  "ENGINE.ROLLING",
  "ENGINE.ROLLING_POST",
  "ENGINE.WEIGHT_SYNCING",
  "ENGINE.WEIGHT_EXPORTING",
  "ENGINE.NEVER_HEARD_OF",
  "unknown",
  "ENGINE.CANNOT_CONNECT",
];

/** By wish, in the order of the statuses. */
const verdicts = {
  absent: ["none", "none", "none", "none", "none", "none", "none", "none", "none"],
  running: ["start", "wait", "none", "none", "wait", "wait", "wait", "wait", "wait"],
  stopped: ["none", "stop", "stop", "stop", "stop", "stop", "stop", "stop", "wait"],
  restart: ["start", "stop", "stop", "stop", "stop", "stop", "stop", "stop", "wait"],
};
const wishes = {
  absent: undefined,
  running: running(),
  stopped: stopped(),
  restart: running(1, { restart: "r-1" }),
};

describe.for(Object.keys(verdicts) as (keyof typeof verdicts)[])("wanted: %s", (wish) => {
  test.for(statuses.map((status, at) => [status, verdicts[wish][at]] as const))(
    "%s: %s",
    ([status, kind]) => {
      expect(new Story(wishes[wish]).look(status).kind).toBe(kind);
    },
  );
});

test("a faulty desired state is shown, and the engine only watched", () => {
  const story = new Story(undefined);
  expect(story.look("ENGINE.OFFLINE", { faults: { "desired-unreadable": "no mapping" } }).kind).toBe("none");
  expect(story.known.alarms).toEqual([{ code: "desired-unreadable", since: story.now, text: "no mapping" }]);
});

describe("a restart", () => {
  test("is a stop, a look at OFFLINE, eight seconds, a start; and only one", () => {
    const story = new Story(running(2, { restart: "r-1" }));
    expect(story.look("ENGINE.ROLLING").kind).toBe("stop");
    story.stops();
    expect(story.look("ENGINE.OFFLINE", {}, 0.05)).toEqual({
      kind: "wait",
      reason: "a pause after the stop",
    });
    expect(story.look("ENGINE.OFFLINE", {}, 7.9 / 60).kind).toBe("wait");
    expect(story.look("ENGINE.OFFLINE", {}, 0.1 / 60).kind).toBe("start");
    story.starts();
    expect(story.look("ENGINE.BOOTING").kind).toBe("wait");
    expect(story.look("ENGINE.ROLLING").kind).toBe("none");
  });

  test("is asked for anew by another request", () => {
    const story = new Story(running(2, { restart: "r-1" }));
    story.look("ENGINE.OFFLINE");
    story.starts();
    expect(story.look("ENGINE.ROLLING").kind).toBe("none");
    story.desired = running(3, { restart: "r-2" });
    expect(story.look("ENGINE.ROLLING").kind).toBe("stop");
  });

  test("goes on after a crash between the stop and its record", () => {
    const story = new Story(running(2, { restart: "r-1" }));
    story.look("ENGINE.ROLLING");
    expect(story.look("ENGINE.OFFLINE").kind).toBe("start");
  });
});

describe("an engine that cannot be reached", () => {
  test("is counted, is an alarm from the third look on, and is asked less and less often", () => {
    const story = new Story(running());
    const looks = [1, 2, 3, 4, 5, 6].map(() => {
      story.look("ENGINE.CANNOT_CONNECT", { detail: "ECONNREFUSED", step: null });
      const { look_again_at = 0 } = story.known.unreachable ?? {};
      return [story.known.unreachable?.count, (look_again_at - story.now) / 1000, story.alarms.join()];
    });
    expect(looks).toEqual([
      [1, 0, ""],
      [2, 0, ""],
      [3, 60, "unreachable"],
      [4, 120, "unreachable"],
      [5, 240, "unreachable"],
      [6, 300, "unreachable"],
    ]);
    expect(story.known.alarms[0]?.text).toContain("ECONNREFUSED");
  });

  test("is forgotten as soon as it answers; what it said before stands until then", () => {
    const story = new Story(running());
    story.look("ENGINE.ROLLING", { step: 4 });
    story.look("ENGINE.CANNOT_CONNECT", { step: null });
    expect(story.known).toMatchObject({
      status: "ENGINE.ROLLING",
      global_step: 4,
      unreachable: { count: 1 },
    });
    expect(story.look("ENGINE.ROLLING", { step: 4 }).kind).toBe("none");
    expect(story.known.unreachable).toBeUndefined();
  });
});

describe("an engine that does not get on", () => {
  const busy = { waiting: 7, pool: { completed_episodes: 3 } };

  test("is an alarm after half an hour in which work waited", () => {
    const story = new Story(running());
    story.look("ENGINE.ROLLING", busy);
    const since = story.now;
    story.look("ENGINE.ROLLING", busy, 29);
    expect(story.alarms).toEqual([]);
    expect(story.look("ENGINE.ROLLING", busy, 1).kind).toBe("none");
    expect(story.alarms).toEqual(["stalled"]);
    story.look("ENGINE.ROLLING", busy, 5);
    expect(story.known.alarms[0]?.since).toBe(since + 30 * 60_000);
    expect(story.known.alarms[0]?.text).toContain("35 minutes");
  });

  test.for([
    ["an episode ended", "ENGINE.ROLLING", { ...busy, pool: { completed_episodes: 4 } }],
    ["another step", "ENGINE.ROLLING", { ...busy, step: 2 }],
    ["another status", "ENGINE.WEIGHT_SYNCING", busy],
    ["no work", "ENGINE.ROLLING", { ...busy, waiting: 0 }],
    ["nobody knows of work", "ENGINE.ROLLING", { ...busy, waiting: null }],
    [
      "a model call answered",
      "ENGINE.ROLLING",
      {
        ...busy,
        pool: { completed_episodes: 3, running_episode_details: { e: { llm_call_count: "9" } } } as never,
      },
    ],
  ] as const)("starts counting again: %s", ([, status, facts]) => {
    const story = new Story(running());
    story.look("ENGINE.ROLLING", busy);
    story.look(status, facts, 29);
    story.look(status, facts, 29);
    expect(story.alarms).toEqual([]);
  });

  test("starts counting again when it could not be looked at for a while", () => {
    const story = new Story(running(), { restartWhenStalled: true });
    story.look("ENGINE.ROLLING", busy);
    story.look("ENGINE.CANNOT_CONNECT", { step: null }, 40);
    expect(story.look("ENGINE.ROLLING", busy).kind).toBe("none");
    expect(story.look("ENGINE.ROLLING", busy, 30).kind).toBe("stop");
  });

  test("a pool that cannot be read is no progress", () => {
    const story = new Story(running());
    story.look("ENGINE.ROLLING", busy);
    story.look("ENGINE.ROLLING", { ...busy, pool: null }, 30);
    expect(story.alarms).toEqual(["stalled"]);
  });

  test("is stopped, and so started anew, where the setting says so; the stop is counted once", () => {
    const story = new Story(running(), { restartWhenStalled: true });
    story.look("ENGINE.ROLLING", busy);
    expect(story.look("ENGINE.ROLLING", busy, 30)).toEqual({ kind: "stop", reason: "the engine stalled" });
    story.stops({ kind: "unclear", words: "no answer" });
    expect(story.look("ENGINE.ROLLING", busy, 1).kind).toBe("stop");
    expect(story.known.failures).toBe(1);
    story.stops();
    story.look("ENGINE.OFFLINE", {}, 1);
    expect(story.look("ENGINE.OFFLINE", {}, 1).kind).toBe("start");
  });

  test("a status that nobody knows is never acted upon", () => {
    const story = new Story(running(), { restartWhenStalled: true });
    story.look("ENGINE.PONDERING", busy);
    expect(story.look("ENGINE.PONDERING", busy, 60).kind).toBe("wait");
    expect(story.alarms).toEqual(["stalled"]);
  });
});
