/** Real HTTP to a stand-in whose time is virtual: time moves on only when nothing is on its way any more. */
import type { EngineHandle } from "../../../local/engine/start.ts";
import { settled, type VirtualClock } from "../../support/virtual-clock.ts";
import { type Reply, send } from "./http.ts";

export interface Sent {
  readonly reply: Promise<Reply>;
  /** Virtual ms at which the answer was there. */
  readonly answeredAt: Promise<number>;
  readonly sentAt: number;
}

export class Wire {
  readonly #engine: EngineHandle;
  readonly #clock: VirtualClock;
  #requests = 0;
  #replies = 0;

  constructor(engine: EngineHandle, clock: VirtualClock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** Resolves when the engine has the request. */
  async send(
    method: string,
    path: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Sent> {
    const json = body === undefined ? {} : { "content-type": "application/json" };
    this.#requests += 1;
    const reply = send(this.#engine.url, method, path, body, { ...json, ...headers }).finally(() => {
      this.#replies += 1;
    });
    const answeredAt = reply.then(() => this.#clock.now());
    // Whoever waits for the reply hears of its failure.
    answeredAt.catch(() => undefined);
    while (this.#engine.inspect().arrived < this.#requests) await settled();
    return { reply, answeredAt, sentAt: this.#clock.now() };
  }

  /** The answer, for which time moves on as far as it takes. */
  async answer(sent: Sent): Promise<Reply> {
    let isThere = false;
    const note = () => {
      isThere = true;
    };
    sent.reply.then(note, note);
    while (!isThere) {
      await settled();
      const isQuiet = this.#engine.inspect().answered === this.#replies;
      if (!isThere && isQuiet && !(await this.#clock.advanceToNext())) throw new Error("nothing will answer");
    }
    return sent.reply;
  }

  /** POST where there is a body, else GET; resolves to the parsed answer. */
  async call(path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = await this.send(text === undefined ? "GET" : "POST", path, text, headers);
    return JSON.parse((await this.answer(sent)).text);
  }
}
