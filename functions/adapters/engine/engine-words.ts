import type { CallName } from "./call-names.ts";
import type { HttpReply } from "./http.ts";
import { parseJson } from "./json.ts";

/** The statuses of a call's refusals in words; each call with a JSON body also has FastAPI's 422, with a list. */
const refusals: Readonly<Partial<Record<CallName, readonly number[]>>> = {
  claim_episode: [400],
  end_episode: [400, 404],
  sync_train_config: [400],
  sync_train_code: [400],
  // Newer engines, unless OFFLINE.
  start_engine: [400],
};

/** Since May 2026: an older engine has no such route. */
const newer: ReadonlySet<CallName> = new Set<CallName>([
  "sync_train_code",
  "get_server_experiment_dir",
  "push_verbose_log",
  "get_verbose_logs",
  "agree_sync_weight",
]);

/** What Starlette says for a path without a route, under a wrong prefix for instance. No route of the engine says it. */
const NO_ROUTE = "Not Found";

/** Whether the engine's own route has refused this call: then it has done nothing. */
export function isRefusal(call: CallName, reply: HttpReply): boolean {
  const detail = detailOf(reply);
  if (reply.status === 422) return Array.isArray(detail);
  const listed = refusals[call]?.includes(reply.status) ?? false;
  return listed && typeof detail === "string" && detail !== NO_ROUTE;
}

/** Whether the engine is older than this call. */
export function lacksCall(call: CallName, reply: HttpReply): boolean {
  return newer.has(call) && reply.status === 404 && detailOf(reply) === NO_ROUTE;
}

/** FastAPI's refusals are JSON with `detail` and nothing else, unlike problem details (RFC 9457). */
export function detailOf(reply: Pick<HttpReply, "contentType" | "text">): unknown {
  if (reply.contentType !== "application/json") return undefined;
  const json = parseJson(reply.text);
  if (typeof json !== "object" || json === null || Object.keys(json).join() !== "detail") return undefined;
  return Reflect.get(json, "detail");
}
