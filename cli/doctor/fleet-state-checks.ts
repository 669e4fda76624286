/** What a fleet does: whether it may claim, whether its rollouts die, and whether its function gets anywhere. */
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import { readSnapshots } from "../../functions/adapters/table/lifecycle.ts";
import type { FleetSnapshot, Snapshot } from "../../functions/core/housekeeping/snapshot.ts";
import type { PastAttempt } from "../../functions/core/rollout/item.ts";
import type { Fleet } from "../deployment.ts";
import { span } from "../format.ts";
import { recentRollouts, type ShownRollout } from "../look-up.ts";
import { counted } from "../push/text.ts";
import { type Check, type CheckPorts, failed, ok, unknown, warning } from "./finding.ts";
import { lastFunctionError } from "./function-log.ts";

type FleetName = Pick<Fleet, "name" | "engine">;

export function fleetStateChecks(ports: CheckPorts, fleet: FleetName): Check[] {
  return [
    { name: `pause ${fleet.name}`, run: async () => await pause(ports, fleet) },
    { name: `circuit ${fleet.name}`, run: async () => await circuit(ports, fleet) },
    { name: `rollouts ${fleet.name}`, run: async () => await dying(ports, fleet) },
    { name: `function ${fleet.name}`, run: async () => await reachesTable(ports, fleet) },
  ];
}

async function pause({ deployment, now }: CheckPorts, { name }: FleetName) {
  const { paused } = await createGateStore(await deployment.table()).read(name);
  if (!paused) return ok("not paused");
  const since = `paused for ${span(now() - paused.at)}`;
  if (paused.by === "budget")
    return warning(
      `${since} by its budget (${paused.why}): it goes on after midnight (UTC), or once budget.usdPerDay is raised and deployed`,
    );
  return warning(`${since}: ${paused.why}; it claims nothing until sortie resume --fleet ${name}`);
}

async function circuit({ deployment, now }: CheckPorts, { name }: FleetName) {
  const table = await deployment.table();
  const { tripped_at: since, failures, last_reason: reason = "" } = await createGateStore(table).read(name);
  if (since === undefined) return ok("closed");
  const recent = await recentRollouts(table, name, { since: since - HOUR_MS, limit: LOOKED_AT });
  const last = lastFailure(recent);
  return failed(
    `open for ${span(now() - since)}: ${failures} attempts failed one after another, the last by ${reason}` +
      `${last?.detail ? ` (${last.detail})` : ""}: ${remedyOf(reason)}; the next probe that ends well closes it`,
  );
}

const HOUR_MS = 3_600_000;
/** Of a fleet's youngest rollouts. */
const LOOKED_AT = 500;

/** By how the last attempt ended. */
const remedies: Readonly<Record<string, string>> = {
  "agent-error": "mend the agent, or the task, and deploy",
  "agent-aborted": "see why the agent asks for another attempt",
  "invalid-output": "mend what the agent returns, and deploy",
  deadline: "see what its model calls wait for, or give it more time (timeoutSeconds)",
  crashed: "look for Runtime exited in the function's log, and raise memoryMb or lower episodesPerInvocation",
  "engine-unreachable": "see whether the engine runs, and whether the functions reach it",
  "episode-lost": "raise discardEpisodeTimeoutSeconds if agents think for longer between model calls",
  "invalid-message": "correct what pushes these messages",
};

function remedyOf(reason: string): string {
  return remedies[reason] ?? "look at the function's log";
}

function lastFailure(rollouts: readonly ShownRollout[]): PastAttempt | undefined {
  return rollouts
    .flatMap(({ history }) => history)
    .filter(({ reason }) => reason !== "ended")
    .toSorted((a, b) => b.at - a.at)[0];
}

async function dying({ deployment, now }: CheckPorts, { name }: FleetName) {
  const table = await deployment.table();
  const recent = await recentRollouts(table, name, { since: now() - HOUR_MS, limit: LOOKED_AT });
  const dead = recent.filter(({ state }) => state === "dead");
  const ended = recent.filter(({ state }) => state === "ended").length;
  if (dead.length === 0) return ok(`none died in the last hour, ${ended} ended`);
  const last = lastFailure(dead);
  const reason = last?.reason ?? "";
  const text =
    `${counted(dead.length, "rollout")} died in the last hour, ${ended} ended; the last of ${reason}` +
    `${last?.detail ? `: ${last.detail}` : ""}; ${remedyOf(reason)}, then sortie dead redrive`;
  return dead.length >= ended ? failed(text) : warning(text);
}

/** So long nobody has got anywhere: several deliveries, and the longest that a message is given back for at first. */
const LOOK_BACK_MS = 15 * 60_000;
const LEAST_SPAN_MS = 8 * 60_000;

/**
 * An invocation that begins is on the fleet's bill at its end, and its claims are open or ended. Where messages stand all
 * along before an engine that rolls, and none of these has moved, no invocation gets as far as the table.
 */
async function reachesTable({ deployment, now }: CheckPorts, { name, engine }: FleetName) {
  const since = new Date(now() - LOOK_BACK_MS).toISOString();
  const seen = await readSnapshots(await deployment.table(), engine, since);
  const states = seen.map((snapshot) => stateIn(snapshot, name));
  const idle = states.lastIndexOf(undefined);
  const [first, last] = [seen[idle + 1], seen.at(-1)];
  if (!first || !last) return ok("nothing is there for it to do, or it does it");
  const lasts = Date.parse(last.at) - Date.parse(first.at);
  if (new Set(states.slice(idle + 1)).size > 1) return ok("invocations get as far as the table");
  if (lasts < LEAST_SPAN_MS) return unknown("too few snapshots of the last minutes say");
  const error = await lastFunctionError(deployment);
  const log = error ? `its log's last error: ${error}` : "look at the end of its log group for what stops it";
  return failed(
    `messages wait before an engine that rolls, and for ${span(lasts)} no invocation has got as far as the table: the ` +
      `function cannot start, is throttled, or its event source is disabled; ${log}`,
  );
}

/** What moves with each invocation, as one text; undefined where there was no call for any. */
function stateIn({ status, fleets }: Snapshot, name: string): string | undefined {
  const fleet: FleetSnapshot | undefined = fleets[name];
  if (!fleet?.queue || fleet.paused !== null || fleet.circuit !== null || fleet.open > 0) return undefined;
  const isRolling = status.engine_status === "ENGINE.ROLLING";
  const messages = fleet.queue.visible + fleet.queue.in_flight;
  if (!isRolling || messages === 0) return undefined;
  return JSON.stringify([fleet.spend?.usd_total ?? null, fleet.totals]);
}
