/** What stands between a client and the engine answers too: none of its answers says what the engine did. */
import { describe, expect, test } from "vitest";
import type { Engine } from "../../../../functions/core/engine.ts";
import { engineThat, errorOf } from "../../../support/engine-that.ts";
import { type Respond, sendText } from "../../../support/http-server.ts";

const workflow_output = { reward: 1, is_success: true, metadata: {}, log_metrics: {} };
const claim = {
  client_uuid: "f/a.1",
  episode_type: "train",
  discard_episode_timeout: 240,
  throttle_policy: null,
} as const;

const calls: [string, (engine: Engine) => Promise<unknown>][] = [
  ["claim_episode", (engine) => engine.claim(claim)],
  [
    "end_episode",
    (engine) => engine.end({ client_uuid: "f/a.1", episode_uuid: "e", task_id: "t", workflow_output }),
  ],
  ["abort_episode", (engine) => engine.abort("f/a.1", "e")],
  ["can_continue_episode", (engine) => engine.canContinue("f/a.1", "e")],
  ["get_episode_buffer", (engine) => engine.buffer()],
  ["get_current_batch_rollout_pool_information", (engine) => engine.pool()],
  ["sync_train_config", (engine) => engine.syncConfig("a: 1")],
  ["start_engine", (engine) => engine.start()],
  ["stop_engine", (engine) => engine.stop()],
  ["sync_train_code", (engine) => engine.syncCode(Buffer.from("1"))],
  ["get_server_experiment_dir", (engine) => engine.experimentDir()],
  ["push_verbose_log", (engine) => engine.pushLog({ tag: "a", message: "b" })],
  ["get_verbose_logs", (engine) => engine.logs()],
  ["agree_sync_weight", (engine) => engine.agreeSyncWeight("f/a.1")],
];

const page = "<html><h1>nginx</h1></html>";
const answers: [string, number, string, string][] = [
  ["429", 429, page, "text/html"],
  ["429 in FastAPI's form", 429, '{"detail":"Too Many Requests"}', "application/json"],
  ["404 with a page", 404, page, "text/html"],
  ["404 in plain text", 404, "Not Found", "text/plain"],
  ["404 in JSON of its own", 404, '{"message":"no such upstream"}', "application/json"],
  ["403 with a page", 403, page, "text/html"],
  ["403 in FastAPI's form", 403, '{"detail":"Forbidden"}', "application/json"],
  ["401 in FastAPI's form", 401, '{"detail":"Not authenticated"}', "application/json"],
  ["400 with a page", 400, page, "text/html"],
  ["400 as problem details", 400, '{"title":"Bad","status":400,"detail":"x"}', "application/problem+json"],
  ["400 with more than a detail", 400, '{"detail":"x","status":400}', "application/json"],
  ["422 without a list", 422, '{"detail":"x"}', "application/json"],
  ["413", 413, page, "text/html"],
  ["a redirect", 302, "", "text/html"],
  ["502", 502, page, "text/html"],
  ["503", 503, "busy", "text/plain"],
  ["504 in JSON", 504, '{"message":"Endpoint request timed out"}', "application/json"],
  ["an empty 200", 200, "", ""],
  ["an empty 204", 204, "", ""],
  ["a page with 200", 200, page, "text/html"],
];
/** `push_verbose_log` and `stop_engine` answer nothing in particular. */
const jsonOfItsOwn: [string, number, string, string] = [
  "200 with JSON of its own",
  200,
  '{"message":"hello"}',
  "application/json",
];

const respond =
  (status: number, text: string, type: string): Respond =>
  (_, response) =>
    sendText(response, status, text, type);

describe.each(calls)("%s", (name, call) => {
  const kinds = name === "push_verbose_log" ? answers : [...answers, jsonOfItsOwn];
  test.each(kinds)("answered with %s is unclear", async (_, status, text, type) => {
    const { engine } = await engineThat(respond(status, text, type));
    expect(await errorOf(call(engine))).toMatchObject({ failure: "unclear", call: name, status });
  });

  test("answered with 429 and a time is unclear, and tells the time", async () => {
    const { engine } = await engineThat((_, response) => {
      response.writeHead(429, { "retry-after": "20" }).end();
    });
    expect(await errorOf(call(engine))).toMatchObject({ failure: "unclear", retryAfterMs: 20_000 });
  });
});

const detail = (words: string) => JSON.stringify({ detail: words });
const fields = JSON.stringify({ detail: [{ loc: ["body"], msg: "Field required", type: "missing" }] });
const refusals: [string, string, number, string][] = [
  ["claim_episode", "an unknown type", 400, detail("Unknown episode_type: test")],
  ["end_episode", "another status", 400, detail("Engine is not in rolling state.")],
  ["end_episode", "another holder", 404, detail("Episode e is claimed by different client: a, but got b.")],
  ["sync_train_config", "a running engine", 400, detail("Engine is already started.")],
  ["sync_train_code", "a running engine", 400, detail("Engine is already started.")],
  ["start_engine", "a running engine", 400, detail("Engine is already started.")],
  ...calls
    .filter(([name]) => !name.startsWith("get_") || name === "get_episode_buffer")
    .map(([name]): [string, string, number, string] => [name, "a body that does not validate", 422, fields]),
];

describe("the engine's own refusal", () => {
  test.each(refusals)("of %s over %s is one", async (name, _, status, text) => {
    const call = calls.find(([other]) => other === name)?.[1];
    const { engine } = await engineThat(respond(status, text, "application/json"));
    expect(await errorOf(call?.(engine) ?? Promise.resolve())).toMatchObject({ failure: "refused", status });
  });
});

test("the words for a proxy's answer say what was found and where to look", async () => {
  const { engine, server } = await engineThat(respond(403, '{"message":"Forbidden"}', "application/json"));
  const error = await errorOf(engine.abort("f/a.1", "e"));
  expect(error.detail).toBe(
    `expected the engine's own answer, found "{"message":"Forbidden"}" of something before it; check engineUrl (${server.url}) and its proxy`,
  );
});
