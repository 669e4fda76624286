import { describe, expect, test } from "vitest";
import type { Engine } from "../../../../functions/core/engine.ts";
import { NotOfferedError } from "../../../../functions/core/errors.ts";
import { engineThat, errorOf } from "../../../support/engine-that.ts";
import { type Respond, sendJson, sendText } from "../../../support/http-server.ts";

const calls: [string, (engine: Engine) => Promise<unknown>][] = [
  ["sync_train_code", (engine) => engine.syncCode(Buffer.from("12"))],
  ["get_server_experiment_dir", (engine) => engine.experimentDir()],
  ["push_verbose_log", (engine) => engine.pushLog({ tag: "sortie", message: "a sweep began" })],
  ["get_verbose_logs", (engine) => engine.logs()],
  ["agree_sync_weight", (engine) => engine.agreeSyncWeight("fleet/attempt.1")],
];
const answering =
  (json: unknown): Respond =>
  (_, response) =>
    sendJson(response, 200, json);

describe("on an older engine", () => {
  test.each(calls)("%s is not offered, and is asked once", async (call, act) => {
    const { engine, server } = await engineThat((_, response) =>
      sendJson(response, 404, { detail: "Not Found" }),
    );
    const error = await errorOf(act(engine));
    expect(error).toBeInstanceOf(NotOfferedError);
    expect(error).toMatchObject({ name: "NotOfferedError", code: "engine-refused", call, status: 404 });
    expect(server.received.map(({ path }) => path)).toEqual([`/${call}`]);
  });
});

describe("behind a proxy with a 404 of its own", () => {
  test.each(calls)("%s does not count as missing", async (_, act) => {
    const { engine } = await engineThat((_, response) => sendText(response, 404, "<html>nginx</html>"));
    expect(await errorOf(act(engine))).not.toBeInstanceOf(NotOfferedError);
  });
});

describe("on a newer engine", () => {
  test("the code goes out as the bytes that were given, as a zip", async () => {
    const answer = { success: true, message: "saved", temp_ajet_code_path: "/tmp/code" };
    const { engine, server } = await engineThat(answering(answer));
    expect(await engine.syncCode(Buffer.from("123"))).toEqual(answer);
    expect(server.received[0]).toMatchObject({ method: "POST", path: "/sync_train_code", json: 123 });
    expect(server.received[0]?.headers).toMatchObject({
      "content-type": "application/zip",
      "content-length": "3",
    });
  });

  test("code that comes while the engine is not OFFLINE is refused in the engine's words", async () => {
    const { engine } = await engineThat((_, response) => sendJson(response, 400, { detail: "not offline" }));
    const error = await errorOf(engine.syncCode(Buffer.from("1")));
    expect(error).toMatchObject({ failure: "refused", status: 400, detail: "not offline" });
  });

  test.each([
    [{ server_experiment_dir: "/data/run-1" }, "/data/run-1"],
    [{ server_experiment_dir: null }, null],
  ])("the experiment's folder is read from %j", async (answer, dir) => {
    const { engine, server } = await engineThat(answering(answer));
    expect(await engine.experimentDir()).toBe(dir);
    expect(server.received[0]).toMatchObject({ method: "GET", path: "/get_server_experiment_dir" });
  });

  test("a line is pushed with tag and message, whatever is answered", async () => {
    const { engine, server } = await engineThat(answering(null));
    await engine.pushLog({ tag: "sortie", message: "a sweep began" });
    expect(server.received[0]?.json).toEqual({ tag: "sortie", message: "a sweep began" });
  });

  test("lines are read, with a time in seconds or in words", async () => {
    const entries = [
      { timestamp: 1770000000.5, tag: "a", message: "one" },
      { timestamp: "12:00:01", tag: "b", message: "two" },
    ];
    const { engine } = await engineThat(answering({ entries }));
    expect(await engine.logs()).toEqual(entries);
  });

  test("an agreement is sent under the client's uuid, and a no is an answer", async () => {
    const answer = { success: false, failure_reason: "not active" };
    const { engine, server } = await engineThat(answering(answer));
    expect(await engine.agreeSyncWeight("fleet/attempt.1")).toEqual(answer);
    expect(server.received[0]?.json).toEqual({ client_uuid: "fleet/attempt.1" });
  });

  test("under a method that asks for no agreement it is unclear, with the status", async () => {
    const { engine } = await engineThat((_, response) => sendText(response, 500, "Internal Server Error"));
    const error = await errorOf(engine.agreeSyncWeight("fleet/attempt.1"));
    expect(error).toMatchObject({ failure: "unclear", status: 500, call: "agree_sync_weight" });
  });

  test("the pool tells the model's path and the active clients", async () => {
    const { engine } = await engineThat(
      answering({
        engine_status: "ENGINE.ROLLING",
        training_model_path: "/models/qwen",
        swarm_client_instruction: {
          active_clients: [{ client_uuid: "fleet/a.1", allowed_sync_weight: true, since: 3 }],
        },
      }),
    );
    expect(await engine.pool()).toMatchObject({
      training_model_path: "/models/qwen",
      swarm_client_instruction: { active_clients: [{ client_uuid: "fleet/a.1", allowed_sync_weight: true }] },
    });
  });

  test("a pool that words them otherwise is still a pool", async () => {
    const { engine } = await engineThat(
      answering({ engine_status: "ENGINE.ROLLING", training_model_path: 7, swarm_client_instruction: [] }),
    );
    expect(await engine.pool()).toMatchObject({
      engine_status: "ENGINE.ROLLING",
      training_model_path: null,
      swarm_client_instruction: null,
    });
  });

  test.each([
    [undefined, false],
    [true, true],
  ])("an end declares its client active only if told so (%j)", async (declare_client_active, sent) => {
    const { engine, server } = await engineThat(answering({ success: true }));
    const workflow_output = { reward: 1, is_success: null, metadata: {}, log_metrics: {} };
    const names = { client_uuid: "fleet/a.1", episode_uuid: "ep-1", task_id: "t" };
    await engine.end({ ...names, workflow_output, declare_client_active });
    expect(server.received[0]?.json).toMatchObject({ declare_client_active: sent });
  });
});
