/** The clients that newer engines count as active, and who of them agreed to a weight sync. */
import type { Agreement } from "./batch.ts";

export class Clients {
  readonly #active = new Set<string>();
  readonly #agreed = new Set<string>();

  declareActive(clientUuid: string): void {
    this.#active.add(clientUuid);
  }
  agree(clientUuid: string): void {
    this.#agreed.add(clientUuid);
  }
  clear(): void {
    this.#active.clear();
    this.#agreed.clear();
  }
  agreement(): Agreement {
    const all = this.#active.size > 0 && [...this.#active].every((client) => this.#agreed.has(client));
    return { any: this.#agreed.size > 0, all };
  }
}
