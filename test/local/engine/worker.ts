/** A rollout worker, as small as can be. */
import { expect } from "vitest";
import type { EngineHandle } from "../../../local/engine/start.ts";
import type { Wire } from "./wire.ts";

export interface Claim {
  readonly client?: string;
  readonly type?: "train" | "eval";
  /** Of the throttle policy; none without it. */
  readonly policyTask?: string;
  readonly discardSeconds?: number;
}

export class Worker {
  readonly #engine: EngineHandle;
  readonly #wire: Wire;

  constructor(engine: EngineHandle, wire: Wire) {
    this.#engine = engine;
    this.#wire = wire;
  }

  /** The answer, whether granted or refused. */
  tryClaim({
    client = "client-a",
    type = "train",
    policyTask,
    discardSeconds = 240,
  }: Claim = {}): Promise<unknown> {
    const policy = { expected_batch_size: 2, expected_num_repeat: 2, current_task_id: policyTask };
    return this.#wire.call("/claim_episode", {
      client_uuid: client,
      episode_type: type,
      discard_episode_timeout: discardSeconds,
      throttle_policy: policyTask === undefined ? null : policy,
    });
  }

  /** The uuid of the episode that was granted. */
  async claim(claim: Claim = {}): Promise<string> {
    const claimed = await this.tryClaim(claim);
    expect(claimed).toMatchObject({ success: true });
    return (claimed as { episode_uuid: string }).episode_uuid;
  }

  headersOf(uuid: string): Record<string, string> {
    const record = this.#engine.inspect().episodes.find((one) => one.episode_uuid === uuid);
    return { authorization: `Bearer ${record?.openai_api_key}` };
  }

  callModel(uuid: string, content = "2+2?"): Promise<unknown> {
    const question = { model: "m", messages: [{ role: "user", content }] };
    return this.#wire.call("/v1/chat/completions", question, this.headersOf(uuid));
  }

  end(client: string, uuid: string, task: string, reward: unknown, more: object = {}): Promise<unknown> {
    const output = { reward, metadata: { task_id: task } };
    const body = { client_uuid: client, episode_uuid: uuid, task_id: task, workflow_output: output, ...more };
    return this.#wire.call("/end_episode", body);
  }

  abort(client: string, uuid: string): Promise<unknown> {
    const body = { client_uuid: client, episode_uuid: uuid, task_id: "", workflow_output: {} };
    return this.#wire.call("/abort_episode", body);
  }

  /** Claims, calls the model once, and ends with this reward; resolves to the uuid. */
  async run(task: string, reward: unknown, claim: Claim = {}): Promise<string> {
    const uuid = await this.claim(claim);
    await this.callModel(uuid);
    expect(await this.end(claim.client ?? "client-a", uuid, task, reward)).toEqual({ success: true });
    return uuid;
  }
}
