/** Keeps the conversations of attempts, beside their way: whatever goes wrong with it, no end waits for it. */
import { runTranscripts, type TranscriptsKept } from "../../contract/transcript-names.ts";
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { WorkflowOutput } from "../protocol.ts";
import type { OpenRolloutItem, RolloutItem } from "../rollout/item.ts";
import { runOfKey } from "../rollout/message.ts";
import { hashedShare, shortHash } from "../short-hash.ts";
import { within } from "../within.ts";
import { AttemptRecord, transcriptText } from "./attempt-record.ts";
import type { RecordCall } from "./recorded-call.ts";
import type { AttemptFacts } from "./transcript.ts";

export interface TranscriptStore {
  /** Rejects where it could not be kept. */
  put(name: string, text: string): Promise<void>;
}

export interface TranscriptPorts {
  readonly store: TranscriptStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly kept: TranscriptsKept;
}

/** Documents that may be on their way at once: each holds up to some MB. */
const MOST_PENDING = 50;

/** All transcripts of one rollout. */
export function rolloutTranscripts(fleet: string, key: string): string {
  return `${runTranscripts(fleet, runOfKey(key))}${shortHash(key)}/`;
}

/** The attempts of a rollout in the order of their claims. */
function transcriptName({ fleet, key, attempt }: OpenRolloutItem): string {
  return `${rolloutTranscripts(fleet, key)}${attempt.claimed_at}-${attempt.id}.json`;
}

export class Transcripts {
  readonly #ports: TranscriptPorts;
  readonly #pending = new Set<Promise<void>>();

  constructor(ports: TranscriptPorts) {
    this.#ports = ports;
  }

  /** Undefined where this rollout's are not kept. */
  begin(
    open: OpenRolloutItem,
    secret: { readonly apiKey: string; readonly question: string },
  ): Recording | undefined {
    const { kept, clock } = this.#ports;
    if (kept === "none" || (typeof kept === "number" && hashedShare(open.key) >= kept)) return undefined;
    return new Recording(open, clock, ({ transcript, reason }) => {
      if (kept === "failures" && reason === "ended") return;
      this.#put(transcriptName(open), () => transcriptText(transcript(secret.question), secret.apiKey));
    });
  }

  /** How many are on their way. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Waits for what is on its way, `ms` at most. */
  async flush(ms: number): Promise<void> {
    if (this.#pending.size === 0) return;
    const all = Promise.all(this.#pending).then(() => true);
    if (!(await within(this.#ports.clock, ms, all)))
      this.#ports.log("warn", "transcripts may not be kept: their store is slow", {
        transcripts: this.#pending.size,
      });
  }

  #put(name: string, text: () => string): void {
    const { store, log } = this.#ports;
    if (this.#pending.size >= MOST_PENDING) {
      log("warn", "transcript not kept: too many are on their way", { transcript: name });
      return;
    }
    const put = Promise.resolve()
      .then(async () => await store.put(name, text()))
      .catch((error) =>
        log("warn", "transcript not kept", { transcript: name, error: describeError(error, 300) }),
      )
      .finally(() => this.#pending.delete(put));
    this.#pending.add(put);
  }
}

interface Finished {
  readonly transcript: (question: string) => ReturnType<AttemptRecord["transcript"]>;
  readonly reason: string;
}

/** What one attempt says and hears, until it is kept. */
export class Recording {
  readonly #open: OpenRolloutItem;
  readonly #clock: Clock;
  readonly #keep: (finished: Finished) => void;
  readonly #record = new AttemptRecord();
  #output: WorkflowOutput | undefined;
  #seen = true;

  constructor(open: OpenRolloutItem, clock: Clock, keep: (finished: Finished) => void) {
    this.#open = open;
    this.#clock = clock;
    this.#keep = keep;
  }

  readonly call: RecordCall = (call) => this.#record.call(call);

  log(level: string, message: string, facts?: Readonly<Record<string, unknown>>): void {
    this.#record.log(this.#clock.now(), level, message, facts);
  }

  /** What the agent came to: its output, where it returned one. `seen`: whether its model calls are seen from here. */
  returned(output: WorkflowOutput | undefined, seen: boolean): void {
    this.#output = output;
    this.#seen = seen;
  }

  /** `settled`: the rollout's item after the attempt. */
  end(settled: RolloutItem): void {
    const facts = this.#facts(settled);
    this.#keep({ reason: facts.reason, transcript: (question) => this.#record.transcript(facts, question) });
  }

  #facts(settled: RolloutItem): Omit<AttemptFacts, "log"> {
    const { attempt } = this.#open;
    const past = settled.history.findLast(({ id }) => id === attempt.id);
    const failure = settled.attempt?.id === attempt.id ? settled.attempt.failure : undefined;
    const detail = past?.detail ?? failure?.detail;
    const { reward, is_success, metadata, log_metrics } = this.#output ?? {};
    return {
      fleet: this.#open.fleet,
      rollout: this.#open.key,
      ...(this.#open.run === undefined ? {} : { run: this.#open.run }),
      task_id: this.#open.task_id,
      repeat: this.#open.repeat,
      episode_type: this.#open.episode_type,
      attempt: attempt.id,
      episode: attempt.episode,
      global_step: attempt.global_step,
      claimed_at: new Date(attempt.claimed_at).toISOString(),
      ended_at: new Date(this.#clock.now()).toISOString(),
      reason: past?.reason ?? failure?.reason ?? "open",
      ...(detail === undefined ? {} : { detail }),
      ...(this.#output === undefined ? {} : { reward, is_success, metadata, log_metrics }),
      ...(this.#seen ? {} : { missing: ELSEWHERE }),
    };
  }
}

const ELSEWHERE =
  "The agent runs elsewhere and calls the model by itself: its calls do not pass through Sortie, so they are not here.";
