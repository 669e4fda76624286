import { describe, expect, test } from "vitest";
import { createGateStore } from "../../../../functions/adapters/table/gate.ts";
import type { TableUnderTest } from "./servers.ts";

export function gateContract(running: () => TableUnderTest): void {
  const gates = () => createGateStore(running());
  const untouched = { failures: 0, probes: 0 };

  describe("a fleet's gate", () => {
    test("is open where nobody has touched it", async () => {
      expect(await gates().read("g-0")).toEqual(untouched);
    });

    test("counts failures in a row, also those of many at once, until it is reset", async () => {
      const counts = await Promise.all(Array.from({ length: 20 }, () => gates().fail("g-1", "deadline")));
      expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
      expect(await gates().read("g-1")).toEqual({ ...untouched, failures: 20, last_reason: "deadline" });
      await gates().reset("g-1");
      expect(await gates().read("g-1")).toEqual(untouched);
    });

    test("remembers the success that ended a row of failures", async () => {
      await gates().trip("g-7", 100, 200);
      await gates().reset("g-7", 150);
      expect(await gates().read("g-7")).toEqual({ ...untouched, succeeded_at: 150 });
      await gates().fail("g-7", "crashed");
      expect(await gates().read("g-7")).toMatchObject({ failures: 1, succeeded_at: 150 });
    });

    test("is tripped once: who comes later does not put the probe off", async () => {
      await gates().trip("g-2", 100, 200);
      await gates().trip("g-2", 150, 250);
      expect(await gates().read("g-2")).toEqual({ ...untouched, tripped_at: 100, probe_at: 200 });
    });

    test("lets one probe through when it is time, of however many who ask", async () => {
      await gates().trip("g-3", 100, 200);
      expect(await gates().takeProbe("g-3", 199, 300, "early")).toBe(false);
      const taken = await Promise.all(
        Array.from({ length: 20 }, (_, n) => gates().takeProbe("g-3", 200, 300, `caller-${n}`)),
      );
      expect(taken.filter((one) => one)).toHaveLength(1);
      expect(await gates().read("g-3")).toMatchObject({ probe_at: 300, probes: 1 });
    });

    test("that was reset has no probe to give", async () => {
      expect(await gates().takeProbe("g-4", 1000, 2000, "a")).toBe(false);
    });

    test("keeps a pause apart from the circuit", async () => {
      await gates().setPaused("g-5", { at: 1, why: "lunch" });
      await gates().fail("g-5", "crashed");
      await gates().reset("g-5");
      expect(await gates().read("g-5")).toEqual({ ...untouched, paused: { at: 1, why: "lunch" } });
      await gates().setPaused("g-5", undefined);
      expect(await gates().read("g-5")).toEqual(untouched);
    });

    test("takes a budget's pause only where nobody has paused it, and ends only that", async () => {
      const byBudget = { at: 2, why: "spent", by: "budget" as const };
      expect(await gates().setBudgetPause("g-6", byBudget)).toBe(true);
      expect(await gates().read("g-6")).toEqual({ ...untouched, paused: byBudget });
      await gates().setPaused("g-6", { at: 3, why: "lunch" });
      expect(await gates().setBudgetPause("g-6", undefined)).toBe(false);
      expect(await gates().setBudgetPause("g-6", byBudget)).toBe(false);
      expect(await gates().read("g-6")).toEqual({ ...untouched, paused: { at: 3, why: "lunch" } });
      await gates().setPaused("g-6", undefined);
      expect(await gates().setBudgetPause("g-6", byBudget)).toBe(true);
      expect(await gates().setBudgetPause("g-6", undefined)).toBe(true);
      expect(await gates().read("g-6")).toEqual(untouched);
    });
  });
}
