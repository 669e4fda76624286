/** How an attempt can end: exactly one of these. The table, the stats, metrics and dead letters use these codes. */
export const reasons = {
  ended: "the engine took the reward",
  "agent-error": "the agent threw an error",
  "agent-aborted": "the agent asked for another attempt",
  "agent-discarded": "the agent gave the episode back",
  "agent-refused": "the agent refused the request",
  "agent-unreachable": "nobody answered where the agent should be, or something before it did",
  "agent-busy": "the agent had no room for the episode",
  "agent-lost": "the connection to the agent broke before its answer",
  "model-error": "the model failed, as the agent says",
  "invalid-output": "the agent returned what the trainer cannot use",
  deadline: "the agent was not done at the episode's deadline",
  "episode-lost": "the engine no longer considered the episode ours",
  "engine-left-rolling": "the engine left its rolling states",
  "engine-refused": "the engine refused the end",
  "engine-unreachable": "the engine did not answer",
  straggler: "the engine's GPUs waited for this episode longer than the grace",
  disturbed: "another agent ended or blocked the thread that this one shared",
  suspected:
    "the thread or process of several agents died, and any of them may be why: the next attempt runs alone",
  crashed: "the function died",
  expired: "the episode was found open after its expiry",
  unknown: "whether the engine took the reward cannot be known",
  "training-lost": "the training that the reward was for ended before its batch",
  "invalid-message": "the message is no rollout",
} as const satisfies Record<string, string>;
export type Reason = keyof typeof reasons;

/** Whether the rollout is done with: its reward is where it can be, and another attempt could only deliver it twice. */
export function isOutcome(reason: Reason): reason is "ended" | "unknown" | "training-lost" {
  return reason === "ended" || reason === "unknown" || reason === "training-lost";
}

/** Reasons that the rollout is not to blame for: they use up none of its attempts. Waiting is not failing. */
const withoutPenalty: ReadonlySet<Reason> = new Set([
  "engine-left-rolling",
  "engine-refused",
  "engine-unreachable",
  "straggler",
  "disturbed",
  "suspected",
  "agent-discarded",
  "agent-unreachable",
  "agent-busy",
  "agent-lost",
]);

export function usesUpAnAttempt(reason: Reason): boolean {
  return !withoutPenalty.has(reason);
}
