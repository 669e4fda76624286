import { fetch } from "undici";
import { expect, onTestFinished, test } from "vitest";
import {
  createChat,
  createEngine,
  FreshDispatcher,
  GuardedDispatcher,
} from "../../functions/adapters/engine/index.ts";
import { SettingsError } from "../../functions/contract/settings-error.ts";
import { EngineError } from "../../functions/core/errors.ts";
import { engineCredentials, RENEW_PAUSE_MS } from "../../functions/engine-credentials.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { type Respond, sendJson, serve } from "../support/http-server.ts";

const settings = { engineSecretArn: "arn:secret", engineHeader: "x-sortie-token" };
const status = { engine_status: "ENGINE.ROLLING", engine_status_detail: null, global_step: 1 };
const completion = { choices: [{ index: 0, message: { role: "assistant", content: "4" } }] };

/** An engine behind a proxy that lets one token through, and a client whose secret is what the test says. */
async function guarded(options: { secret?: string; valid?: string; respond?: Respond } = {}) {
  const world = { secret: options.secret ?? "first", valid: options.valid ?? "first", readings: 0 };
  const answer: Respond =
    options.respond ??
    ((request, response) =>
      sendJson(
        response,
        200,
        request.path.endsWith("completions") ? completion : { ...status, success: true },
      ));
  const server = await serve((request, response) => {
    if (request.headers["x-sortie-token"] === world.valid) answer(request, response);
    else sendJson(response, 401, { detail: "who are you?" });
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const clock = new FakeClock();
  const credentials = engineCredentials(settings, clock, async () => {
    world.readings += 1;
    return world.secret;
  });
  if (credentials === undefined) throw new Error("expected credentials");
  const inner = new FreshDispatcher();
  onTestFinished(() => inner.destroy());
  const dispatcher = new GuardedDispatcher(inner, server.url, credentials);
  const engine = createEngine({ url: server.url, clock, dispatcher, getRetries: 0 });
  const tokens = () => server.received.map(({ headers }) => headers["x-sortie-token"]);
  return { world, server, clock, dispatcher, engine, tokens };
}

test("every call carries the token, which is read once", async () => {
  const { engine, world, tokens } = await guarded();
  await Promise.all([
    engine.end(anEnd),
    engine.abort("main/a", "e1"),
    engine.canContinue("main/a", "e1").catch(() => {}),
  ]);
  expect(tokens()).toEqual(["first", "first", "first"]);
  expect(world.readings).toBe(1);
});

test("a model call carries the token beside the episode's own key", async () => {
  const { server, dispatcher, clock } = await guarded();
  const { signal } = new AbortController();
  const chat = createChat({ baseUrl: `${server.url}/v1`, apiKey: "sk-ajet-key", signal, dispatcher, clock });
  await chat.chat({ messages: [{ role: "user", content: "2+2?" }] });
  expect(server.received[0]?.headers).toMatchObject({
    authorization: "Bearer sk-ajet-key",
    "x-sortie-token": "first",
  });
});

test("a model call after the attempt's signal fails at once with its reason, by chat and by fetch", async () => {
  const { server, dispatcher, clock } = await guarded();
  const stray: unknown[] = [];
  const note = (error: unknown) => stray.push(error);
  process.on("unhandledRejection", note);
  const attempt = new AbortController();
  const baseUrl = `${server.url}/v1`;
  createChat({ baseUrl, apiKey: "sk-ajet-late", signal: attempt.signal, dispatcher, clock });
  attempt.abort(new Error("over"));
  for (const headers of [{ authorization: "Bearer sk-ajet-late" }, { "x-api-key": "sk-ajet-late" }]) {
    const call = fetch(`${baseUrl}/messages`, { method: "POST", body: "{}", headers, dispatcher });
    await expect(call).rejects.toMatchObject({ cause: { message: "over" } });
  }
  await new Promise(setImmediate);
  process.off("unhandledRejection", note);
  expect([stray, server.received]).toEqual([[], []]);
});

test("a request that cannot be sent fails instead of hanging, as without a token", async () => {
  const { server, dispatcher } = await guarded();
  const options = { origin: server.url, path: "/v1 /models", method: "GET" as const };
  await expect(dispatcher.request(options)).rejects.toThrow("invalid request path");
});

test("an agent's own fetch carries it too", async () => {
  const { server, dispatcher } = await guarded();
  const init = { method: "POST", headers: { authorization: "Bearer mine" }, body: "{}", dispatcher };
  const answer = await fetch(`${server.url}/v1/chat/completions`, init);
  expect(answer.status).toBe(200);
  expect(server.received[0]?.headers).toMatchObject({
    authorization: "Bearer mine",
    "x-sortie-token": "first",
  });
});

test("nobody but the engine gets the token", async () => {
  const { dispatcher } = await guarded();
  const other = await serve((_, response) => sendJson(response, 200, {}));
  onTestFinished(() => other[Symbol.asyncDispose]());
  await fetch(other.url, { dispatcher });
  expect(other.received[0]?.headers["x-sortie-token"]).toBe(undefined);
});

test("a token that was rotated is read again, and the call that met it goes through", async () => {
  const { engine, world, clock, tokens } = await guarded();
  await engine.end(anEnd);
  world.valid = "second";
  world.secret = "second";
  await clock.sleep(RENEW_PAUSE_MS);
  await Promise.all([engine.end(anEnd), engine.abort("main/a", "e1")]);
  expect(tokens().toSorted()).toEqual(["first", "first", "first", "second", "second"]);
  expect(world.readings).toBe(2);
});

test("a token that stays refused is read no more than once in a while", async () => {
  const { engine, world, clock, tokens } = await guarded({ valid: "other" });
  const ends = async () => {
    const failure = await engine.end(anEnd).catch((error: unknown) => error);
    expect(failure).toMatchObject({ failure: "unclear", status: 401 });
    expect(failure instanceof EngineError && failure.message.includes("first")).toBe(false);
  };
  for (let tries = 0; tries < 5; tries += 1) await ends();
  expect([world.readings, tokens().length]).toEqual([1, 5]);
  await clock.sleep(RENEW_PAUSE_MS);
  await ends();
  expect([world.readings, tokens().length]).toEqual([2, 6]);
});

test("without a token nothing is sent, and nobody learns what stood in the secret", async () => {
  const { engine, server } = await guarded({ secret: "two words" });
  const failure = await engine.end(anEnd).catch((error: unknown) => error);
  expect(failure).toMatchObject({ failure: "unreachable", call: "end_episode" });
  expect(String(failure)).toContain("expected the secret arn:secret to hold one word");
  expect(String(failure)).not.toContain("two words");
  expect(server.received).toEqual([]);
});

test.each([
  ["the bare token", " abc\n", "abc"],
  ["JSON, as Secrets Manager's own rotation keeps it", '{"token": "abc", "user": "x"}', "abc"],
])("the secret holds %s", async (_, secret, token) => {
  const credentials = engineCredentials(settings, new FakeClock(), async () => secret);
  expect(await credentials?.headers()).toEqual({ "x-sortie-token": token });
});

test.each([undefined, "", "a\r\nb", '{"tokens": "abc"}', "{broken", "é"])(
  "%j holds no token",
  async (secret) => {
    const credentials = engineCredentials(settings, new FakeClock(), async () => secret);
    await expect(credentials?.headers()).rejects.toThrow(SettingsError);
  },
);

test("no token is asked for where none is set, and half a setting is refused", () => {
  expect(engineCredentials({}, new FakeClock())).toBe(undefined);
  expect(() => engineCredentials({ engineHeader: "x" }, new FakeClock())).toThrow(
    "expected both SORTIE_ENGINE_SECRET_ARN and SORTIE_ENGINE_HEADER, found one: deploy again",
  );
});

const anEnd = {
  client_uuid: "main/a",
  episode_uuid: "e1",
  task_id: "t",
  workflow_output: { reward: 1, is_success: true, metadata: {}, log_metrics: {} },
};
