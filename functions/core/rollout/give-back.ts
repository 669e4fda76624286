/**
 * The only place that aborts an episode. The engine reverts an episode for whoever asks, whoever holds it by the time it
 * acts, and may take five minutes over it. So an abort that hits the next holder is made impossible, as far as it lies
 * with the client (`docs/decisions/aborts.md` has the reasoning):
 *
 * 1. it is sent only where a look that is seconds old shows the episode under this very attempt's uuid;
 * 2. not where the engine takes the idle episode back by itself before the abort could arrive;
 * 3. at most once per attempt for as long as an earlier one may be pending, whichever process sent that. The table remembers
 *    it; where the table is away, the process that claimed the episode knows by itself that it has sent none.
 */
import { fleetNameOf, parseClientUuid } from "../client-uuid.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import { describeError, EngineError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { PoolInformation } from "../protocol.ts";
import { isRolling } from "./locate-episode.ts";

export interface AbortStore {
  /**
   * Notes that an abort for this attempt is sent now. False, and nothing noted, where one was noted at or after
   * `unlessSince` (unix ms).
   */
  take(fleet: string, attempt: string, now: number, unlessSince: number): Promise<boolean>;
  /** Takes the note back: the abort was never sent. */
  release(fleet: string, attempt: string): Promise<void>;
}

export interface GiveBackPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Engine;
  readonly aborts: AbortStore;
}

/**
 * How long an abort may be pending: 300 s at the engine, as long again in the line for its threads, and five minutes of
 * clocks that differ. What it did not reach by then, the idle discard has long taken back.
 */
export const ABORT_PENDING_MS = 900_000;
/** The next look tells what came of an abort that is not answered by then. */
const ABORT_PATIENCE_MS = 10_000;
/** A look that is older says nothing about who holds the episode now. */
const LOOK_MS = 2000;
/** From sending an abort until the engine has read it. */
const ARRIVAL_MS = 1000;

/**
 * Gives the episode back if `clientUuid` holds it. `pool` is a look at the engine that was asked for at `askedAt` (unix
 * ms). True: it is given back, or was not held any more; false: nothing can be done now, look again later.
 * `isOwnGrant`: the caller has claimed it, and has sent no abort for it yet; then the table may be away.
 * @throws EngineError where it was not answered, or the pool could not be read again
 * @throws what the store throws, unless `isOwnGrant`
 */
export async function giveBack(
  ports: GiveBackPorts,
  held: { clientUuid: string; episode: string },
  look: { pool: PoolInformation; askedAt: number },
  { isOwnGrant = false } = {},
): Promise<boolean> {
  if (!isHeld(held, look.pool)) return true;
  if (isAboutToBeDiscarded(held.episode, look, ports.clock.now())) return false;
  const note = noteOf(ports, held.clientUuid);
  const noted = await note.take().catch((error: unknown) => {
    if (!isOwnGrant) throw error;
    ports.log("warn", "abort sent without a note", {
      episode: held.episode,
      error: describeError(error, 300),
    });
    return "away" as const;
  });
  if (!noted) return false;
  try {
    const stillHeld = await isStillHeld(ports, held, look);
    if (stillHeld) await abort(ports, held);
    else await note.release();
  } catch (error) {
    if (!mayBeSent(error)) await note.release();
    throw error;
  }
  // The attempt may be in the table although the answer of that write was lost: its settler must know.
  if (noted === "away") await note.take().catch(() => undefined);
  return true;
}

function noteOf({ aborts, clock }: GiveBackPorts, clientUuid: string) {
  const { fleetId = "", attempt = clientUuid } = parseClientUuid(clientUuid) ?? {};
  const fleet = fleetNameOf(fleetId);
  return {
    take: async () => {
      const now = clock.now();
      return await aborts.take(fleet, attempt, now, now - ABORT_PENDING_MS);
    },
    // A note that stays leaves the episode to the engine's discard.
    release: async () => await aborts.release(fleet, attempt).catch(() => undefined),
  };
}

async function abort(
  { engine }: GiveBackPorts,
  { clientUuid, episode }: { clientUuid: string; episode: string },
) {
  await engine.abort(clientUuid, episode, { timeoutMs: ABORT_PATIENCE_MS });
}

/** The note may have taken its time to be written. */
async function isStillHeld(
  { clock, engine }: GiveBackPorts,
  held: { clientUuid: string; episode: string },
  earlier: { askedAt: number },
): Promise<boolean> {
  if (clock.now() - earlier.askedAt <= LOOK_MS) return true;
  const askedAt = clock.now();
  const pool = await engine.pool();
  return isHeld(held, pool) && !isAboutToBeDiscarded(held.episode, { pool, askedAt }, clock.now());
}

function mayBeSent(error: unknown): boolean {
  return error instanceof EngineError && error.call === "abort_episode" && error.failure !== "unreachable";
}

export function isHeld(
  { clientUuid, episode }: { clientUuid: string; episode: string },
  pool: PoolInformation,
): boolean {
  const running = pool.running_episode_details ?? {};
  const holder = Object.hasOwn(running, episode) ? running[episode]?.client_uuid : undefined;
  return isRolling(pool.engine_status) && holder === clientUuid;
}

/** Then the episode may have its next holder before the abort arrives; and it is given back without one. */
function isAboutToBeDiscarded(
  episode: string,
  { pool, askedAt }: { pool: PoolInformation; askedAt: number },
  now: number,
): boolean {
  const details = pool.running_episode_details?.[episode];
  const remaining =
    Number.parseFloat(details?.discard_episode_timeout ?? "") -
    Number.parseFloat(details?.time_since_last_activity ?? "");
  return remaining * 1000 <= now - askedAt + ARRIVAL_MS;
}
