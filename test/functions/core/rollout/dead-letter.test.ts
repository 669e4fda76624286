import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeadLetter, QueueRecord } from "../../../../functions/core/queue.ts";
import {
  deadLetter,
  isLetterAttribute,
  MESSAGE_LIMIT_BYTES,
} from "../../../../functions/core/rollout/dead-letter.ts";
import { anItem, NOW } from "../items.ts";

const record = (facts: Partial<QueueRecord> = {}): QueueRecord => ({
  messageId: "m-1",
  receipt: "r-1",
  body: '{"task_id":"task-1"}',
  receiveCount: 1,
  sentAt: 0,
  attributes: {},
  ...facts,
});
const facts = { reason: "agent-error" as const, error: "boom", fleet: "main" };
const sizeOf = ({ body, attributes }: DeadLetter) =>
  Object.entries(attributes).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(`${name}String${value}`),
    Buffer.byteLength(body),
  );
const past = (episode: string) => ({
  id: "a",
  episode,
  reason: "agent-error" as const,
  at: 1,
  from: 0,
  step: 1,
});

describe("a dead letter", () => {
  test("is the message's own body with the facts as attributes", () => {
    const rollout = anItem({ attempts: 2, history: [past("ep-1"), past("ep-2")] });
    expect(deadLetter(record(), { ...facts, rollout }, NOW)).toEqual({
      body: '{"task_id":"task-1"}',
      attributes: {
        reason: "agent-error",
        fleet: "main",
        died_at: "2030-01-01T00:00:00.000Z",
        rollout: "run/a/train/0/task-1",
        attempts: "2",
        episodes: "ep-1,ep-2",
        error: "boom",
      },
    });
  });

  test("has no attribute for what is not known: SQS refuses an empty one", () => {
    const letter = deadLetter(record(), { ...facts, error: "", rollout: anItem() }, NOW);
    expect(Object.keys(letter.attributes)).toEqual(["reason", "fleet", "died_at", "rollout", "attempts"]);
  });

  test("shows no secret, and no character that SQS refuses", () => {
    const letter = deadLetter(record(), { ...facts, error: "sk-ajet-abcdefgh \u0000🙂\ud800\n" }, NOW);
    expect(letter.attributes["error"]).toBe("sk-*** \ufffd\ufffd\ufffd\ufffd\n");
  });

  test("keeps the message's own attributes, up to ten in all, and renews those of an earlier letter", () => {
    const own = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`own-${n}`, "x"]));
    const letter = deadLetter(record({ attributes: { reason: "old", ...own } }), facts, NOW);
    expect(letter.attributes["reason"]).toBe("agent-error");
    expect(Object.keys(letter.attributes)).toEqual([
      "reason",
      "fleet",
      "died_at",
      "error",
      "own-0",
      "own-1",
      "own-2",
      "own-3",
      "own-4",
      "own-5",
    ]);
  });

  test("leaves out what has no room beside a body of 1 MiB, and takes what has", () => {
    const full = record({ body: "x".repeat(MESSAGE_LIMIT_BYTES) });
    expect(deadLetter(full, facts, NOW).attributes).toEqual({});
    const room = Buffer.byteLength("fleetStringmain");
    const almost = record({ body: "x".repeat(MESSAGE_LIMIT_BYTES - room) });
    expect(deadLetter(almost, facts, NOW).attributes).toEqual({ fleet: "main" });
  });

  test("gives the place of what has no room to the next that has", () => {
    const large = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`large-${n}`, "x".repeat(2000)]));
    const body = "x".repeat(MESSAGE_LIMIT_BYTES - 1000);
    const letter = deadLetter(record({ body, attributes: { ...large, small: "kept" } }), facts, NOW);
    expect(letter.attributes["small"]).toBe("kept");
  });

  test("is never larger than a message may be, has at most ten attributes, and none is empty", () => {
    const body = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.integer({ min: 1_047_000, max: 1_048_576 }).map((n) => "y".repeat(n)),
    );
    const attributes = fc.dictionary(
      fc.stringMatching(/^[\w-]{1,20}$/),
      fc.string({ minLength: 1, unit: "binary" }),
      {
        maxKeys: 10,
      },
    );
    const words = fc.string({ unit: "binary", maxLength: 3000 });
    fc.assert(
      fc.property(body, attributes, words, words, (text, own, error, key) => {
        const letter = deadLetter(
          record({ body: text, attributes: own }),
          { ...facts, error, rollout: anItem({ key }) },
          NOW,
        );
        expect(letter.body).toBe(text);
        expect(sizeOf(letter)).toBeLessThanOrEqual(MESSAGE_LIMIT_BYTES);
        expect(Object.keys(letter.attributes).length).toBeLessThanOrEqual(10);
        expect(Object.values(letter.attributes)).not.toContain("");
      }),
      { numRuns: 50 },
    );
  });
});

test("a redrive knows which attributes a letter added", () => {
  expect(["reason", "episodes", "priority"].map(isLetterAttribute)).toEqual([true, true, false]);
});
