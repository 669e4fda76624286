/**
 * The names of the metrics that the functions publish and that alarms, the dashboard and pages read. A deployment that runs
 * has them: they do not change.
 */
export const NAMESPACE = "Sortie";

/** By the dimensions `service` (the deployment's name) and `engine`. */
export const engineMetrics = [
  "EngineRolling",
  "EngineUnreachable",
  "EngineStartFailed",
  "EngineCrashed",
  "EngineStalled",
  "GlobalStep",
  "NeverConfirmed",
] as const;
export type EngineMetric = (typeof engineMetrics)[number];

/** By the dimensions `service` and `fleet`. */
export const fleetMetrics = [
  "BudgetExceeded",
  "CircuitOpen",
  "DeadLetters",
  "Ended",
  "EpisodeDuration",
  "EstimatedUsd",
  "OpenEpisodes",
  "OverdueEpisodes",
  "Paused",
  "Reward",
  "Unknown",
  "WaitedSeconds",
  "WaitingMessages",
] as const;
export type FleetMetric = (typeof fleetMetrics)[number];

/** By the dimensions `service`, `fleet` and `reason`. */
export const attemptMetrics = ["Attempts"] as const;
export type AttemptMetric = (typeof attemptMetrics)[number];
