import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WorkflowOutput } from "../../../../functions/core/protocol.ts";
import { fitOutput, OUTPUT_BYTES } from "../../../../functions/core/rollout/fit-output.ts";

const output = (facts: Partial<WorkflowOutput>): WorkflowOutput => ({
  reward: 1,
  is_success: true,
  metadata: {},
  log_metrics: {},
  ...facts,
});
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe("a result that is too large for the table", () => {
  test("is left alone where it fits, to the byte", () => {
    const exact = output({ metadata: { text: "é".repeat(100) } });
    expect(fitOutput(exact, bytes(exact))).toEqual({ output: exact, shortened: [] });
    expect(fitOutput(exact, bytes(exact) - 1).shortened).toEqual(["metadata.text"]);
  });

  test("loses the largest entries of its metadata first, each with a note of its size", () => {
    const large = output({
      metadata: { big: "x".repeat(400_000), middle: "x".repeat(200_000), small: "kept" },
      log_metrics: { seconds: 3 },
    });
    expect(fitOutput(large)).toEqual({
      output: output({
        metadata: { big: "left out: 400002 bytes", middle: "x".repeat(200_000), small: "kept" },
        log_metrics: { seconds: 3 },
      }),
      shortened: ["metadata.big"],
    });
  });

  test("loses metrics only where they are too large by themselves", () => {
    const curve = Array.from({ length: 200_000 }, () => 1);
    const fitted = fitOutput(output({ metadata: { note: "kept" }, log_metrics: { curve, seconds: 3 } }));
    expect(fitted).toEqual({
      output: output({ metadata: { note: "kept" }, log_metrics: { seconds: 3 } }),
      shortened: ["log_metrics.curve"],
    });
  });

  test("loses all metadata where the names are too many, and no metric; few names are told", () => {
    const metadata = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`name-${n}`, n]));
    const fitted = fitOutput(output({ metadata, log_metrics: { seconds: 3 } }));
    expect(fitted.output).toEqual(output({ log_metrics: { seconds: 3 } }));
    expect(fitted.shortened).toHaveLength(20);
  });

  test("always fits afterwards, with reward and flag as they were", () => {
    const large = fc.record({
      metadata: fc.dictionary(fc.string({ maxLength: 40 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 12 }),
      log_metrics: fc.dictionary(fc.string({ maxLength: 40 }), fc.array(fc.integer()), { maxKeys: 6 }),
    });
    fc.assert(
      fc.property(large, fc.integer({ min: 100, max: 600 }), (facts, limit) => {
        const whole = output(facts);
        const { output: fitted, shortened } = fitOutput(whole, limit);
        expect(bytes(fitted)).toBeLessThanOrEqual(limit);
        expect([fitted.reward, fitted.is_success]).toEqual([1, true]);
        expect(shortened.length > 0).toBe(bytes(whole) > limit);
      }),
    );
  });

  test("does not change what the agent returned", () => {
    const large = output({ metadata: { text: "x".repeat(OUTPUT_BYTES) } });
    fitOutput(large);
    expect(bytes(large.metadata["text"])).toBe(OUTPUT_BYTES + 2);
  });
});
