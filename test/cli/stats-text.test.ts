import { describe, expect, test } from "vitest";
import type { Style } from "../../cli/io.ts";
import { staleness, statsText } from "../../cli/stats-text.ts";
import { AT, batch, fleetOf, snapshotOf } from "./samples.ts";

const plain: Style = (_, text) => text;
const shown = (snapshot: Parameters<typeof statsText>[0], secondsLater = 25, columns?: number) =>
  statsText(snapshot, { style: plain, columns, now: () => Date.parse(AT) + secondsLater * 1000 });

/** The cells of the row with this label. */
function row(text: string, label: string): string[] | undefined {
  const rows = text.split("\n").map((line) => line.split("│").map((cell) => cell.trim()));
  return rows.find((cells) => cells[1] === label)?.slice(2, -1);
}

describe("the whole text", () => {
  test("of an engine with two fleets", () => {
    const math = fleetOf(
      {
        attempts: { ended: 4, "agent-error": 2, straggler: 1 },
        ended: 3,
        rewards: 3,
        reward_sum: 2,
        reward_squares: 2,
        ended_without_model_call: 1,
        eval_ended: 1,
        eval_rewards: 1,
        eval_reward_sum: 0.5,
        dead: 1,
        episode_ms: 87_500,
      },
      { reward_mean: 2 / 3, reward_deviation: Math.sqrt(2) / 3 },
    );
    const code = fleetOf(
      { attempts: { unknown: 1 }, unknown: 1 },
      { queue: null, dead_letters: null, open: 0 },
    );
    expect(shown(snapshotOf({ fleets: { math, code } }), 25, 140)).toMatchInlineSnapshot(`
      "Engine main: ENGINE.ROLLING · step 3 · snapshot of 2026-05-04T10:00:00.000Z, 25 s ago

      Batch
      ┌────────────────────────────────────────────────────┬────────────────────────┐
      │ Completed tasks: (current) / (required)            │ 1 / 2                  │
      │ Completed episodes: (current) / (required)         │ 5 / 8                  │
      │ Average episodes per task: (current) / (expected)  │ 2.50 / 4               │
      │ Completed num-dummy tasks: (current) / (required)  │ 1 / 2                  │
      │ Tasks (Number of episodes completed for each task) │ Task-a (4)  Task-b (1) │
      └────────────────────────────────────────────────────┴────────────────────────┘
      Hint: Please run \`ajet-swarm overwatch --swarm-url=<address of the engine>\` to get more details.

      Fleets, since the deployment began
      ┌───────────────────────────────────┬──────┬─────────────────┐
      │                                   │ code │            math │
      ├───────────────────────────────────┼──────┼─────────────────┤
      │ queue: visible                    │    – │              12 │
      │ queue: in flight                  │    – │               8 │
      │ queue: delayed                    │    – │               3 │
      │ dead letters                      │    – │               1 │
      │ open episodes                     │    0 │               8 │
      │ train: ended                      │    0 │               3 │
      │ train: reward, mean ± deviation   │    – │ 0.6667 ± 0.4714 │
      │ train: ended without a model call │    0 │               1 │
      │ eval: ended                       │    0 │               1 │
      │ eval: reward, mean                │    – │             0.5 │
      │ rollouts dead                     │    0 │               1 │
      │ groups short of a dead rollout    │    0 │               0 │
      │ rollouts unknown                  │    1 │               0 │
      │ rollouts lost                     │    0 │               0 │
      │ time per attempt, mean            │  0 s │          12.5 s │
      │ attempts: ended                   │    0 │               4 │
      │ attempts: agent-error             │    0 │               2 │
      │ attempts: straggler               │    0 │               1 │
      │ attempts: unknown                 │    1 │               0 │
      └───────────────────────────────────┴──────┴─────────────────┘
      "
    `);
  });
});

describe("the headline", () => {
  test("says that no step has begun, and what the engine last said", () => {
    const status = {
      engine_status: "ENGINE.BOOTING",
      engine_status_detail: "loading \u001b[2Jweights",
      global_step: null,
    };
    expect(shown(snapshotOf({ status })).split("\n").slice(0, 2)).toEqual([
      "Engine main: ENGINE.BOOTING · no step yet · snapshot of 2026-05-04T10:00:00.000Z, 25 s ago",
      "The engine's last words: loading \ufffd[2Jweights",
    ]);
  });

  test("passes its emphasis to the style", () => {
    const style: Style = (format, text) => `<${format}>${text}</${format}>`;
    const text = statsText(snapshotOf(), { style, columns: undefined, now: () => Date.parse(AT) });
    expect(text.split(" · ")[0]).toBe("<bold>Engine main: ENGINE.ROLLING</bold>");
  });
});

describe("a snapshot older than three minutes", () => {
  const caution =
    "Caution: this snapshot is 3 min 1 s old, expected one each minute: look at the log of " +
    "the lifecycle function, and at whether its schedule is enabled.";

  test("is shown with a caution that says what to check", () => {
    expect(shown(snapshotOf(), 181).split("\n")[2]).toBe(caution);
  });

  test("and a younger one, or one from a clock ahead of ours, without", () => {
    expect(staleness(snapshotOf(), Date.parse(AT) + 180_000)).toBeUndefined();
    expect(staleness(snapshotOf(), Date.parse(AT) - 60_000)).toBeUndefined();
    expect(shown(snapshotOf(), 180)).not.toContain("Caution");
  });
});

describe("the batch", () => {
  test("is missing where the engine did not tell", () => {
    const text = shown(snapshotOf({ pool: null }));
    expect(text).toContain("\nBatch: the engine did not tell.\n");
    expect(text).not.toContain("Completed tasks");
  });

  test("does not pass off details that were left out as nothing", () => {
    const pool = { ...batch, completed_tasks_details: {} };
    const text = shown(snapshotOf({ pool, reduced: ["completed_tasks_details"] }));
    const missing = ["left out of the snapshot: too many tasks"];
    expect(row(text, "Average episodes per task: (current) / (expected)")).toEqual(missing);
    expect(row(text, "Tasks (Number of episodes completed for each task)")).toEqual(missing);
    expect(row(text, "Completed episodes: (current) / (required)")).toEqual(["5 / 8"]);
  });

  test("wraps its many tasks at the width of the terminal", () => {
    const ids = Array.from({ length: 40 }, (_, index) => [`task-${index}`, ["e"]]);
    const pool = { ...batch, completed_tasks_details: Object.fromEntries(ids) };
    const text = shown(snapshotOf({ pool }), 25, 100);
    const widest = Math.max(...text.split("\n").map((line) => line.length));
    expect(widest).toBe(100);
    for (const [id] of ids) expect(text).toContain(`Task-${id} (1)`);
  });

  test("shows task ids without their control characters", () => {
    const pool = { ...batch, completed_tasks_details: { "x\u001b[2J\n": ["e"] } };
    expect(row(shown(snapshotOf({ pool })), "Tasks (Number of episodes completed for each task)")).toEqual([
      "Task-x\ufffd[2J\ufffd (1)",
    ]);
  });
});

describe("train rewards that the engine took", () => {
  test("are not spoken of once it has shown them all", () => {
    expect(shown(snapshotOf())).not.toMatch(/rewards (not|that)/);
  });

  test("and not shown yet are counted", () => {
    const text = shown(snapshotOf({ unconfirmed: 3 }));
    expect(text).toContain("\n\nTrain rewards not yet shown by the engine: 3\n\n");
  });

  test("and never showed are a caution", () => {
    expect(shown(snapshotOf({ unconfirmed: 3, never_confirmed: 2 }))).toContain(
      "\n\nCaution: the engine took 2 train rewards that its batch never showed (3 are not shown yet): look at the " +
        "trainer's log.\n\n",
    );
  });
});

describe("trouble", () => {
  test("stands before the batch: the engine's alarms, and what no sweep could settle", () => {
    const alarms = [{ code: "stalled", since: 1777888860000, text: "nothing has\u0007 moved" }];
    expect(shown(snapshotOf({ alarms, overdue: 2 }))).toContain(
      "\n\nAlarm stalled: nothing has\ufffd moved\n" +
        "Episodes that a dead function left open and the sweep could not settle yet: 2\n\nBatch\n",
    );
    expect(shown(snapshotOf())).not.toMatch(/Alarm|dead function/);
  });
});

describe("the fleets", () => {
  test("show their estimated cost where it is known, and the budget where there is one", () => {
    const spend = {
      usd_today: 0.5,
      usd_total: 12.3456,
      usd_per_ended: 0.000_123_4,
      budget_usd_per_day: null,
      budget_exceeded: false,
    };
    const text = shown(snapshotOf({ fleets: { a: fleetOf({}, { spend }), b: fleetOf() } }));
    expect(row(text, "cost, estimated")).toEqual(["$12.3", "–"]);
    expect(row(text, "cost per ended episode")).toEqual(["$0.000123", "–"]);
    expect(row(text, "budget per day")).toBeUndefined();
    const limited = fleetOf({}, { spend: { ...spend, usd_per_ended: null, budget_usd_per_day: 20 } });
    const second = shown(snapshotOf({ fleets: { a: limited } }));
    expect(row(second, "cost per ended episode")).toEqual(["–"]);
    expect(row(second, "budget per day")).toEqual(["$20"]);
    expect(shown(snapshotOf())).not.toContain("cost");
  });

  test("count the groups that wait in vain for a dead rollout", () => {
    const text = shown(snapshotOf({ fleets: { main: fleetOf({ incomplete: { t1: 2, t2: 1 } }) } }));
    expect(row(text, "groups short of a dead rollout")).toEqual(["2"]);
  });

  test("that are paused or slow down say why", () => {
    const circuit = { since: Date.parse(AT), failures: 14, reason: "agent-error" };
    const fleets = {
      b: fleetOf({}, { circuit }),
      a: fleetOf({}, { paused: "new\u0007 judge" }),
      c: fleetOf(),
    };
    const lines = shown(snapshotOf({ fleets })).split("\n");
    const head = lines.indexOf("Fleets, since the deployment began");
    expect(lines.slice(head + 1, head + 3)).toEqual([
      "Fleet a is paused: new\ufffd judge",
      "Fleet b slows down since 2026-05-04T10:00:00.000Z: 14 attempts in a row failed, the last by agent-error",
    ]);
    expect(lines[head + 3]?.[0]).toBe("┌");
  });

  test("without any, say so", () => {
    expect(shown(snapshotOf({ fleets: {} }))).toContain("\nFleets: none works on this engine.\n");
  });

  test("show no mean of nothing", () => {
    const text = shown(snapshotOf());
    expect(row(text, "train: reward, mean ± deviation")).toEqual(["–"]);
    expect(row(text, "eval: reward, mean")).toEqual(["–"]);
    expect(row(text, "time per attempt, mean")).toEqual(["–"]);
    expect(text).not.toContain("attempts:");
  });

  test("show a mean of 0 as 0", () => {
    const totals = { rewards: 2, eval_ended: 2, eval_rewards: 2, eval_reward_sum: 0 };
    const fleets = { main: fleetOf(totals, { reward_mean: 0, reward_deviation: 0 }) };
    const text = shown(snapshotOf({ fleets }));
    expect(row(text, "train: reward, mean ± deviation")).toEqual(["0 ± 0"]);
    expect(row(text, "eval: reward, mean")).toEqual(["0"]);
  });
});
