import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { POOL_LAG_MS } from "../../../../functions/core/engine.ts";
import { type PoolInformation, poolInformationSchema } from "../../../../functions/core/protocol.ts";
import type { Attempt } from "../../../../functions/core/rollout/item.ts";
import { isRolling, locateEpisode } from "../../../../functions/core/rollout/locate-episode.ts";
import { anAttempt, aPool, NOW, running } from "../items.ts";

const us = "main/invocation-1.1";
const sight = (pool: PoolInformation, facts: Partial<Attempt> = {}, now = NOW, taskId = "task-1") =>
  locateEpisode(anAttempt(facts), { clientUuid: us, taskId }, pool, now);

describe("while the engine rolls in the batch of the claim", () => {
  test.each(["ENGINE.ROLLING", "ENGINE.ROLLING_POST"])(
    "%s: an episode that we hold is ours",
    (engine_status) => {
      expect(sight(aPool({ engine_status, running_episode_details: { "episode-1": running(us) } }))).toBe(
        "ours",
      );
    },
  );

  test("an episode that was taken back and given to another client is lost", () => {
    expect(sight(aPool({ running_episode_details: { "episode-1": running("main/other.1") } }))).toBe("lost");
  });

  test("our uuid among the clients of completed tasks proves our end, whatever the task is called there", () => {
    const pool = aPool({
      completed_tasks_details: { "task-1": ["episode-1"] },
      completed_tasks_client_uuids: { "task-9": ["other/x.1", us] },
    });
    expect(sight(pool)).toBe("ended");
  });

  test("the episode's uuid among completed ones under another client is somebody else's end", () => {
    const pool = aPool({
      completed_tasks_details: { "task-1": ["episode-1"] },
      completed_tasks_client_uuids: { "task-1": ["main/other.1"] },
    });
    expect(sight(pool)).toBe("lost");
  });

  test("an end under another task, whose episode has our uuid, is none of ours", () => {
    const pool = aPool({
      completed_tasks_details: { "task-2": ["episode-1"] },
      completed_tasks_client_uuids: { "task-2": ["main/other.1"] },
    });
    expect(sight(pool)).toBe("missing");
  });

  test("an episode that is nowhere is gone, and lost once the pool's lag has passed", () => {
    const goneFor = (ms: number) => sight(aPool(), { gone_since: NOW }, NOW + ms);
    expect(sight(aPool())).toBe("missing");
    expect(goneFor(POOL_LAG_MS - 1)).toBe("missing");
    expect(goneFor(POOL_LAG_MS)).toBe("lost");
  });

  test("names of every object are no entries: a task may be called constructor", () => {
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      expect(sight(aPool({ running_episode_details: {} }), { episode: name }, NOW, name)).toBe("missing");
    }
  });
});

describe("when the engine has left the batch of the claim", () => {
  test.each([
    ["ENGINE.WEIGHT_SYNCING", 1],
    ["ENGINE.OFFLINE", 1],
    ["ENGINE.ROLLING", 2],
    ["ENGINE.BRAND_NEW", 1],
    [null, null],
  ])(
    "%s at step %s: what is not to be seen is past, however long it is gone",
    (engine_status, global_step) => {
      const pool = aPool({ engine_status, global_step });
      expect(sight(pool)).toBe("batch-over");
      expect(sight(pool, { gone_since: NOW - 10 * POOL_LAG_MS })).toBe("batch-over");
    },
  );

  test("a running entry that the engine still lists outside its rolling states does not count", () => {
    const running_episode_details = { "episode-1": running(us) };
    expect(sight(aPool({ engine_status: "ENGINE.WEIGHT_SYNCING", running_episode_details }))).toBe(
      "batch-over",
    );
  });

  test("an episode that we hold is ours even if the step was read just before it rose", () => {
    expect(sight(aPool({ global_step: 2, running_episode_details: { "episode-1": running(us) } }))).toBe(
      "ours",
    );
  });

  const emptied = aPool({
    engine_status: "ENGINE.WEIGHT_SYNCING",
    completed_tasks_details: { "task-1": ["episode-1"] },
  });

  test("with the clients emptied, our episode's uuid still proves the end while no discard was possible", () => {
    expect(sight(emptied, { result_at: NOW }, NOW + 239_999)).toBe("ended");
    expect(sight(emptied, { claimed_at: NOW }, NOW + 239_999)).toBe("ended");
  });

  test.each([1, 3])(
    "a new batch names its first clients while it still shows the old ends: ours counts (step %d)",
    (step) => {
      const stale = aPool({
        global_step: step,
        completed_tasks_details: { "task-1": ["episode-1"] },
        completed_tasks_client_uuids: { "task-1": ["main/other.1"], "task-7": ["main/other.2"] },
      });
      expect(sight(stale, { global_step: 2 })).toBe("ended");
      expect(sight(stale, { global_step: 2, claimed_at: NOW - 240_000 })).toBe("batch-over");
    },
  );

  test("an end is not somebody else's before a client is named for each end of the task", () => {
    const pool = aPool({
      completed_tasks_details: { "task-1": ["episode-0", "episode-1"] },
      completed_tasks_client_uuids: { "task-1": ["main/other.1"] },
    });
    expect(sight(pool)).toBe("ended");
  });

  test("with the clients emptied, the uuid proves nothing once the episode could have been given away again", () => {
    expect(sight(emptied, { result_at: NOW }, NOW + 240_000)).toBe("batch-over");
    expect(sight(emptied, { claimed_at: NOW - 1000, discard_timeout: 1 }, NOW)).toBe("batch-over");
  });
});

/** The pools that the real engine showed. */
function recorded(situation: string): PoolInformation[] {
  const file = new URL("../../../data/engine-traces.json", import.meta.url);
  const all = JSON.parse(readFileSync(file, "utf8")) as {
    name: string;
    steps: { path?: string; answer?: object | null }[];
  }[];
  const steps = all.find(({ name }) => name === situation)?.steps ?? [];
  return steps
    .filter(({ path }) => path?.endsWith("get_current_batch_rollout_pool_information"))
    .map(({ answer }) => {
      // Placeholders of times, where the engine has numbers.
      const { booting_start_time: _, ...pool } = answer as Record<string, unknown>;
      return poolInformationSchema.parse(pool);
    });
}

describe("in pools that the real engine showed", () => {
  const seen = (
    situation: string,
    client: string,
    episode: string,
    taskId: string,
    facts: Partial<Attempt> = {},
  ) =>
    recorded(situation).map((pool) =>
      locateEpisode(anAttempt({ episode, ...facts }), { clientUuid: client, taskId }, pool, NOW),
    );

  test("an episode is its holder's from the claim on, and lost to everybody else", () => {
    expect(seen("pool_running_episodes", "client-a", "<episode-1>", "t")).toEqual(["ours", "ours"]);
    expect(seen("pool_running_episodes", "client-x", "<episode-1>", "t")).toEqual(["lost", "lost"]);
    expect(seen("pool_running_episodes", "client-b", "<episode-2>", "task-7")).toEqual(["missing", "ours"]);
  });

  test("an end shows only from the report after it on", () => {
    expect(seen("pool_after_ended_episodes", "client-b", "<episode-3>", "task-2")).toEqual([
      "missing",
      "ended",
      "ended",
      "ended",
      "ended",
    ]);
  });

  test("an end counts under the task of the claim although it was reported under another", () => {
    expect(seen("pool_after_ended_episodes", "client-b", "<episode-4>", "task-9").at(-1)).toBe("ended");
  });

  test("through a weight sync an end is seen first by client, then by uuid, then no more", () => {
    expect(seen("pool_after_weight_sync", "client-a", "<episode-1>", "task-1")).toEqual([
      "ended",
      "ended",
      "ended",
      "batch-over",
    ]);
    const long = { claimed_at: NOW - 240_000 };
    expect(seen("pool_after_weight_sync", "client-a", "<episode-1>", "task-1", long)).toEqual([
      "ended",
      "batch-over",
      "batch-over",
      "batch-over",
    ]);
  });

  test("the old batch that a new one still shows says nothing about a new episode", () => {
    const fresh = { global_step: 2 };
    expect(seen("pool_after_weight_sync", "client-a", "<episode-9>", "task-1", fresh).slice(2)).toEqual([
      "missing",
      "missing",
    ]);
  });

  test("what was claimed is past once the engine was stopped, also while the old batch is still shown", () => {
    expect(seen("pool_after_stop", "client-a", "<episode-1>", "task-1")).toEqual([
      "batch-over",
      "batch-over",
    ]);
  });
});

test.each([
  ["ENGINE.ROLLING", true],
  ["ENGINE.ROLLING_POST", true],
  ["ENGINE.WEIGHT_SYNCING", false],
  ["rolling", false],
  [null, false],
])("%s: rolling is %s", (status, rolls) => {
  expect(isRolling(status)).toBe(rolls);
});
