/** The clients that newer engines count as active, and who of them agreed to a weight sync. */
import type { Agreement } from "./batch.ts";

/** A client without activity for so long falls off the list, s. */
const ACTIVE_SECONDS = 600;

interface Client {
  /** Unix ms. */
  activeAt: number;
  agreed: boolean;
}

export class Clients {
  readonly #clients = new Map<string, Client>();

  /** After an end of an episode. Times are unix ms. */
  declareActive(clientUuid: string, now: number): void {
    const known = this.#clients.get(clientUuid);
    if (known) known.activeAt = now;
    else this.#clients.set(clientUuid, { activeAt: now, agreed: false });
  }

  /** A claim or a model call keeps who is in the list there, and brings nobody in. */
  touch(clientUuid: string, now: number): void {
    const known = this.#clients.get(clientUuid);
    if (known) known.activeAt = now;
  }

  /** False where the client is not in the list. */
  agree(clientUuid: string, now: number): boolean {
    this.#expire(now);
    const known = this.#clients.get(clientUuid);
    if (known) known.agreed = true;
    return known !== undefined;
  }

  clear(): void {
    this.#clients.clear();
  }

  agreement(now: number): Agreement {
    this.#expire(now);
    const clients = [...this.#clients.values()];
    const any = clients.some(({ agreed }) => agreed);
    return { any, all: any && clients.every(({ agreed }) => agreed) };
  }

  /** As the pool shows them. */
  view(now: number) {
    this.#expire(now);
    return [...this.#clients].map(([client_uuid, { activeAt, agreed }]) => ({
      client_uuid,
      last_activity_at: activeAt / 1000,
      allowed_sync_weight: agreed,
    }));
  }

  #expire(now: number): void {
    for (const [uuid, { activeAt }] of this.#clients)
      if (now - activeAt > ACTIVE_SECONDS * 1000) this.#clients.delete(uuid);
  }
}
