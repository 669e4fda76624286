/** Gathers what one attempt says and hears, and makes its transcript. */
import { VERSION } from "../../contract/version.ts";
import { redact } from "../errors.ts";
import { Conversation } from "./conversation.ts";
import type { RecordCall } from "./recorded-call.ts";
import { ATIF_VERSION, type AttemptFacts, type LogLine, type Transcript } from "./transcript.ts";

const MOST_LINES = 200;
const MOST_OF_LINES = 200_000;

export class AttemptRecord {
  readonly #conversation = new Conversation();
  readonly #log: LogLine[] = [];
  #logged = 0;

  readonly call: RecordCall = (call) => this.#conversation.add(call);

  /** A line of the agent's log. `at`: unix ms. */
  log(at: number, level: string, message: string, facts: Readonly<Record<string, unknown>> = {}): void {
    const line = { at: new Date(at).toISOString(), level, message, facts: { ...facts } };
    this.#logged += JSON.stringify(line).length;
    if (this.#log.length < MOST_LINES && this.#logged <= MOST_OF_LINES) this.#log.push(line);
  }

  /** `question`: what the task asks, for an attempt whose conversation was not seen. */
  transcript(facts: Omit<AttemptFacts, "log">, question: string): Transcript {
    const { prompt, completion, cached } = this.#conversation.totals;
    const said = this.#conversation.steps();
    const steps = said.length > 0 ? said : [{ step_id: 1, source: "user" as const, message: question }];
    const { lost, calls, tools, model } = this.#conversation;
    return {
      schema_version: ATIF_VERSION,
      session_id: facts.rollout,
      trajectory_id: facts.attempt,
      agent: {
        name: `sortie/${facts.fleet}`,
        version: VERSION,
        ...(model === undefined ? {} : { model_name: model }),
        ...(tools.length === 0 ? {} : { tool_definitions: tools.map((tool) => ({ ...tool })) }),
      },
      steps,
      ...(lost === 0
        ? {}
        : { notes: `${lost} steps are left out: the conversation is too long to be kept whole.` }),
      final_metrics: {
        total_prompt_tokens: prompt,
        total_completion_tokens: completion,
        total_cached_tokens: cached,
        total_steps: steps.length,
        extra: { model_calls: calls },
      },
      extra: { ...facts, log: this.#log },
    };
  }
}

/** As it is stored: without the episode's key, whoever has said it, nor any other. */
export function transcriptText(transcript: Transcript, apiKey: string): string {
  const text = JSON.stringify(transcript, (_name, value: unknown) =>
    typeof value === "string" ? redact(value.replaceAll(apiKey, "sk-***")) : value,
  );
  // A name may hold it as well.
  return text.replaceAll(apiKey, "sk-***");
}
