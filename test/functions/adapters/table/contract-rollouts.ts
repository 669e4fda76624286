import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromAttributes, toAttributes } from "../../../../functions/adapters/table/client.ts";
import { createInvocationStore } from "../../../../functions/adapters/table/invocations.ts";
import { createRolloutStore, rolloutKey } from "../../../../functions/adapters/table/rollouts.ts";
import { type WorkflowOutput, workflowOutputSchema } from "../../../../functions/core/protocol.ts";
import type { RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { anItem, anOpenItem, NOW } from "../../core/items.ts";
import type { TableUnderTest } from "./servers.ts";

let serial = 0;
/** A key that no other test uses. */
export function freshKey(): string {
  serial += 1;
  return `run/r#${serial}/train/0/task#1`;
}

const result: WorkflowOutput = {
  reward: 0.5,
  is_success: true,
  metadata: { a: [1] },
  log_metrics: { m: [1, 2] },
};

export function rolloutContract(running: () => TableUnderTest): void {
  const store = () => createRolloutStore({ ...running(), ttlDays: 2 });
  const raw = async (key: string) => {
    const { client, table } = running();
    const Key = toAttributes(rolloutKey("main", key));
    const { Item } = await client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true }));
    return Item && fromAttributes(Item);
  };

  describe("a rollout's item", () => {
    test("is not there before its first move", async () => {
      expect(await store().read("main", freshKey())).toBeUndefined();
    });

    test("comes back with every field it was written with", async () => {
      const full: RolloutItem = {
        ...anOpenItem(
          { key: freshKey(), state: "reporting", attempts: 1, tries: 2, confirmed_at: null, letter: "owed" },
          {
            result,
            result_at: NOW,
            model_calls: 3,
            failure: { reason: "deadline", detail: "d" },
            gone_since: NOW,
          },
        ),
        history: [
          {
            id: "a",
            episode: "e",
            reason: "ended",
            at: 2,
            from: 1,
            step: null,
            reward: [1, 0.25],
            calls: 0,
            detail: "x",
          },
          { id: "b", episode: "f", reason: "unknown", at: 3, from: 2, step: 4, reward: null },
        ],
      };
      expect(await store().move(undefined, full)).toEqual({ moved: true, item: full });
      expect(await store().read("main", full.key)).toEqual(full);
    });

    test("leaves out what is undefined, and expires so many days after it changed", async () => {
      const { run: _, ...item } = anItem({ key: freshKey(), changed_at: 10_999 });
      await store().move(undefined, item);
      expect(await store().read("main", item.key)).toEqual(item);
      expect(await raw(item.key)).toMatchObject({ expires_ttl: 10 + 2 * 86_400, changed_fleet: "main" });
    });

    test("holds whatever JSON an agent returns: deep, large and tiny numbers, odd names", async () => {
      let deep: unknown = 1;
      for (let level = 0; level < 100; level += 1) deep = [deep];
      const metadata = {
        deep,
        seed: 1.234567890123e19,
        huge: 1e300,
        tiny: 1e-300,
        "": "",
        "a.b#c": null,
        "🙂": "語",
      };
      const item = anOpenItem(
        { key: freshKey(), state: "reporting" },
        { result: { ...result, reward: 1e-200, metadata } },
      );
      expect((await store().move(undefined, item)).moved).toBe(true);
      expect((await store().read("main", item.key))?.attempt?.result).toEqual({
        ...result,
        reward: 1e-200,
        metadata,
      });
    });

    test("holds a result of 300 kB that is all short numbers", async () => {
      const metadata = { tokens: Array.from({ length: 145_000 }, (_, n) => n % 10) };
      const item = anOpenItem({ key: freshKey(), state: "reporting" }, { result: { ...result, metadata } });
      expect((await store().move(undefined, item)).moved).toBe(true);
    });

    test("remembers a reward of any size that a trainer can hold", async () => {
      const past = { id: "a", episode: "e", reason: "ended" as const, at: 2, from: 1, step: 1 };
      const rewards = [3.4e38, -9_007_199_254_740_993_000, 1e-45, 0, -0.1];
      const item = anItem({ key: freshKey(), history: rewards.map((reward) => ({ ...past, reward })) });
      await store().move(undefined, item);
      expect((await store().read("main", item.key))?.history.map(({ reward }) => reward)).toEqual(rewards);
    });

    test("takes a reward too small for the table as zero", async () => {
      const past = {
        id: "a",
        episode: "e",
        reason: "ended" as const,
        at: 2,
        from: 1,
        step: 1,
        reward: 1e-200,
      };
      const item = anItem({ key: freshKey(), history: [past] });
      await store().move(undefined, item);
      expect((await store().read("main", item.key))?.history).toEqual([{ ...past, reward: 0 }]);
    });

    test("is not one of another fleet with the same key", async () => {
      const item = anItem({ key: freshKey() });
      await store().move(undefined, item);
      expect(await store().read("other", item.key)).toBeUndefined();
    });

    test("comes back the same for any result", async () => {
      const results = fc.record({
        reward: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
        is_success: fc.option(fc.boolean()),
        metadata: fc.dictionary(fc.string(), fc.jsonValue()),
        log_metrics: fc.dictionary(fc.stringMatching(/^\w{1,9}$/), fc.integer()),
      });
      await fc.assert(
        fc.asyncProperty(results, async (any) => {
          const json = workflowOutputSchema.parse(JSON.parse(JSON.stringify(any)));
          const item = anOpenItem({ key: freshKey(), state: "reporting" }, { result: json });
          await store().move(undefined, item);
          expect((await store().read("main", item.key))?.attempt?.result).toEqual(json);
        }),
        { numRuns: 20 },
      );
    });
  });

  describe("a move", () => {
    test("from nothing is refused where something stands, and shows it", async () => {
      const first = anItem({ key: freshKey(), stamp: "1" });
      await store().move(undefined, first);
      expect(await store().move(undefined, { ...first, stamp: "2" })).toEqual({ moved: false, found: first });
    });

    test("from something is refused where nothing stands", async () => {
      const item = anItem({ key: freshKey() });
      expect(await store().move(item, { ...item, stamp: "2" })).toEqual({ moved: false, found: undefined });
      expect(await store().read("main", item.key)).toBeUndefined();
    });

    test("replaces the item as a whole", async () => {
      const open = anOpenItem({ key: freshKey() });
      await store().move(undefined, open);
      const { attempt: _, ...rest } = open;
      const closed: RolloutItem = { ...rest, state: "waiting", stamp: "2" };
      expect(await store().move(open, closed)).toEqual({ moved: true, item: closed });
      expect(await store().read("main", open.key)).toEqual(closed);
    });

    test.each<[string, (previous: RolloutItem) => RolloutItem]>([
      ["a stale stamp", (previous) => ({ ...previous, stamp: "older" })],
      ["another state", (previous) => ({ ...previous, state: "reporting" })],
      ["another attempt", (previous) => anOpenItem({ ...previous }, { id: "invocation-2.1" })],
    ])("from %s is refused, changes nothing, and shows what stands", async (_what, wrong) => {
      const open = anOpenItem({ key: freshKey() }, { result });
      await store().move(undefined, open);
      const next = { ...open, state: "ended" as const, stamp: "2" };
      expect(await store().move(wrong(open), next)).toEqual({ moved: false, found: open });
      expect(await store().read("main", open.key)).toEqual(open);
    });

    test("that was sent twice took place, also when its first answer was lost", async () => {
      const previous = anItem({ key: freshKey(), stamp: "1" });
      const next = anOpenItem({ key: previous.key, stamp: "2" });
      await store().move(undefined, previous);
      await store().move(undefined, previous);
      for (let n = 0; n < 2; n += 1)
        expect(await store().move(previous, next)).toEqual({ moved: true, item: next });
      expect(await store().read("main", previous.key)).toEqual(next);
    });

    test.each([["the first"], ["a later"]])(
      "%s: of fifty at once exactly one wins, and the rest see it",
      async (which) => {
        const previous = anItem({ key: freshKey(), stamp: "0" });
        if (which === "a later") await store().move(undefined, previous);
        const movers = Array.from({ length: 50 }, (_, n) =>
          anOpenItem({ key: previous.key, stamp: `s-${n}` }, { id: `i.${n}` }),
        );
        const from = which === "a later" ? previous : undefined;
        const outcomes = await Promise.all(movers.map((next) => store().move(from, next)));
        const winners = outcomes.filter(({ moved }) => moved);
        expect(winners).toHaveLength(1);
        const stands = await store().read("main", previous.key);
        expect(winners).toEqual([{ moved: true, item: stands }]);
        const losers = outcomes.filter(({ moved }) => !moved);
        expect(losers).toEqual(losers.map(() => ({ moved: false, found: stands })));
      },
    );
  });

  describe("an invocation", () => {
    const life = { id: "i-1", fleet: "main", alive_at: NOW, silent_at: NOW + 75_000, ends_at: NOW + 900_000 };

    test("lives from its sign of life until it is done, which may be said twice", async () => {
      const invocations = createInvocationStore(running());
      expect(await invocations.read("i-1")).toBeUndefined();
      await invocations.alive(life);
      expect(await invocations.read("i-1")).toEqual(life);
      await invocations.alive({ ...life, alive_at: NOW + 1 });
      expect(await invocations.read("i-1")).toEqual({ ...life, alive_at: NOW + 1 });
      await invocations.done("i-1");
      await invocations.done("i-1");
      expect(await invocations.read("i-1")).toBeUndefined();
    });
  });
}
