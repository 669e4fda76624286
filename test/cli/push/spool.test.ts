import { describe, expect, test } from "vitest";
import { shuffled } from "../../../cli/push/shuffle.ts";
import { Spool } from "../../../cli/push/spool.ts";
import { taskSchema } from "../../../functions/core/protocol.ts";

const spooled = (id: number) => ({
  at: `f:${id}`,
  task: taskSchema.parse({ task_id: `t${id}`, main_query: "ä🙂\u2028\n".repeat(id % 7) }),
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("the spool", () => {
  test("gives back what it got, in its order, up to a limit, again and again", async () => {
    await using spool = await Spool.create();
    const given = Array.from({ length: 5000 }, (_, id) => spooled(id));
    for (const one of given) await spool.add(one);
    expect(spool.count).toBe(5000);
    expect(await all(spool.read())).toEqual(given);
    expect(await all(spool.read({ limit: 3 }))).toEqual(given.slice(0, 3));
  });

  test("gives each once in the seed's order", async () => {
    await using spool = await Spool.create();
    const given = Array.from({ length: 50 }, (_, id) => spooled(id));
    for (const one of given) await spool.add(one);
    const read = async (seed: number) => (await all(spool.read({ seed }))).map(({ at }) => at);
    const first = await read(7);
    expect(first).toEqual(Array.from(shuffled(50, 7), (id) => `f:${id}`));
    expect(first.toSorted()).toEqual(given.map(({ at }) => at).toSorted());
    expect(await read(7)).toEqual(first);
    expect(await read(8)).not.toEqual(first);
  });
});

describe("the shuffled order", () => {
  test("is the seed's alone: these numbers must stay, or a resumed push would be another", () => {
    expect([...shuffled(8, 1)]).toEqual([...shuffled(8, 1)]);
    expect([...shuffled(8, 1)].toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("of none and of one is no puzzle", () => {
    expect([...shuffled(0, 3)]).toEqual([]);
    expect([...shuffled(1, 3)]).toEqual([0]);
  });

  test("puts each number at each place about as often", () => {
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 3000; seed += 1)
      for (const [place, value] of shuffled(3, seed).entries())
        counts.set(`${place}${value}`, (counts.get(`${place}${value}`) ?? 0) + 1);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(120);
    expect(counts.size).toBe(9);
  });
});
