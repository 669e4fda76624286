/** Recognises the steps of a rollout by the requests that its function makes, and which invocation makes them. */
import { parseClientUuid } from "../../functions/core/client-uuid.ts";
import { episodeOfKey } from "../engine/key.ts";
import type { Step } from "./kinds.ts";
import type { ProxyRequest, Reply } from "./proxy.ts";

export interface Seen {
  readonly step: Step;
  /** The Lambda request id. */
  readonly invocation: string;
}

/** Remembers who holds an episode and works for a message, since a model call and a deletion do not say so. */
export class StepReader {
  readonly #holders = new Map<string, string>();
  readonly #receipts = new Map<string, string>();

  engine({ path, headers, json }: ProxyRequest): Seen | undefined {
    if (path === "/v1/chat/completions") return seen("model-call", this.#holderOfKey(headers.authorization));
    const step = ({ "/claim_episode": "claim", "/end_episode": "end" } as const)[path];
    return step && seen(step, invocationOf(field(json, "client_uuid")));
  }

  /** Notes who holds the episode that an answer gives away. */
  noteClaim({ path, json }: ProxyRequest, reply: Reply): void {
    if (path !== "/claim_episode" || reply.status !== 200) return;
    const episode = field(JSON.parse(reply.body.toString("utf8")), "episode_uuid");
    const invocation = invocationOf(field(json, "client_uuid"));
    if (typeof episode === "string" && episode !== "" && invocation) this.#holders.set(episode, invocation);
  }

  table(request: ProxyRequest): Seen | undefined {
    if (operation(request) !== "PutItem") return undefined;
    const item = field(request.json, "Item");
    if (!text(item, "pk")?.startsWith("ROLLOUT#")) return undefined;
    const attempt = field(field(item, "attempt"), "M");
    return attempt === undefined ? record(item) : this.#attempt(item, attempt);
  }

  queue(request: ProxyRequest): Seen | undefined {
    if (operation(request) !== "DeleteMessage") return undefined;
    return seen("delete", this.#receipts.get(String(field(request.json, "ReceiptHandle"))));
  }

  #attempt(item: unknown, attempt: unknown): Seen | undefined {
    if (has(attempt, "failure") || has(attempt, "gone_since")) return undefined;
    const invocation = text(attempt, "invocation");
    const receipt = text(attempt, "receipt");
    if (invocation && receipt) this.#receipts.set(receipt, invocation);
    return seen(text(item, "state") === "running" ? "store-episode" : "store-result", invocation);
  }

  #holderOfKey(authorization: string | undefined): string | undefined {
    try {
      return this.#holders.get(episodeOfKey(authorization));
    } catch {
      return undefined;
    }
  }
}

/** The receipt of the message that a stored attempt works for. */
export function receiptOf({ json }: ProxyRequest): string | undefined {
  return text(field(field(field(json, "Item"), "attempt"), "M"), "receipt");
}

/** The AWS operation that a request asks for, such as PutItem; undefined for other requests. */
export function operation({ headers }: ProxyRequest): string | undefined {
  const target = headers["x-amz-target"];
  return typeof target === "string" ? target.split(".").at(-1) : undefined;
}

/** The end of an attempt is written; what is written later about an ended rollout is no step of it. */
function record(item: unknown): Seen | undefined {
  if (has(item, "confirmed_at") || text(item, "letter") === "sent") return undefined;
  const history = field(field(item, "history"), "L");
  const last: unknown = Array.isArray(history) ? history.at(-1) : undefined;
  const id = text(field(last, "M"), "id");
  return seen("record", id?.slice(0, id.lastIndexOf(".")));
}

function seen(step: Step, invocation: string | undefined): Seen | undefined {
  return invocation === undefined ? undefined : { step, invocation };
}

function invocationOf(clientUuid: unknown): string | undefined {
  return typeof clientUuid === "string" ? parseClientUuid(clientUuid)?.invocation : undefined;
}

/** The key of the invocation's item, where the request says that the invocation still lives. */
export function heartbeatOf(request: ProxyRequest): string | undefined {
  if (operation(request) !== "PutItem" || field(request.json, "ConditionExpression") === undefined)
    return undefined;
  const key = text(field(request.json, "Item"), "pk");
  return key?.startsWith("INVOCATION#") ? key : undefined;
}

function has(value: unknown, name: string): boolean {
  return field(value, name) !== undefined;
}

/** A string attribute of a DynamoDB item. */
function text(item: unknown, name: string): string | undefined {
  const value = field(field(item, name), "S");
  return typeof value === "string" ? value : undefined;
}

export function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
