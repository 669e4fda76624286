/** The trainer's threads over one batch: they offer episodes, take outputs and model calls, and report the pool. */
import type { ChatRequest } from "../../functions/contract/agent.ts";
import { Batch } from "./batch.ts";
import type { EngineConfig, ModelReply } from "./config.ts";
import type { EngineState } from "./engine.ts";
import type { EpisodeRecord, EpisodeService, Runner } from "./episodes.ts";
import type { Outcome, ReportedOutput } from "./ledger.ts";
import { tokens } from "./model.ts";
import { after, never, slept } from "./timing.ts";

/** Unclaimed episodes are withdrawn this long after ROLLING_POST begins, s. */
const WITHDRAW = 0.5;

export class BatchRun implements EpisodeService {
  readonly #engine: EngineState;
  readonly #step: number;
  readonly #batch: Batch;
  readonly #onOutput: () => void;
  /** From then on nothing is acknowledged any more. */
  readonly #over = new AbortController();
  #reportDue = false;

  constructor(engine: EngineState, step: number, onOutput: () => void) {
    this.#engine = engine;
    this.#step = step;
    this.#batch = new Batch(engine.targets());
    this.#onOutput = onOutput;
  }

  begin(): void {
    const { clock, config } = this.#engine;
    after(clock, config.registerSeconds, this.#over.signal, () => this.#registerAll());
    void this.#reportRegularly();
  }

  end(): void {
    this.#over.abort();
  }

  isEnough(): boolean {
    return this.#batch.isEnough(this.#engine.agreement());
  }

  report(): void {
    this.#reportDue = false;
    this.#engine.pool = this.#batch.report();
  }

  withdrawUnclaimed(): void {
    const { clock, episodes } = this.#engine;
    after(clock, WITHDRAW, this.#over.signal, () => {
      if (this.#engine.status !== "ENGINE.ROLLING_POST") return;
      const unclaimed = [...episodes.all()].filter((record) => record.status === "registered");
      for (const { uuid } of unclaimed) episodes.delete(uuid);
    });
  }

  /** Resolves when the trainer acknowledges the output; never, if nobody is left to do so. */
  async takeOutput(record: EpisodeRecord, taskId: string, output: ReportedOutput): Promise<void> {
    const { runner, clientUuid, uuid: episodeUuid } = record;
    runner.taking = true;
    await this.#acknowledge(runner, this.#engine.ackSeconds);
    runner.done = true;
    const { llmCalls } = runner;
    const outcome = outcomeOf(output, llmCalls);
    this.#engine.ledger.add({ kind: "output", outcome, clientUuid, episodeUuid, taskId, output, llmCalls });
    if (outcome.startsWith("thread_lost")) return this.#loseSlot(runner, outcome);
    if (outcome === "counted") this.#batch.add(taskId, episodeUuid, Number(output.reward));
    this.#offerNext(runner);
    this.#reportSoon();
    this.#onOutput();
  }

  /** Resolves when the trainer has forgotten the episode's model calls. */
  async reset(record: EpisodeRecord): Promise<void> {
    // One thread serves the episode: it is busy with the output, and gone after that.
    if (record.runner.taking) await never();
    await this.#acknowledge(record.runner, this.#engine.resetSeconds ?? this.#engine.ackSeconds);
    record.runner.llmCalls = 0;
    this.#engine.ledger.add({ kind: "reset", episodeUuid: record.uuid });
  }

  /** The model's answer; never, if nobody is left to give it. */
  async callModel(record: EpisodeRecord, request: ChatRequest): Promise<ModelReply> {
    if (this.#over.signal.aborted) return never();
    const { clock, config } = this.#engine;
    const callIndex = record.runner.llmCalls;
    record.runner.llmCalls += 1;
    this.#noteCall(record, callIndex, request);
    const random = this.#engine.randomOf(record.uuid, callIndex);
    const context = { globalStep: this.#step, episodeUuid: record.uuid, callIndex, random };
    const reply = tooLong(config, request) ?? (await this.#engine.model(request, context));
    const seconds = reply.seconds ?? config.modelSeconds(random);
    return (await slept(clock, seconds, this.#over.signal)) ? reply : never();
  }

  #noteCall(record: EpisodeRecord, callIndex: number, request: ChatRequest): void {
    this.#engine.ledger.add({
      kind: "model-call",
      clientUuid: record.clientUuid,
      episodeUuid: record.uuid,
      callIndex,
      preserveSampling: record.type === "eval",
      ...(this.#engine.config.keepModelRequests ? { request } : {}),
    });
  }

  async #acknowledge(runner: Runner, seconds: number): Promise<void> {
    const alive = await slept(this.#engine.clock, seconds, this.#over.signal);
    if (!alive || runner.done) await never();
  }

  #registerAll(): void {
    for (let slot = 1; slot <= this.#engine.slots(); slot += 1) this.#register(slot);
  }

  #register(slot: number): void {
    if (this.#engine.status !== "ENGINE.ROLLING") return;
    const runner: Runner = { run: this, slot, llmCalls: 0, taking: false, done: false };
    this.#engine.episodes.register(this.#engine.newUuid(), runner, this.#engine.clock.now());
  }

  #offerNext(runner: Runner): void {
    const { clock, config } = this.#engine;
    after(clock, config.nextSlotSeconds, this.#over.signal, () => this.#register(runner.slot));
  }

  #loseSlot(runner: Runner, outcome: Outcome): void {
    this.#engine.ledger.add({ kind: "slot-lost", slot: runner.slot, error: `ValueError: ${outcome}` });
  }

  #reportSoon(): void {
    if (this.#reportDue) return;
    this.#reportDue = true;
    after(this.#engine.clock, this.#engine.config.poolLagSeconds, this.#over.signal, () => this.report());
  }

  async #reportRegularly(): Promise<void> {
    while (await slept(this.#engine.clock, this.#engine.config.reportSeconds, this.#over.signal))
      this.report();
  }
}

/** @throws Error, a 500, in an older engine */
function tooLong({ contextTokens, chatRoute }: EngineConfig, request: ChatRequest): ModelReply | undefined {
  if (contextTokens === undefined || tokens(request.messages) <= contextTokens) return undefined;
  if (chatRoute === "older") throw new Error(`the prompt is longer than ${contextTokens} tokens`);
  return { message: { role: "assistant", content: "" }, finishReason: "length" };
}

/** The order is the real trainer's: an episode without a call is dropped before its reward is looked at. */
function outcomeOf(output: ReportedOutput, llmCalls: number): Outcome {
  if (llmCalls === 0) return "dropped_no_model_call";
  if (output.reward === null) return "thread_lost_reward_null";
  return Array.isArray(output.reward) ? "thread_lost_reward_list" : "counted";
}
