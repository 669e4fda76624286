import { expect, it } from "vitest";
import { Slots } from "../../../local/event-source/slots.ts";

it("gives places in the order in which they were asked for", async () => {
  const slots = new Slots(1);
  expect(await slots.take()).toBe(true);
  const order: string[] = [];
  const first = slots.take().then(() => order.push("first"));
  const second = slots.take().then(() => order.push("second"));
  slots.give();
  await first;
  expect(order).toEqual(["first"]);
  slots.give();
  await second;
  expect(order).toEqual(["first", "second"]);
});

it("sends everybody away once closed", async () => {
  const slots = new Slots(1);
  await slots.take();
  const waiting = slots.take();
  slots.close();
  expect(await waiting).toBe(false);
  slots.give();
  expect(await slots.take()).toBe(false);
});
