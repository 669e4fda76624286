import { describe, expect, test } from "vitest";
import type { Task } from "../../functions/core/protocol.ts";
import { askOnce, type FleetFixture, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, aTask, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();

/** What AgentJet's `task.model_dump_json()` gives. */
const plainTask =
  '{"main_query":"What is 2 + 2?","init_messages":[],"task_id":"gsm8k-7","env_type":"no_env","metadata":{"answer":"#### 4"}}';

describe("a message", () => {
  test("that is a plain task, as boto3 sends it, becomes one rewarded train episode", async () => {
    const tasks: Task[] = [];
    const house = await open({
      agent: async (task, episode) => {
        tasks.push(task);
        return await askOnce(task, episode);
      },
    });
    await house.push(plainTask);
    const { records, back } = await house.deliver();
    expect(back).toEqual([]);
    expect(tasks).toEqual([JSON.parse(plainTask)]);
    expect(house.engine.ledger.of("output")).toMatchObject([
      { taskId: "gsm8k-7", outcome: "counted", output: { reward: 1 }, llmCalls: 1 },
    ]);
    const item = await house.item(`message/${records[0]?.messageId}`);
    expect(item).toMatchObject({ state: "ended", attempts: 0, tries: 1, episode_type: "train" });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  });

  test("that is an envelope is run as it says: eval, with its own discard timeout", async () => {
    const discardTimeouts: number[] = [];
    const house: FleetFixture = await open({
      agent: async (task, episode) => {
        const claimed = house.engine.inspect().episodes.filter(({ client_uuid: client }) => client !== "");
        discardTimeouts.push(...claimed.map((record) => record.discard_episode_timeout));
        return await askOnce(task, episode);
      },
    });
    const envelope = { task: aTask(), repeat: 2, run: "night", episode_type: "eval" };
    await house.push(JSON.stringify({ ...envelope, discard_episode_timeout: 33 }));
    expect((await house.deliver()).back).toEqual([]);
    expect(discardTimeouts).toEqual([33]);
    expect(house.engine.ledger.of("claim")).toMatchObject([{ episodeType: "eval", granted: true }]);
    expect(await house.item("run/night/eval/2/task-1")).toMatchObject({ state: "ended", repeat: 2 });
  });
});

const broken: [string, string, RegExp][] = [
  ["is not JSON", "hello", /expected a task as JSON, found 5 characters that begin with a letter/],
  ["is no object", "[1]", /expected a JSON object with a task, found an array of 1/],
  ["has no task_id", '{"main_query":"?"}', /task_id: .*expected string/],
  ["has fields of other types", '{"task_id":7,"metadata":[]}', /task_id: .+; metadata: /],
];

describe("a bad message among good ones", () => {
  test.each(broken)(
    "that %s becomes a dead letter at once, and its neighbours end",
    async (_, body, error) => {
      const house = await open();
      await house.push(aRollout({ task_id: "a" }), body, aRollout({ task_id: "b" }));
      expect((await house.deliver(3)).back).toEqual([]);
      const [letter, ...others] = await house.letters();
      expect(others).toEqual([]);
      expect(letter).toMatchObject({ body, facts: { reason: "invalid-message", fleet: house.fleet } });
      expect(letter?.facts["error"]).toMatch(error);
      expect(await house.item(keyOf("a"))).toMatchObject({ state: "ended" });
      expect(await house.item(keyOf("b"))).toMatchObject({ state: "ended" });
      expect(house.engine.summary()).toMatchObject({ claimsGranted: 2, counted: 2, open: 0 });
      expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
    },
  );

  test("that is the only one to come back is the only one named", async () => {
    const house = await open({
      agent: async (task, episode) => {
        if (task.task_id === "bad") throw new Error("no such tool");
        return await askOnce(task, episode);
      },
    });
    await house.push(
      aRollout({ task_id: "a" }),
      aRollout({ task_id: "bad" }),
      "{",
      aRollout({ task_id: "b" }),
    );
    const { records, back } = await house.deliver(4);
    expect(back).toEqual(
      records.filter(({ body }) => body.includes('"bad"')).map(({ messageId }) => messageId),
    );
    expect(house.engine.summary()).toMatchObject({ counted: 2, aborts: 1, open: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
  });
});

describe("text of any size and kind", () => {
  const limit = 1_048_576;

  test("a task of 1 MiB is run", async () => {
    const house = await open();
    const frame = aRollout({ main_query: "" }).length;
    const body = aRollout({ main_query: "x".repeat(limit - frame) });
    expect(Buffer.byteLength(body)).toBe(limit);
    await house.push(body);
    expect((await house.deliver()).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
  });

  test("1 MiB of something else becomes a dead letter with the body alone, since there is no room", async () => {
    const house = await open();
    const body = "x".repeat(limit);
    await house.push(body);
    expect((await house.deliver()).back).toEqual([]);
    expect(await house.letters()).toEqual([{ body, facts: {} }]);
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  });

  test("emoji pass; a lone surrogate, which no UTF-8 can hold, becomes U+FFFD", async () => {
    const queries: string[] = [];
    const house = await open({
      agent: async (task, episode) => {
        queries.push(task.main_query);
        await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
        return { reward: 0.5, metadata: { "said \ud83d": "🙂 \udc00" } };
      },
    });
    await house.push(aRollout({ task_id: "🎲", main_query: "2 + 2 = 🙂 \ud800?" }));
    expect((await house.deliver()).back).toEqual([]);
    expect(queries).toEqual(["2 + 2 = 🙂 \ufffd?"]);
    expect(house.engine.ledger.of("output")).toMatchObject([
      { taskId: "🎲", output: { reward: 0.5, metadata: { task_id: "🎲", "said \ufffd": "🙂 \ufffd" } } },
    ]);
    expect(await house.item(keyOf("🎲"))).toMatchObject({ state: "ended", task_id: "🎲" });
  });
});
