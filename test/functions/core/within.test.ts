import { expect, test } from "vitest";
import { within } from "../../../functions/core/within.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const begin = () => {
  const clock = new FakeClock(0, "manual");
  const work = Promise.withResolvers<string>();
  return { clock, work, came: within(clock, 1000, work.promise) };
};

test("work that is done in time gives what it came to, and leaves no timer behind", async () => {
  const { clock, work, came } = begin();
  await clock.advance(999);
  work.resolve("done");
  expect([await came, clock.sleeping]).toEqual(["done", 0]);
});

test("work that fails in time fails", async () => {
  const { clock, work, came } = begin();
  work.reject(new Error("no table"));
  await expect(came).rejects.toThrow("no table");
  expect(clock.sleeping).toBe(0);
});

test("nobody waits for work that takes longer, however it ends", async () => {
  const { clock, work, came } = begin();
  await clock.advance(1000);
  expect(await came).toBeUndefined();
  work.reject(new Error("no table"));
  expect(await came).toBeUndefined();
});
