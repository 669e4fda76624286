/** The engine's records of its episodes, and the line of those that can be claimed. */
import type { ChatRequest } from "../../functions/contract/agent.ts";
import type { EpisodeType } from "../../functions/core/protocol.ts";
import type { ModelReply } from "./config.ts";
import { episodeKey } from "./key.ts";
import type { ReportedOutput } from "./ledger.ts";

/** What the trainer does for an episode; each resolves when it has, and never if nobody is left to do so. */
export interface EpisodeService {
  takeOutput(record: EpisodeRecord, taskId: string, output: ReportedOutput): Promise<void>;
  /** Forgets the episode's model calls. */
  reset(record: EpisodeRecord): Promise<void>;
  callModel(record: EpisodeRecord, request: ChatRequest): Promise<ModelReply>;
}

export interface EpisodeRecord {
  readonly uuid: string;
  readonly apiKey: string;
  readonly address: string;
  /** The trainer's side of it. */
  readonly runner: Runner;
  status: "registered" | "claimed";
  type: EpisodeType;
  clientUuid: string;
  /** Unix ms. */
  activeAt: number;
  discardSeconds: number;
  llmCalls: number;
  taskId: string;
}

export interface Claimant {
  readonly clientUuid: string;
  readonly type: EpisodeType;
  readonly discardSeconds: number;
  /** Empty: the record keeps what it had. */
  readonly taskId: string;
}

export class Episodes {
  readonly #records = new Map<string, EpisodeRecord>();
  /** Oldest first. May name records that are gone, as in the real engine. */
  readonly #line = new Set<string>();
  /** Client uuids of ended episodes by the task id of their claims. */
  readonly #finished = new Map<string, string[]>();
  #claimed = 0;

  get size(): number {
    return this.#records.size;
  }
  /** How many are claimed now. */
  get claimed(): number {
    return this.#claimed;
  }
  get unclaimed(): number {
    return this.#line.size;
  }

  get(uuid: string): EpisodeRecord | undefined {
    return this.#records.get(uuid);
  }
  all(): IterableIterator<EpisodeRecord> {
    return this.#records.values();
  }
  finishedClients(): Record<string, string[]> {
    return Object.fromEntries(this.#finished);
  }

  register(uuid: string, runner: Runner, now: number): void {
    const address = `tcp://127.0.0.1/${uuid}`;
    this.#records.set(uuid, {
      uuid,
      apiKey: episodeKey(uuid, address),
      address,
      runner,
      status: "registered",
      type: "train",
      clientUuid: "",
      activeAt: now,
      discardSeconds: -1,
      llmCalls: 0,
      taskId: "",
    });
    this.#line.add(uuid);
  }

  /** Takes the head of the line: its record, "gone" if it has none any more, or undefined if nobody stands there. */
  claim(claimant: Claimant, now: number): EpisodeRecord | "gone" | undefined {
    const [uuid] = this.#line;
    if (uuid === undefined) return undefined;
    this.#line.delete(uuid);
    const record = this.#records.get(uuid);
    if (record === undefined) return "gone";
    record.status = "claimed";
    record.type = claimant.type;
    record.clientUuid = claimant.clientUuid;
    record.activeAt = now;
    record.llmCalls = 0;
    record.discardSeconds = claimant.discardSeconds;
    if (claimant.taskId !== "") record.taskId = claimant.taskId;
    this.#claimed += 1;
    return record;
  }

  /** Puts a record up for claiming again, at the end of the line. It keeps its key, type and task id. */
  revert(record: EpisodeRecord, now: number): void {
    if (this.#records.get(record.uuid) !== record) return;
    if (record.status === "claimed") this.#claimed -= 1;
    record.status = "registered";
    record.clientUuid = "";
    record.activeAt = now;
    record.llmCalls = 0;
    record.discardSeconds = -1;
    this.#line.add(record.uuid);
  }

  /** Deletes an ended episode's record and keeps its client's uuid. */
  finish(record: EpisodeRecord): void {
    this.delete(record.uuid);
    if (record.taskId === "") return;
    const clients = this.#finished.get(record.taskId) ?? [];
    clients.push(record.clientUuid);
    this.#finished.set(record.taskId, clients);
  }

  delete(uuid: string): void {
    this.forget(uuid);
    this.#line.delete(uuid);
  }

  /** Deletes the record but not its place in the line: whoever claims it next gets nothing. */
  forget(uuid: string): void {
    if (this.#records.get(uuid)?.status === "claimed") this.#claimed -= 1;
    this.#records.delete(uuid);
  }

  wipe(): EpisodeRecord[] {
    const claimed = [...this.#records.values()].filter((record) => record.status === "claimed");
    this.#records.clear();
    this.#line.clear();
    this.#finished.clear();
    this.#claimed = 0;
    return claimed;
  }
}

/** The thread that serves one episode. */
export interface Runner {
  readonly run: EpisodeService;
  readonly slot: number;
  /** Model calls since the episode was registered or reset. */
  llmCalls: number;
  /** It has been sent an output, and does nothing else any more. */
  taking: boolean;
  done: boolean;
}
