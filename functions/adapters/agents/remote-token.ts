/** The token of the proxy before the engine, in a host of agents: the function has it, and is asked for it. */
import type { HostPort } from "./host.ts";
import type { Headers, ToHost } from "./messages.ts";

type Answer = ToHost & { kind: "token" };

/** Fits `EngineCredentials` of the engine's adapter. */
export class RemoteToken {
  readonly #port: HostPort;
  readonly #asked = new Map<number, (answer: Answer) => void>();
  #last = 0;
  #known: Answer | undefined;

  constructor(port: HostPort) {
    this.#port = port;
    port.onMessage((message) => {
      if (message.kind === "token") this.#asked.get(message.ask)?.(message);
    });
  }

  async headers(): Promise<Headers> {
    return (this.#known ?? (await this.#ask(false))).headers;
  }

  get version(): number {
    return this.#known?.version ?? 0;
  }

  async renew(): Promise<void> {
    await this.#ask(true);
  }

  async #ask(renew: boolean): Promise<Answer> {
    this.#last += 1;
    const ask = this.#last;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#asked.set(ask, resolve);
    this.#port.post({ kind: "token?", ask, renew });
    const answer = await promise;
    this.#asked.delete(ask);
    if (answer.fault !== undefined) throw new Error(answer.fault);
    this.#known = answer;
    return answer;
  }
}
