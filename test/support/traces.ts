/** The recorded situations of the reference client, and a real server that plays the engine in them. */
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import type { FakeClock } from "./fake-clock.ts";
import { type Received, sendJson, sendText, serve, type TestServer } from "./http-server.ts";

export interface ScriptedReply {
  readonly status?: number;
  readonly json?: Record<string, unknown>;
  readonly text?: string;
  /** The transport's error in place of an answer. */
  readonly error?: string;
}
export interface TracedRequest {
  /** Virtual seconds. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly json?: Record<string, unknown>;
  /** Seconds, where the reference did not use its general 30. */
  readonly timeout?: number;
}
export interface Trace {
  readonly name: string;
  readonly server_url: string;
  /** From which virtual second on the engine has which status; before the first it cannot be reached. */
  readonly engine_status: readonly (readonly [number, string])[];
  readonly replies: Readonly<Record<string, readonly ScriptedReply[]>>;
  readonly requests: readonly (TracedRequest | { readonly refresh: true })[];
  readonly sleeps: readonly number[];
  readonly outcome: {
    readonly returns?: unknown;
    readonly raises?: string;
    readonly message?: string;
    readonly never_returns?: boolean;
  };
  readonly episode_records: Readonly<Record<string, number>>;
}

export const traces = JSON.parse(
  readFileSync(new URL("../data/traces.json", import.meta.url), "utf8"),
) as readonly Trace[];

/** Without the reference's changes of its HTTP client, which have no counterpart here. */
export function requestsOf(trace: Trace): TracedRequest[] {
  return trace.requests.filter((request) => "at" in request);
}

export interface ScriptedEngine extends TestServer {
  /** What came, in the form of a trace: virtual seconds, path without the host, body. */
  readonly seen: TracedRequest[];
}

/** Milliseconds that a request takes in the traces. */
const REQUEST_MS = 20;

/** Plays the engine of a trace on a loopback port; each request moves the clock on by 0.02 s. */
export async function playEngine(trace: Trace, clock: FakeClock): Promise<ScriptedEngine> {
  const seen: TracedRequest[] = [];
  const scripts = new Map(Object.entries(trace.replies).map(([path, replies]) => [path, [...replies]]));
  const server = await serve((request, response) => {
    const { method, path, json } = request;
    const at = clock.now() / 1000;
    seen.push({ at, method, path, ...(json === undefined ? {} : { json: json as Record<string, unknown> }) });
    const script = scripts.get(path);
    // The last reply stays.
    const reply = script === undefined ? statusAt(trace, at) : script.length > 1 ? script.shift() : script[0];
    // Nobody sleeps while a request is under way, so this moves the clock on at once.
    void clock.advance(REQUEST_MS);
    play(
      asSent(path, reply) ?? { status: 404, json: { detail: `nothing is scripted for ${path}` } },
      request,
      response,
    );
  });
  return Object.assign(server, { seen });
}

/** The recordings' scripts left the status out of the pool, which the reference does not look at; an engine sends it. */
function asSent(path: string, reply: ScriptedReply | undefined): ScriptedReply | undefined {
  const isPool = path.endsWith("/get_current_batch_rollout_pool_information") && reply?.json !== undefined;
  return isPool ? { ...reply, json: { ...Object(reply.json), engine_status: "ENGINE.ROLLING" } } : reply;
}

function statusAt(trace: Trace, at: number): ScriptedReply {
  const now = trace.engine_status.findLast(([since]) => since <= at);
  if (now === undefined) return { error: "Connection reset by peer" };
  return { status: 200, json: { engine_status: now[1], engine_status_detail: null, global_step: 1 } };
}

function play(reply: ScriptedReply, request: Received, response: ServerResponse): void {
  if (reply.error === undefined) {
    if (reply.json === undefined) sendText(response, reply.status ?? 200, reply.text ?? "");
    else sendJson(response, reply.status ?? 200, reply.json);
  } else if (/disconnected/.test(reply.error)) {
    request.socket.end();
  } else if (!/timed out/.test(reply.error)) {
    request.socket.resetAndDestroy();
  }
  // Timed out: nothing is ever answered.
}
