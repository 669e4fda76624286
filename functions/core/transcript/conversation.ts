/** Folds model calls into one conversation: a call mostly repeats the messages before it, and only what is new is kept. */
import type { Fields, Reply, Said, ToolCallSaid } from "./message.ts";
import { readCall } from "./read-call.ts";
import type { RecordedCall } from "./recorded-call.ts";
import type { Step } from "./transcript.ts";

/** Characters of all steps together: what comes after is not kept. */
export const MOST_CHARACTERS = 2_000_000;

type Draft = Omit<Step, "step_id">;

export class Conversation {
  readonly #steps: Draft[] = [];
  /** What the last call has said and heard. */
  #known: readonly Said[] = [];
  #size = 0;
  #tools: readonly Fields[] = [];
  #totals = { prompt: 0, completion: 0, cached: 0 };
  #model: string | undefined;
  #calls = 0;
  #lost = 0;

  add(call: RecordedCall): void {
    this.#calls += 1;
    const read = readCall(call);
    const { messages = [], tools = [] } = read?.asked ?? {};
    if (tools.length > 0) this.#tools = tools;
    const first = this.#steps.length;
    const common = commonLength(this.#known, messages);
    for (const said of messages.slice(common)) this.#addSaid(said);
    if (read?.reply) this.#addReply(read.reply, call);
    else this.#addFailure(call, read === undefined);
    const branches = common < this.#known.length;
    const begin = this.#steps[first];
    if (branches && begin)
      begin.extra = { ...begin.extra, branch: `goes on after ${common} of ${this.#known.length} messages` };
    this.#known = read?.reply ? [...messages, read.reply.said] : messages;
  }

  get calls(): number {
    return this.#calls;
  }

  get tools(): readonly Fields[] {
    return this.#tools;
  }

  get model(): string | undefined {
    return this.#model;
  }

  /** Tokens of all calls. */
  get totals(): { readonly prompt: number; readonly completion: number; readonly cached: number } {
    return this.#totals;
  }

  /** Steps that did not fit. */
  get lost(): number {
    return this.#lost;
  }

  steps(): Step[] {
    return this.#steps.map((step, index) => ({ step_id: index + 1, ...step }));
  }

  #push(step: Draft, size: number): void {
    if (this.#size + size > MOST_CHARACTERS) {
      this.#lost += 1;
      return;
    }
    this.#size += size;
    this.#steps.push(step);
  }

  #addSaid(said: Said): void {
    const { role, text } = said;
    if (role === "tool" && this.#observe(said)) return;
    if (role === "assistant")
      this.#push({ source: "agent", ...spoken(said, this.#steps.length), llm_call_count: 0 }, sizeOf(said));
    else
      this.#push(
        {
          source: role === "system" ? "system" : "user",
          message: text,
          ...(role === "tool" ? { extra: { role: "tool" } } : {}),
        },
        text.length,
      );
  }

  /** A tool's answer belongs to the step that called it. False where there is none. */
  #observe({ answers, text }: Said): boolean {
    const step = this.#steps.findLast(({ tool_calls: calls = [] }) =>
      calls.some(({ tool_call_id: id }) => id === answers),
    );
    if (!step || answers === undefined) return false;
    if (this.#size + text.length > MOST_CHARACTERS) {
      this.#lost += 1;
      return true;
    }
    this.#size += text.length;
    const results = step.observation?.results ?? [];
    // A branch repeats it.
    if (results.some((known) => known.source_call_id === answers && known.content === text)) return true;
    step.observation = { results: [...results, { source_call_id: answers, content: text }] };
    return true;
  }

  #addReply({ said, finish, model, usage }: Reply, { at, ms, status }: RecordedCall): void {
    this.#model ??= model;
    this.#totals.prompt += usage.prompt ?? 0;
    this.#totals.completion += usage.completion ?? 0;
    this.#totals.cached += usage.cached ?? 0;
    const step: Draft = {
      timestamp: new Date(at).toISOString(),
      source: "agent",
      ...(model === undefined ? {} : { model_name: model }),
      ...spoken(said, this.#steps.length),
      metrics: {
        ...(usage.prompt === undefined ? {} : { prompt_tokens: usage.prompt }),
        ...(usage.completion === undefined ? {} : { completion_tokens: usage.completion }),
        ...(usage.cached === undefined ? {} : { cached_tokens: usage.cached }),
        extra: { latency_ms: ms },
      },
      llm_call_count: 1,
      ...(finish === undefined ? {} : { extra: { finish_reason: finish } }),
    };
    // An older engine answers a refusal with HTTP 200, a newer one may put an answer under another status.
    if (status !== undefined && status >= 300) step.extra = { ...step.extra, status };
    this.#push(step, sizeOf(said));
  }

  #addFailure({ at, ms, path, status, error, response }: RecordedCall, isOther: boolean): void {
    const words = response.slice(0, MOST_OF_FAILURE);
    const what = error ?? (status === undefined ? "no answer" : `HTTP ${status}`);
    const isAnswered = isOther && error === undefined && (status ?? 500) < 300;
    const extra = isAnswered
      ? { path, status, latency_ms: ms }
      : { error: what, ...(status === undefined ? {} : { status }), latency_ms: ms };
    const message = isAnswered
      ? `The agent called ${path}.`
      : `The model call failed: ${what}${words && `, ${words}`}`;
    this.#push({ timestamp: new Date(at).toISOString(), source: "system", message, extra }, message.length);
  }
}

const MOST_OF_FAILURE = 2000;

function sizeOf({ text, reasoning = "", calls }: Said): number {
  return text.length + reasoning.length + JSON.stringify(calls).length;
}

function spoken(
  { text, reasoning, calls }: Said,
  at: number,
): Pick<Draft, "message" | "reasoning_content" | "tool_calls"> {
  return {
    message: text,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((call, index) => toolCall(call, `${at + 1}.${index + 1}`)) }),
  };
}

/** ATIF wants an object: what is none stands in `extra`, as the model wrote it. */
function toolCall(
  { id, name, given }: ToolCallSaid,
  fallback: string,
): NonNullable<Step["tool_calls"]>[number] {
  const known = { tool_call_id: id ?? fallback, function_name: name };
  const value = typeof given === "string" ? parsed(given) : given;
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return { ...known, arguments: value as Record<string, unknown> };
  return { ...known, arguments: {}, extra: { arguments: given } };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function commonLength(known: readonly Said[], messages: readonly Said[]): number {
  const differs = messages.findIndex((said, index) => {
    const other = known[index];
    return other === undefined || essence(said) !== essence(other);
  });
  return differs < 0 ? messages.length : differs;
}

/** An agent gives the model's message back without its reasoning, and perhaps without its ids. */
function essence({ role, text, calls }: Said): string {
  return JSON.stringify([role, text.trim(), calls.map(({ name }) => name)]);
}
