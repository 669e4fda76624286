import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLateResultStore } from "../../functions/adapters/table/late-results.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import type { PastAttempt } from "../../functions/core/rollout/item.ts";
import { anItem, anOpenItem } from "../functions/core/items.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { sortie } from "./here.ts";

const NOW = Date.parse("2026-05-04T10:00:00.000Z");
const MINUTE = 60_000;
let deployed: Deployed;
const here = async (...args: string[]) =>
  await sortie(args, { environment: deployed.environment, now: () => NOW });

beforeAll(async () => {
  deployed = await startDeployment(["main", "math"]);
  const store = createRolloutStore({ ...deployed.table, ttlDays: 30 });
  const past = (facts: Partial<PastAttempt> = {}): PastAttempt => ({
    id: "i.1",
    episode: "e1",
    reason: "ended",
    at: NOW - 5 * MINUTE,
    from: NOW - 7 * MINUTE,
    step: 3,
    reward: 0.5,
    calls: 2,
    ...facts,
  });
  const at = (minutes: number) => ({ created_at: NOW - 30 * MINUTE, changed_at: NOW - minutes * MINUTE });
  const items = [
    anItem({
      key: "run/a/train/0/t1",
      task_id: "t1",
      state: "ended",
      history: [past()],
      tries: 1,
      ...at(5),
      confirmed_at: NOW,
      output: JSON.stringify({ is_success: true, metadata: { answer: "4" }, log_metrics: {} }),
    }),
    anItem({
      key: "run/a/train/1/t1",
      task_id: "t1",
      state: "dead",
      attempts: 1,
      tries: 3,
      letter: "sent",
      history: [
        past({ reason: "engine-left-rolling", reward: undefined, calls: undefined, step: null }),
        past({ reason: "agent-error", reward: undefined, detail: "TypeError: \u001b[2Jboom" }),
      ],
      ...at(2),
    }),
    anItem({ key: "run/a/train/0/old", task_id: "old", engine: "main", state: "ended", ...at(180) }),
    anItem({
      fleet: "math",
      key: "run/m/eval/0/t1",
      task_id: "t1",
      state: "waiting",
      episode_type: "eval",
      ...at(1),
    }),
    { ...anItem({ key: "message/1", state: "waiting", letter: "sent", ...at(20) }) },
    anOpenItem(
      { key: "run/a/train/0/open", task_id: "open", engine: "main", ...at(3) },
      { claimed_at: NOW - 3 * MINUTE, expires_at: NOW + 29 * MINUTE, episode: "e9", global_step: 4 },
    ),
    anOpenItem(
      {
        key: "run/a/train/0/late",
        task_id: "late",
        engine: "main",
        state: "reporting",
        tries: 2,
        history: [past({ reason: "straggler", reward: undefined })],
        ...at(40),
      },
      {
        claimed_at: NOW - 40 * MINUTE,
        expires_at: NOW - 8 * MINUTE,
        episode: "e8",
        result: { reward: 1, is_success: true, metadata: {}, log_metrics: {} },
        result_at: NOW - 39 * MINUTE,
        gone_since: NOW - 9 * MINUTE,
      },
    ),
  ];
  for (const item of items) await store.move(undefined, { ...item, stamp: item.key });
  const late = { v: 1, id: "i.1", episode: "e\u001b7", at: NOW - MINUTE, reward: 0.25 } as const;
  await createLateResultStore({ ...deployed.table, ttlDays: 30 }).note("main", "run/a/train/0/open", late);
});
afterAll(async () => await deployed[Symbol.asyncDispose]());

describe("sortie episodes", () => {
  const keys = async (...args: string[]) =>
    ((await here("episodes", "--json", ...args)).json() as { key: string }[]).map(({ key }) => key);

  test("lists the rollouts of two hours, newest change first, of all fleets", async () => {
    expect(await keys()).toEqual([
      "run/m/eval/0/t1",
      "run/a/train/1/t1",
      "run/a/train/0/open",
      "run/a/train/0/t1",
      "message/1",
      "run/a/train/0/late",
    ]);
    expect(await keys("--since", "1d")).toContain("run/a/train/0/old");
    expect(await keys("--since", "150s")).toEqual(["run/m/eval/0/t1", "run/a/train/1/t1"]);
    expect(await keys("--limit", "2")).toEqual(["run/m/eval/0/t1", "run/a/train/1/t1"]);
  });

  test("of a fleet, a state, a task, and all three", async () => {
    expect(await keys("--fleet", "math")).toEqual(["run/m/eval/0/t1"]);
    expect(await keys("--state", "dead")).toEqual(["run/a/train/1/t1"]);
    expect(await keys("--task", "t1")).toEqual(["run/m/eval/0/t1", "run/a/train/1/t1", "run/a/train/0/t1"]);
    expect(await keys("--task", "t1", "--state", "ended", "--fleet", "main")).toEqual(["run/a/train/0/t1"]);
  });

  test("as a table says how each stands", async () => {
    const { out } = await here("episodes", "--task", "t1");
    const rows = out.split("\n").map((line) =>
      line
        .split("│")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
    expect(rows[1]).toEqual(["rollout", "state", "last attempt", "reward", "tries", "changed, ago"]);
    expect(rows).toContainEqual(["run/a/train/1/t1", "dead", "agent-error", "–", "2", "2 min"]);
    expect(rows).toContainEqual(["run/a/train/0/t1", "ended", "ended", "0.5", "1", "5 min"]);
  });

  test("tell, one by one, what their agent returned beside the reward", async () => {
    const { out } = await here("rollout", "run/a/train/0/t1");
    expect(out).toContain('   metadata {"answer":"4"}\n');
    expect(out).not.toContain("log_metrics");
  });

  test("--open lists those that hold an episode, oldest claim first", async () => {
    expect(await keys("--open")).toEqual(["run/a/train/0/late", "run/a/train/0/open"]);
    expect(await keys("--open", "--task", "open")).toEqual(["run/a/train/0/open"]);
    expect(await keys("--open", "--limit", "1")).toHaveLength(1);
    const { out } = await here("episodes", "--open");
    expect(out).toMatch(/│ run\/a\/train\/0\/late │ reporting │ e8 +│ 1 +│ 2 +│ 40 min +│ 8 min ago +│/);
    expect(out).toMatch(/│ run\/a\/train\/0\/open │ running +│ e9 +│ 4 +│ 1 +│ 3 min +│ in 29 min +│/);
  });

  test("that are none say so", async () => {
    expect((await here("episodes", "--task", "nothing")).out).toBe(
      "No such rollout has changed in the last 2 h.\n",
    );
    expect((await here("episodes", "--open", "--fleet", "math")).out).toBe("No episode is open.\n");
    expect((await here("episodes", "--task", "nothing", "--json")).json()).toEqual([]);
  });

  test.each([
    [["--since", "yesterday"], "Expected a span such as 90s, 30m, 2h or 7d."],
    [["--state", "vanished"], "Allowed choices are waiting, running, reporting, ended, unknown, lost, dead."],
    [["--open", "--state", "dead"], "cannot be used with option"],
  ])("%j is a fault of the command line", async (args, message) => {
    const { code, err } = await here("episodes", ...args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});

describe("sortie rollout", () => {
  test("tells the history of one that died", async () => {
    expect((await here("rollout", "run/a/train/1/t1")).out).toBe(
      `Rollout run/a/train/1/t1 of fleet main: dead (1 of its attempts used up)
Task t1, repeat 0, train, on engine engine-1.
First claimed 2026-05-04 09:30:00 UTC (30 min ago), last changed 2026-05-04 09:58:00 UTC (2 min ago).

Before these, 1 attempt of which nothing is kept.
2. 2026-05-04 09:53:00 UTC: claimed episode e1.
   2026-05-04 09:55:00 UTC: the engine left its rolling states, at no cost to the rollout (engine-left-rolling), 2 min later.
3. 2026-05-04 09:53:00 UTC: claimed episode e1 at step 3.
   2026-05-04 09:55:00 UTC: the agent threw an error (agent-error), 2 min later, after 2 model calls.
   TypeError: \ufffd[2Jboom
Its message is among the dead letters (sortie dead show).
`,
    );
  });

  test("tells of a reward, and whether the engine showed it", async () => {
    const { out } = await here("rollout", "run/a/train/0/t1");
    expect(out).toContain("of fleet main: ended\n");
    expect(out).toContain(
      "the engine took the reward, reward 0.5 (ended), 2 min later, after 2 model calls.\n",
    );
    expect(out).toMatch(/\nThe engine's batch showed the reward at 2026-05-04 10:00:00 UTC\.\n$/);
  });

  test("tells of a result that came after its attempt was closed", async () => {
    const { out } = await here("rollout", "run/a/train/0/open");
    expect(out).toContain(
      "\n2026-05-04 09:59:00 UTC: the result of episode e\ufffd7 came too late, reward 0.25: it changed nothing.\n",
    );
    const told = (await here("rollout", "run/a/train/0/open", "--json")).json();
    expect(told).toMatchObject({ late: [{ id: "i.1", reward: 0.25 }] });
  });

  test("tells of an open attempt, and what is wrong with it", async () => {
    const { out } = await here("rollout", "run/a/train/0/late");
    expect(out).toContain("its result is stored, and the engine is being told\n");
    expect(out).toContain(
      "2. 2026-05-04 09:20:00 UTC: claimed episode e8 at step 1, by invocation invocation-1.\n",
    );
    expect(out).toContain("   2026-05-04 09:21:00 UTC: the result was stored, reward 1.\n");
    expect(out).toContain("   The engine does not show the episode since 2026-05-04 09:51:00 UTC.\n");
    expect(out).toContain("   It is open, and expired 8 min ago: the next sweep settles it.\n");
  });

  test("tells of one that was sent again as another", async () => {
    expect((await here("rollout", "message/1")).out).toContain(
      "of fleet main: sent again as a new message, with a key of its own\n",
    );
  });

  test("is found in any fleet, by its key or by the table's own", async () => {
    expect((await here("rollout", "run/m/eval/0/t1", "--json")).json()).toMatchObject({ fleet: "math" });
    expect((await here("rollout", "ROLLOUT#math#run/m/eval/0/t1", "--json")).json()).toMatchObject({
      fleet: "math",
    });
    expect((await here("rollout", "run/m/eval/0/t1", "--fleet", "main")).code).toBe(1);
  });

  test("that is not there says why that may be", async () => {
    const { code, err } = await here("rollout", "run/a/train/9/t1");
    expect(code).toBe(1);
    expect(err).toMatch(
      /^sortie: expected a rollout "run\/a\/train\/9\/t1", found none: check the key .* still in the queue/,
    );
  });
});

test("--unconfirmed lists the train rollouts whose reward the engine's batch has not shown", async () => {
  const listed = (await here("episodes", "--unconfirmed", "--fleet", "main", "--json")).json() as {
    key: string;
  }[];
  expect(listed.map(({ key }) => key)).toEqual(["run/a/train/0/old"]);
  expect((await here("episodes", "--unconfirmed", "--task", "t1", "--fleet", "main")).out).toBe(
    "The engine's batch has shown the reward of every train rollout that ended.\n",
  );
});

test("a task's id finds its rollouts, the newest first", async () => {
  const told = (await here("rollout", "t1", "--fleet", "main", "--json")).json() as { key: string }[];
  expect(told.map(({ key }) => key)).toEqual(["run/a/train/1/t1", "run/a/train/0/t1"]);
  const none = await here("rollout", "t-none");
  expect(none).toMatchObject({ code: 1, out: "" });
  expect(none.err).toMatch(/^sortie: expected a rollout "t-none", found none: check the key/);
});
