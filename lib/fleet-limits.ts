/** What follows from a fleet's settings, and the limits that more than one of them decides. */
import { leastDeliveries, SHORT_WAITS } from "../functions/contract/deliveries.ts";
import { agentFaults } from "./agent-settings.ts";
import type { DeploymentSettings, FleetSettings } from "./settings-schema.ts";

type Concurrency = Pick<FleetSettings, "maxEpisodes" | "episodesPerInvocation">;
/** Lambda's bounds of an event source's maximum concurrency. */
const CONCURRENCY = { least: 2, most: 1000 } as const;
/** A larger batch needs a window, says Lambda. */
const LARGEST_BATCH_WITHOUT_WINDOW = 10;

/** How many invocations run at once, at most. */
export function maximumConcurrency(fleet: Concurrency): number {
  return Math.max(CONCURRENCY.least, Math.ceil(fleet.maxEpisodes / fleet.episodesPerInvocation));
}

/** Messages per invocation: `episodesPerInvocation`, or fewer where all invocations would exceed `maxEpisodes`. */
export function batchSize(fleet: Concurrency): number {
  return Math.max(1, Math.floor(fleet.maxEpisodes / maximumConcurrency(fleet)));
}

/** What works, but hardly as it was meant, without the fleet's name. */
export function fleetRemarks(fleet: Concurrency): string[] {
  const { maxEpisodes, episodesPerInvocation } = fleet;
  const batch = batchSize(fleet);
  if (maxEpisodes >= CONCURRENCY.least * episodesPerInvocation || batch === episodesPerInvocation) return [];
  return [
    `maxEpisodes: ${maxEpisodes} is less than two invocations of ${episodesPerInvocation} (episodesPerInvocation), and an event ` +
      `source starts at least two: each takes ${batch} at most. Set episodesPerInvocation to ${batch}, or maxEpisodes to ` +
      `${CONCURRENCY.least * episodesPerInvocation} or more`,
  ];
}

/** One text per fault, without the fleet's name: what is wrong and what to change. */
export function fleetFaults(fleet: FleetSettings): string[] {
  return [
    ...concurrencyFaults(fleet),
    ...batchFaults(fleet),
    ...reservedFaults(fleet),
    ...timeFaults(fleet),
    ...agentFaults(fleet),
  ];
}

/** What polling, a cold start and the answer of a batch take beside a window and the function's own time, s. */
const DELIVERY_SECONDS = 30;

/**
 * SQS hides a message from its receive on, Lambda gathers a batch for up to the window and then calls the function: were
 * the message to be seen again before the function has ended, a copy of it would run beside it.
 */
export function visibilityFaults(
  { batchWindowSeconds, timeoutSeconds }: FleetSettings,
  { visibilityMarginSeconds }: DeploymentSettings,
): string[] {
  const needed = batchWindowSeconds + DELIVERY_SECONDS;
  // Without a window a message is handed over as soon as it is received.
  if (batchWindowSeconds === 0 || visibilityMarginSeconds >= needed) return [];
  return [
    `batchWindowSeconds: a message is hidden for timeoutSeconds + visibilityMarginSeconds (${timeoutSeconds + visibilityMarginSeconds} s), and may take ` +
      `batchWindowSeconds + timeoutSeconds + ${DELIVERY_SECONDS} (${needed + timeoutSeconds} s), or it runs twice at once: ` +
      `raise visibilityMarginSeconds to ${needed} or lower batchWindowSeconds, found ${batchWindowSeconds}`,
  ];
}

/** The same for what the fleets share. */
export function deploymentFaults(deployment: DeploymentSettings): string[] {
  return [...ttlFaults(deployment), ...deliveryFaults(deployment)];
}

function ttlFaults({ rolloutTtlDays, messageRetentionDays }: DeploymentSettings): string[] {
  if (rolloutTtlDays > messageRetentionDays) return [];
  return [
    `rolloutTtlDays: expected more than messageRetentionDays (${messageRetentionDays}), or a message outlives what is known ` +
      `about its rollout and runs again, found ${rolloutTtlDays}: raise it to ${messageRetentionDays + 1}`,
  ];
}

function deliveryFaults({ maxReceiveCount, messageRetentionDays: days }: DeploymentSettings): string[] {
  const hours = days * 24;
  const least = leastDeliveries(days);
  if (maxReceiveCount >= least) return [];
  return [
    `maxReceiveCount: expected at least ${least}, since waiting uses up deliveries: one an hour for messageRetentionDays ` +
      `(${days} × 24 = ${hours}) and ${SHORT_WAITS} with shorter waits, found ${maxReceiveCount}: raise it to ${least} ` +
      `or shorten messageRetentionDays`,
  ];
}

function concurrencyFaults(fleet: FleetSettings): string[] {
  const needed = maximumConcurrency(fleet);
  if (needed <= CONCURRENCY.most) return [];
  const perInvocation = Math.ceil(fleet.maxEpisodes / CONCURRENCY.most);
  const episodes = fleet.episodesPerInvocation * CONCURRENCY.most;
  return [
    `maxEpisodes: ${fleet.maxEpisodes} at ${fleet.episodesPerInvocation} per invocation need ${needed} invocations at once, ` +
      `and an event source has ${CONCURRENCY.most} at most: raise episodesPerInvocation to ${perInvocation} or lower maxEpisodes to ${episodes}`,
  ];
}

function batchFaults(fleet: FleetSettings): string[] {
  const batch = batchSize(fleet);
  if (batch <= LARGEST_BATCH_WITHOUT_WINDOW || fleet.batchWindowSeconds >= 1) return [];
  return [
    `batchWindowSeconds: expected at least 1, because a batch of ${batch} is larger than ${LARGEST_BATCH_WITHOUT_WINDOW}, found 0: ` +
      `set it to 1 or lower episodesPerInvocation to ${LARGEST_BATCH_WITHOUT_WINDOW}`,
  ];
}

/** What the event source starts above the reserve is throttled, and its messages come back late. */
function reservedFaults(fleet: FleetSettings): string[] {
  const needed = maximumConcurrency(fleet);
  if (fleet.reservedConcurrency === undefined || fleet.reservedConcurrency >= needed) return [];
  return [
    `reservedConcurrency: expected at least the ${needed} invocations that maxEpisodes and episodesPerInvocation ask for, ` +
      `found ${fleet.reservedConcurrency}: raise it to ${needed} or lower maxEpisodes`,
  ];
}

/** A function's environment holds 4 KB; each fleet takes up to 400 bytes of the lifecycle function's. */
const MOST_FLEETS = 8;

/** One text per engine that too many fleets work on. */
export function environmentFaults(fleets: Readonly<Record<string, FleetSettings>>): string[] {
  const byEngine = Object.groupBy(Object.values(fleets), ({ engine }) => engine);
  return Object.entries(byEngine).flatMap(([engine, found = []]) =>
    found.length <= MOST_FLEETS
      ? []
      : [
          `fleets: expected at most ${MOST_FLEETS} on engine ${engine}, because a function's environment holds 4 KB, ` +
            `found ${found.length}: put some into another deployment (another stackName)`,
        ],
  );
}

function timeFaults(fleet: FleetSettings): string[] {
  const needed = fleet.minEpisodeSeconds + fleet.settleMarginSeconds;
  if (needed < fleet.timeoutSeconds) return [];
  return [
    `timeoutSeconds: expected more than minEpisodeSeconds + settleMarginSeconds (${needed}), or no episode is ever claimed, ` +
      `found ${fleet.timeoutSeconds}: raise it or lower those`,
  ];
}
