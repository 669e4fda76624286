/** Agents behind an address of the user's: `POST /invocations`, one request per episode. */
import { type Dispatcher, request } from "undici";
import { SESSION_HEADER } from "../../contract/agent-invocation.ts";
import { describeError } from "../../core/errors.ts";
import type { AgentReply } from "../../core/rollout/agent-answer.ts";
import { AgentCallError, type AgentCaller } from "../../core/rollout/remote-agents.ts";

export interface HttpAgentOptions {
  /** At least one; each call goes to the next one. */
  readonly urls: readonly string[];
  /** Adds the token of a guarded service. Without time limits of its own: an agent is silent until it is done. */
  readonly dispatcher: Dispatcher;
  /** Whether the request of an error never reached a connection. */
  readonly neverSent: (error: unknown) => boolean;
}

/** As much as a Lambda function may answer. */
const MOST_BYTES = 6_291_456;
const LONGEST_RETRY_AFTER_S = 600;

export function httpAgent(options: HttpAgentOptions): AgentCaller {
  let next = 0;
  return {
    call: async (given) => {
      const first = next;
      next = (next + 1) % options.urls.length;
      for (let tried = 1; ; tried += 1) {
        const url = options.urls[(first + tried - 1) % options.urls.length] ?? "";
        try {
          return await callOne(url, given, options);
        } catch (error) {
          // Nothing was sent: another one may be there.
          const absent = error instanceof AgentCallError && error.failure === "unreachable";
          if (!absent || tried === options.urls.length) throw error;
        }
      }
    },
  };
}

async function callOne(
  url: string,
  { body, session, signal }: Parameters<AgentCaller["call"]>[0],
  { dispatcher, neverSent }: HttpAgentOptions,
): Promise<AgentReply> {
  const address = `${url.replace(/\/+$/, "")}/invocations`;
  try {
    const reply = await request(address, {
      method: "POST",
      dispatcher,
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        [SESSION_HEADER]: session,
      },
      body: JSON.stringify(body),
    });
    const text = await textOf(reply.body);
    if (reply.statusCode === 429)
      throw new AgentCallError(
        "busy",
        `${url} is busy (HTTP 429)`,
        retryAfterMs(reply.headers["retry-after"]),
      );
    const contentType = (String(reply.headers["content-type"] ?? "").split(";")[0] ?? "")
      .trim()
      .toLowerCase();
    return { status: reply.statusCode, contentType, text };
  } catch (error) {
    if (signal.aborted || error instanceof AgentCallError) throw error;
    throw neverSent(error)
      ? new AgentCallError(
          "unreachable",
          `no agent at ${url}: ${describeError(error, 200)}`,
          undefined,
          error,
        )
      : new AgentCallError(
          "lost",
          `the connection to ${url} broke: ${describeError(error, 200)}`,
          undefined,
          error,
        );
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MOST_BYTES)
      throw new AgentCallError("failed", `expected an answer of at most ${MOST_BYTES} bytes, found more`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Seconds only; anything else leaves the pause to the caller. */
function retryAfterMs(header: string | string[] | undefined): number | undefined {
  const text = String(header ?? "").trim();
  return /^\d+$/.test(text) ? Math.min(Number(text), LONGEST_RETRY_AFTER_S) * 1000 : undefined;
}
