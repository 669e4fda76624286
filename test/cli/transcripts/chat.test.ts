import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createRolloutStore } from "../../../functions/adapters/table/rollouts.ts";
import { transcriptStore } from "../../../functions/adapters/transcripts/index.ts";
import { closed } from "../../../functions/core/rollout/transitions.ts";
import { type TranscriptStore, Transcripts } from "../../../functions/core/transcript/transcripts.ts";
import { anItem, anOpenItem, NOW } from "../../functions/core/items.ts";
import { atifFaults } from "../../support/atif.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type Deployed, startDeployment } from "../deployment.ts";
import { sortie } from "../here.ts";
import { BUCKET, createTranscriptBucket } from "./bucket.ts";

const KEY = "run/monday/train/0/task-1";
let deployed: Deployed;
let folder: string;
const here = async (...args: string[]) =>
  await sortie(args, { environment: deployed.environment, columns: 80, now: () => NOW + 60_000 });

const looks = { id: "c1", type: "function", function: { name: "look", arguments: '{"at":"\u001b[2Jx"}' } };
const asked = [
  { role: "user", content: "What is 2 + 2?\nThink." },
  { role: "assistant", content: "", tool_calls: [looks] },
  { role: "tool", tool_call_id: "c1", content: "y".repeat(1000) },
];
const answer = {
  model: "m",
  choices: [{ message: { content: "4" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 1 },
};
const call = {
  path: "/v1/chat/completions",
  contentType: "application/json",
  at: NOW,
  ms: 1500,
  status: 200,
  request: JSON.stringify({ messages: asked }),
  response: JSON.stringify(answer),
};

/** One failed attempt and an ended one, as the function leaves them. */
async function attempts(store: TranscriptStore): Promise<void> {
  const clock = new FakeClock(NOW + 2500);
  const transcripts = new Transcripts({ store, clock, log: () => undefined, kept: "all" });
  const output = { reward: 0.5, is_success: null, metadata: { a: 1 }, log_metrics: {} };
  for (const [n, reason] of (["agent-error", "ended"] as const).entries()) {
    const open = anOpenItem({ key: KEY, run: "monday" }, { id: `i.${n + 1}`, claimed_at: NOW + n * 1000 });
    const recording = transcripts.begin(open, { apiKey: "sk-ajet-c2VjcmV0", question: "?" });
    recording?.call(call);
    recording?.log("warn", "odd", { n });
    recording?.returned(reason === "ended" ? output : undefined, true);
    const detail = reason === "ended" ? undefined : "TypeError: no\n    at agent (agents/mine.ts:3:5)";
    recording?.end({ ...closed(open, { reason, now: NOW + 2500, maxAttempts: 3, detail }), stamp: "s" });
  }
  // Real stores, and a clock that does not wait for them.
  await vi.waitFor(() => expect(transcripts.pending).toBe(0));
}

beforeAll(async () => {
  deployed = await startDeployment(["main"], { TranscriptBucket: BUCKET });
  folder = await mkdtemp(join(tmpdir(), "sortie-chat-"));
  await attempts(await createTranscriptBucket(deployed));
  await attempts(transcriptStore(`file://${folder}`, {}));
  const past = (id: string, reason: "agent-error" | "crashed" | "ended") => {
    return { id, episode: "e", reason, at: NOW, from: NOW, step: 1 };
  };
  const store = createRolloutStore({ ...deployed.table, ttlDays: 1 });
  const history = [past("i.1", "agent-error"), past("i.2", "ended"), past("i.0", "crashed")];
  const facts = { key: KEY, task_id: "task-1", run: "monday", changed_at: NOW, history, tries: 3 };
  await store.move(undefined, anItem({ ...facts, state: "ended" }));
});
afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe("sortie rollout --chat", () => {
  test("prints what was said and heard, attempt by attempt, and of which nothing is kept", async () => {
    const { code, out, err } = await here("rollout", KEY, "--chat");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatchInlineSnapshot(`
      "Rollout run/monday/train/0/task-1 of fleet main: ended

      1. Attempt i.1, at step 1: agent-error, 2.5 s

      user:
        What is 2 + 2?
        Think.

      agent: (not from the model)
        → look("{\\"at\\":\\"\\u001b[2Jx\\"}")
        ←
        yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
        (600 characters more)

      agent: 1.5 s, 9 → 1 tokens, stop
        4

      log:
        00:00:02 warn: odd {"n":0}

      TypeError: no
          at agent (agents/mine.ts:3:5)
      1 model call, 9 tokens asked, 1 answered.

      2. Attempt i.2, at step 1: ended, reward 0.5, 1.5 s

      user:
        What is 2 + 2?
        Think.

      agent: (not from the model)
        → look("{\\"at\\":\\"\\u001b[2Jx\\"}")
        ←
        yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
        (600 characters more)

      agent: 1.5 s, 9 → 1 tokens, stop
        4

      log:
        00:00:02 warn: odd {"n":1}

      metadata {"a":1}
      1 model call, 9 tokens asked, 1 answered.

      Nothing is kept of attempt i.0 (crashed): its function may have died, the
      setting transcripts may not keep it, or it is older than transcriptDays.
      "
    `);
    expect(out).not.toContain("\u001b");
  });

  test("finds a task's rollouts as well, and prints JSON", async () => {
    const { json } = await here("rollout", "task-1", "--chat", "--json");
    expect(json()).toMatchObject([{ trajectory_id: "i.1" }, { trajectory_id: "i.2" }]);
  });

  test("reads a folder, without a deployment", async () => {
    const { code, out } = await here("rollout", "task-1", "--chat", "--from", folder);
    expect(code).toBe(0);
    expect(out).toContain("2. Attempt i.2");
    const none = await here("rollout", "task-2", "--chat", "--from", folder);
    expect(none.err).toContain(`expected transcripts of "task-2" in ${folder}, found none`);
    expect((await here("rollout", "task-1", "--from", folder)).err).toContain(
      "expected --chat beside --from",
    );
  });

  test("of a deployment that keeps none says what to do", async () => {
    await using quiet = await startDeployment();
    const store = createRolloutStore({ ...quiet.table, ttlDays: 1 });
    await store.move(undefined, anItem({ key: KEY }));
    const { code, err } = await sortie(["rollout", KEY, "--chat"], { environment: quiet.environment });
    const told = "set transcripts of a fleet to all, failures or a share";
    expect([code, err]).toEqual([1, expect.stringContaining(told)]);
  });
});

describe("sortie transcripts export", () => {
  test("writes a run's, one line each", async () => {
    const { out } = await here("transcripts", "export", "--run", "monday");
    const lines = out.trim().split("\n");
    const documents = lines.map((line) => JSON.parse(line) as { trajectory_id: string });
    expect(documents.flatMap(atifFaults)).toEqual([]);
    expect(documents.map(({ trajectory_id: id }) => id)).toEqual(["i.1", "i.2"]);
  });

  test("writes them as files", async () => {
    const out = join(folder, "out");
    const ran = await here("transcripts", "export", "--run", "monday", "--format", "atif", "--out", out);
    expect([ran.code, ran.err]).toEqual([0, `2 transcripts written to ${out}\n`]);
    expect(await readdir(out)).toEqual(["i.1.json", "i.2.json"]);
    expect(atifFaults(JSON.parse(await readFile(join(out, "i.1.json"), "utf8")))).toEqual([]);
  });

  test("of a run that is not there says so, and wants a folder for files", async () => {
    const { code, err } = await here("transcripts", "export", "--run", "tuesday");
    const told = 'expected transcripts of run "tuesday" at s3://talks, found none';
    expect([code, err]).toEqual([1, expect.stringContaining(told)]);
    const files = await here("transcripts", "export", "--run", "monday", "--format", "atif");
    expect(files.err).toContain("expected --out with a folder");
  });
});
