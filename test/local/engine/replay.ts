/** Replays one recorded situation against the stand-in, over HTTP, in virtual time. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { EngineModel } from "../../../local/engine/config.ts";
import { episodeKey } from "../../../local/engine/key.ts";
import { type EngineHandle, startEngine, type TrainerStatus } from "../../../local/engine/start.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { hidden } from "./hidden.ts";
import { observe } from "./observations.ts";
import type { Replaying } from "./replaying.ts";
import { Episodes, type Situation, type Step, withoutIdentity } from "./traces.ts";
import { type Sent, Wire } from "./wire.ts";
import { Worker } from "./worker.ts";

/** As the recording's: it answers one thing, and takes as long as `[[delay N]]` says. */
const recordedModel: EngineModel = (request) => ({
  message: { role: "assistant", content: "The answer is 4." },
  usage: { prompt_tokens: 12, completion_tokens: 6 },
  seconds: Number(/\[\[delay (\d+)]]/.exec(JSON.stringify(request.messages))?.[1] ?? 0),
});
const trainConfig =
  "ajet:\n  backbone: verl\n  data:\n    train_batch_size: 2\n  rollout:\n    num_repeat: 2\n";
/** Just short of a whole search for idle episodes, so that it comes as late after a claim as it can, s. */
const lead = 6.5;

export class Replay implements Replaying {
  readonly clock: VirtualClock;
  readonly engine: EngineHandle;
  readonly situation: Situation;
  readonly worker: Worker;
  readonly #episodes: Episodes;
  readonly #wire: Wire;
  readonly #sent = new Map<number, Sent>();

  private constructor(clock: VirtualClock, engine: EngineHandle, situation: Situation) {
    this.clock = clock;
    this.engine = engine;
    this.situation = situation;
    this.#wire = new Wire(engine, clock);
    this.worker = new Worker(engine, this.#wire);
    this.#episodes = new Episodes((uuid) => episodeKey(uuid, `tcp://127.0.0.1/${uuid}`));
  }

  static async begin(situation: Situation): Promise<Replay> {
    const clock = new VirtualClock();
    const config = {
      batchTasks: 2,
      repeats: 2,
      startRolling: false,
      engineVersion: "older",
      // The recording's trainer had none: see the page on conformance.
      launcher: false,
      chatRoute: situation.chat_route ?? "older",
      modelName: "standin-model",
      keepModelRequests: true,
    } as const;
    const engine = await startEngine({ clock, seed: 1, model: recordedModel, config });
    const replay = new Replay(clock, engine, situation);
    await replay.#reach(situation.engine);
    return replay;
  }

  async #reach(status: string): Promise<void> {
    if (status === "ENGINE.OFFLINE") return;
    await this.advance(lead);
    this.engine.start(trainConfig);
    if (status === "ENGINE.BOOTING") return;
    await this.advance(this.engine.config.bootSeconds + this.engine.config.registerSeconds);
    if (status !== "ENGINE.ROLLING") this.engine.setStatus(status as TrainerStatus);
  }

  async run(): Promise<void> {
    for (const [index, step] of this.situation.steps.entries()) {
      const unwritten = hidden[this.situation.name]?.[index];
      if (typeof unwritten === "function") await unwritten(this);
      await this.#sendAhead(index);
      await this.#prepare(step.before ?? "");
      if (typeof unwritten === "object") await unwritten.after(this);
      await this.#perform(index, step);
    }
  }

  uuidOf(name: string): string {
    return this.#episodes.uuidOf(name);
  }
  bind(name: string, uuid: string): void {
    this.#episodes.bind(name, uuid);
  }
  bindUnknown(name: string): void {
    this.#episodes.bind(name, randomUUID());
  }
  fill(text: string): string {
    return this.#episodes.fill(text);
  }
  advance(seconds: number): Promise<void> {
    return this.clock.advance(seconds * 1000);
  }

  /** A request beside the recorded ones, and its parsed answer. */
  call(path: string, body?: unknown): Promise<unknown> {
    return this.#wire.call(path, body);
  }

  /** Requests that the recording sent before this step, though it lists them where they were answered. */
  async #sendAhead(index: number): Promise<void> {
    for (const [at, step] of this.situation.steps.entries()) {
      if (step.sent_before_step !== index) continue;
      if (/sent 1 s after the first/.test(step.before ?? "")) await this.advance(1);
      this.#sent.set(at, await this.#sendStep(step));
    }
  }

  async #prepare(before: string): Promise<void> {
    const move = /the trainer moves to (ENGINE\.\w+)/.exec(before)?.[1];
    if (/has run its last step/.test(before)) this.engine.endTraining();
    else if (/4 s after the trainer wanted to go on/.test(before)) this.engine.finishBatch();
    else if (move !== undefined) this.engine.setStatus(move as TrainerStatus);
    if (/process was killed/.test(before)) this.engine.killTrainer();
    await this.advance(waitOf(before, this.engine.config.bootSeconds));
    const ack = /trainer takes (\d+) s to acknowledge/.exec(before)?.[1];
    if (ack !== undefined) this.engine.delayAcknowledgements(Number(ack));
  }

  async #perform(index: number, step: Step): Promise<void> {
    if (step.method !== "GET" && step.method !== "POST") {
      const found = await observe(this, step.method, step.path);
      this.#compare(step.answer, found);
      return;
    }
    const sent = this.#sent.get(index) ?? (await this.#sendStep(step));
    const reply = await this.#wire.answer(sent);
    const elapsed = ((await sent.answeredAt) - sent.sentAt) / 1000;
    expect({ status: reply.status, isBroken: reply.isBroken }, where(this.situation, index)).toEqual({
      status: step.status,
      isBroken: step.broken_off !== undefined,
    });
    if (step.content_type !== undefined) expect(reply.contentType).toBe(step.content_type);
    expect(elapsed, `seconds of ${where(this.situation, index)}`).toBe(step.seconds ?? 0);
    const isJson = reply.contentType === "application/json";
    this.#compare(step.answer_pydantic2 ?? step.answer, isJson ? JSON.parse(reply.text) : reply.text);
  }

  #compare(expected: unknown, found: unknown): void {
    this.#episodes.learn(expected, found);
    const meant = this.#episodes.expectedFor(expected, found);
    expect(withoutIdentity(found)).toEqual(withoutIdentity(meant));
  }

  async #sendStep(step: Step): Promise<Sent> {
    const written = JSON.stringify([step.body, step.headers ?? {}]);
    for (const name of this.#episodes.unbound(written)) this.#bindFromLine(name);
    const [body, headers] = JSON.parse(this.fill(written)) as [
      Record<string, unknown> | null,
      Record<string, string>,
    ];
    const delay = /"standin_ack_delay":(\d+)/.exec(written)?.[1];
    if (delay !== undefined) this.engine.delayAcknowledgements(Number(delay));
    const raw = body?.["<raw>"];
    const text = typeof raw === "string" ? raw : step.method === "GET" ? undefined : JSON.stringify(body);
    return this.#wire.send(step.method, step.path, text, headers);
  }

  /** A name that a request is the first to use: the next episode in the line. */
  #bindFromLine(name: string): void {
    const { episodes } = this.engine.inspect();
    const next = episodes.find(
      (one) => one.episode_status === "registered" && !this.#episodes.has(one.episode_uuid),
    );
    this.bind(name, next?.episode_uuid ?? randomUUID());
  }
}

/** How long the recording waited before a step, s. */
function waitOf(before: string, bootSeconds: number): number {
  if (before === "half a second later") return 0.5;
  if (before === "a moment later") return 1;
  if (before === "booted") return bootSeconds;
  if (before === "4 s later") return 4;
  if (/4 s after the trainer wanted/.test(before)) return 4;
  if (/^6 s after the end was sent/.test(before)) return 6;
  // The search for idle episodes is at most 10 s away.
  return /after 1 to 11 s|at the next check/.test(before) ? 9.6 : 0;
}

function where(situation: Situation, index: number): string {
  const step = situation.steps[index];
  return `${situation.name}, step ${index}: ${step?.method} ${step?.path}`;
}
