import { expect, test } from "vitest";
import { RateMeter } from "../../../cli/push/progress.ts";

test("the rate is over the whole push, and the time left follows from it", () => {
  let now = 1000;
  const meter = new RateMeter(1000, () => now);
  expect(meter.words()).toEqual({ rate: "–", left: "–" });
  now += 2000;
  meter.add(10);
  expect(meter.words()).toEqual({ rate: "5.0", left: "3 min 18 s" });
  now += 2000;
  meter.add(390);
  expect(meter.words()).toEqual({ rate: "100", left: "6 s" });
});
