import { describe, expect, test } from "vitest";
import type { TranscriptsKept } from "../../../../functions/contract/transcript-names.ts";
import { closed } from "../../../../functions/core/rollout/transitions.ts";
import { type TranscriptStore, Transcripts } from "../../../../functions/core/transcript/transcripts.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { anAttempt, anItem, anOpenItem, NOW } from "../items.ts";

const secret = { apiKey: "sk-ajet-c2VjcmV0", question: "What is 2 + 2?" };

function keeping(kept: TranscriptsKept, put?: TranscriptStore["put"]) {
  const clock = new FakeClock(NOW);
  const stored = new Map<string, string>();
  const logged: string[] = [];
  const store = { put: put ?? (async (name: string, text: string) => void stored.set(name, text)) };
  const log = (_level: string, message: string) => void logged.push(message);
  return { clock, stored, logged, transcripts: new Transcripts({ store, clock, log, kept }) };
}

/** One attempt of a rollout that ends under `reason`. */
async function attempt(
  { transcripts }: ReturnType<typeof keeping>,
  reason: "ended" | "agent-error",
  key = "run/r:1/train/0/task-1",
): Promise<void> {
  const open = anOpenItem({ key });
  const recording = transcripts.begin(open, secret);
  recording?.log("info", "asking", { key: secret.apiKey });
  recording?.returned(
    reason === "ended"
      ? ({ reward: 0.5, is_success: null, metadata: { a: 1 }, log_metrics: {} } as never)
      : undefined,
    true,
  );
  const item = closed(open, { reason, now: NOW + 1000, maxAttempts: 3, detail: "TypeError: no" });
  recording?.end({ ...item, stamp: "s" });
  // Whatever does not hang is done by then.
  await new Promise(setImmediate);
  await transcripts.flush(1000);
}

describe("a transcript", () => {
  test("has a name by fleet, run and rollout, and says how the attempt ended", async () => {
    const kept = keeping("all");
    await attempt(kept, "agent-error");
    const [[name, text] = []] = [...kept.stored];
    expect(name).toMatch(
      new RegExp(`^main/r_1/[0-9a-z]{22}/${anAttempt().claimed_at}-${anAttempt().id}\\.json$`),
    );
    expect(JSON.parse(text ?? "")).toMatchObject({
      session_id: "run/r:1/train/0/task-1",
      trajectory_id: anAttempt().id,
      steps: [{ message: "What is 2 + 2?" }],
      extra: { reason: "agent-error", detail: "TypeError: no", log: [{ message: "asking" }] },
    });
    expect(text).not.toContain("c2VjcmV0");
  });

  test.each([
    ["none", 0, 0],
    ["failures", 0, 1],
    ["all", 1, 1],
  ] as const)("is kept for %s: of ended attempts %i, of failed ones %i", async (setting, ended, failed) => {
    const kept = keeping(setting);
    await attempt(kept, "ended");
    expect(kept.stored.size).toBe(ended);
    kept.stored.clear();
    await attempt(kept, "agent-error");
    expect(kept.stored.size).toBe(failed);
  });

  test("is kept for a share of the rollouts, always the same ones", async () => {
    const kept = keeping(0.25);
    const keys = Array.from({ length: 1000 }, (_, n) => `run/r/train/0/task-${n}`);
    for (const key of keys) await attempt(kept, "ended", key);
    const first = [...kept.stored.keys()];
    expect(first.length).toBeGreaterThan(200);
    expect(first.length).toBeLessThan(300);
    for (const key of keys) await attempt(kept, "ended", key);
    expect([...kept.stored.keys()]).toEqual(first);
  });

  test("of an attempt that is still open says so", async () => {
    const kept = keeping("all");
    const recording = kept.transcripts.begin(anOpenItem(), secret);
    recording?.end(anItem({ state: "running", attempt: anAttempt() }));
    await kept.transcripts.flush(1000);
    expect([...kept.stored.values()].map((text) => JSON.parse(text).extra.reason)).toEqual(["open"]);
  });

  test("that cannot be kept is logged, and fails nothing", async () => {
    const kept = keeping("all", async () => {
      throw new Error("no bucket");
    });
    await attempt(kept, "ended");
    expect(kept.logged).toEqual(["transcript not kept"]);
  });

  test("whose store hangs is waited for no longer than told", async () => {
    const kept = keeping("all", async () => await new Promise(() => undefined));
    const began = kept.clock.now();
    await attempt(kept, "ended");
    expect(kept.clock.now() - began).toBe(1000);
    expect(kept.logged).toEqual(["transcripts may not be kept: their store is slow"]);
  });

  test("is dropped where too many are on their way", async () => {
    const kept = keeping("all", async () => await new Promise(() => undefined));
    for (let n = 0; n < 51; n += 1) await attempt(kept, "ended");
    expect(kept.logged.filter((message) => message.startsWith("transcript not kept: too many"))).toHaveLength(
      1,
    );
  });
});
