import type { Transcript, TranscriptExtra } from "../../../../functions/core/transcript/transcript.ts";

export function sampleExtra(more: Partial<TranscriptExtra> = {}): TranscriptExtra {
  return {
    fleet: "main",
    engine: "main",
    rollout: "run/monday/train/0/gsm8k-17",
    run: "monday",
    task_id: "gsm8k-17",
    repeat: 0,
    episode_type: "train",
    attempt: "a1b2.1",
    episode: "e-1",
    global_step: 3,
    claimed_at: "2026-03-01T10:00:00.000Z",
    ended_at: "2026-03-01T10:00:09.000Z",
    reason: "ended",
    reward: 1,
    model_calls: 1,
    log: [],
    ...more,
  };
}

export function sampleTranscript(more: Partial<TranscriptExtra> = {}): Transcript {
  const extra = sampleExtra(more);
  return {
    schema_version: "ATIF-v1.8",
    session_id: extra.rollout,
    trajectory_id: extra.attempt,
    agent: { name: extra.fleet, version: "$LATEST" },
    steps: [
      { step_id: 1, source: "user", message: "What is 6 times 7?" },
      { step_id: 2, source: "agent", message: "42", llm_call_count: 1, extra: { call: 1 } },
    ],
    final_metrics: { total_steps: 2 },
    extra,
  };
}
