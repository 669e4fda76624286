/** What only newer engines offer: the last section of the protocol. */
import { afterEach, describe, expect, test } from "vitest";
import type { EngineConfig } from "../../../local/engine/config.ts";
import type { Reply } from "./http.ts";
import { type StandIn, standIn } from "./stand-in.ts";

let at: StandIn | undefined;
afterEach(() => at?.engine.close());

async function begin(config: Partial<EngineConfig> = {}): Promise<StandIn> {
  at = await standIn({ config });
  return at;
}

async function post(
  { wire }: StandIn,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return wire.answer(await wire.send("POST", path, JSON.stringify(body), headers));
}
const json = ({ text }: Reply) => JSON.parse(text);

test.each([
  ["POST", "/agree_sync_weight"],
  ["POST", "/sync_train_code"],
  ["POST", "/push_verbose_log"],
  ["GET", "/get_verbose_logs"],
  ["GET", "/get_server_experiment_dir"],
  ["POST", "/v1/responses"],
  ["POST", "/v1/messages"],
])("an older engine knows no %s %s", async (method, path) => {
  const { wire } = await begin({ engineVersion: "older" });
  const reply = await wire.answer(await wire.send(method, path, method === "GET" ? undefined : "{}"));
  expect([reply.status, json(reply)]).toEqual([404, { detail: "Not Found" }]);
});

describe("agreement to a weight sync", () => {
  const agreeing = { collectionMethod: "rollout_until_any_client_agree_sync_weight" } as const;
  const clients = async ({ wire }: StandIn) => {
    const pool = await wire.call("/get_current_batch_rollout_pool_information");
    return (pool as { swarm_client_instruction: { active_clients: unknown } }).swarm_client_instruction
      .active_clients;
  };

  test("is a 500 under a method that asks nobody", async () => {
    const it = await begin();
    await it.worker.run("a", 1);
    expect((await post(it, "/agree_sync_weight", { client_uuid: "client-a" })).status).toBe(500);
  });

  test("is refused to a client that has ended nothing, or ended it inactive", async () => {
    const it = await begin(agreeing);
    const quiet = await it.worker.claim({ client: "quiet" });
    await it.worker.end("quiet", quiet, "a", 1, { declare_client_active: false });
    for (const client_uuid of ["nobody", "quiet"]) {
      const reply = await post(it, "/agree_sync_weight", { client_uuid });
      expect(json(reply)).toEqual({ success: false, failure_reason: expect.stringContaining(client_uuid) });
    }
    expect(it.engine.inspect().status).toBe("ENGINE.ROLLING");
  });

  test("is shown in the pool, and gone after the sync", async () => {
    const it = await begin({ ...agreeing, collectionMethod: "rollout_until_all_clients_agree_sync_weight" });
    await it.worker.run("a", 1, { client: "client-a" });
    await it.worker.run("a", 1, { client: "client-b" });
    await it.wire.call("/agree_sync_weight", { client_uuid: "client-a" });
    expect(await clients(it)).toMatchObject([
      { client_uuid: "client-a", allowed_sync_weight: true },
      { client_uuid: "client-b", allowed_sync_weight: false },
    ]);
    await it.wire.call("/agree_sync_weight", { client_uuid: "client-b" });
    await it.advance(5);
    expect(it.engine.inspect().globalStep).toBe(2);
    expect(await clients(it)).toEqual([]);
  });

  test("is asked only of clients that were active within 10 minutes", async () => {
    const it = await begin({ collectionMethod: "rollout_until_all_clients_agree_sync_weight" });
    await it.worker.run("a", 1, { client: "gone" });
    await it.worker.run("a", 1, { client: "busy" });
    const uuid = await it.worker.claim({ client: "busy", discardSeconds: 900 });
    await it.advance(500);
    await it.worker.callModel(uuid);
    await it.advance(200);
    expect(await clients(it)).toMatchObject([{ client_uuid: "busy" }]);
    await it.wire.call("/agree_sync_weight", { client_uuid: "busy" });
    expect(it.engine.inspect().status).toBe("ENGINE.ROLLING_POST");
  });

  test("never comes about where all clients declare themselves inactive", async () => {
    const it = await begin(agreeing);
    for (let one = 0; one < 12; one += 1) {
      const uuid = await it.worker.claim({ client: `c-${one}` });
      await it.worker.callModel(uuid);
      await it.worker.end(`c-${one}`, uuid, "a", 1, { declare_client_active: false });
      await it.advance(1);
    }
    expect(it.engine.inspect()).toMatchObject({ status: "ENGINE.ROLLING", globalStep: 1 });
    expect(it.engine.summary().counted).toBe(12);
  });
});

describe("the trainer's code", () => {
  // Zips with the names given, made by hand: no compression, no contents.
  const zip = (...names: string[]) => {
    const entries = names.map((name) => {
      const entry = Buffer.alloc(46);
      entry.writeUInt32LE(0x02014b50);
      entry.writeUInt16LE(name.length, 28);
      return Buffer.concat([entry, Buffer.from(name)]);
    });
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50);
    end.writeUInt16LE(names.length, 10);
    return Buffer.concat([...entries, end]).toString("latin1");
  };
  const sync = async (it: StandIn, body: string) => {
    const headers = { "content-type": "application/zip" };
    return it.wire.answer(await it.wire.send("POST", "/sync_train_code", body, headers));
  };

  test("is taken while OFFLINE, and says where it is", async () => {
    const it = await begin({ startRolling: false });
    const reply = await sync(it, zip("ajet/", "ajet/__init__.py"));
    expect(json(reply)).toMatchObject({
      success: true,
      temp_ajet_code_path: expect.stringMatching(/^\.\/ajet_temp\/\d+\/ajet$/),
    });
    expect(it.engine.inspect().trainCode).toEqual(["ajet/", "ajet/__init__.py"]);
  });

  test("is refused while the engine runs", async () => {
    const it = await begin();
    expect((await sync(it, zip("ajet/a.py"))).status).toBe(400);
  });

  test.each([
    ["no zip", "just text", "not a valid zip"],
    ["an empty zip", zip(), "empty"],
    ["a path out of it", zip("ajet/../../etc/passwd"), "Unsafe"],
    ["an absolute path", zip("/ajet/a.py"), "Unsafe"],
    ["something beside ajet/", zip("ajet/a.py", "other/b.py"), "other/b.py"],
  ])("is refused where it is %s", async (_, body, why) => {
    const it = await begin({ startRolling: false });
    const reply = await sync(it, body);
    expect([reply.status, json(reply)]).toEqual([400, { detail: expect.stringContaining(why) }]);
  });
});

test("the experiment's folder is null before the first start, and named by the config then", async () => {
  const it = await begin({ startRolling: false });
  expect(await it.wire.call("/get_server_experiment_dir")).toEqual({ server_experiment_dir: null });
  const yaml_as_string = "ajet:\n  experiment_name: trip-7\n  model:\n    path: /models/qwen-7b\n";
  await it.wire.call("/sync_train_config", { yaml_as_string });
  await it.wire.call("/start_engine", {});
  expect(await it.wire.call("/get_server_experiment_dir")).toEqual({
    server_experiment_dir: "saved_experiments/trip-7",
  });
  expect(await it.wire.call("/get_current_batch_rollout_pool_information")).toMatchObject({
    training_model_path: "/models/qwen-7b",
  });
});

test("lines are shown for 30 s", async () => {
  const it = await begin();
  await it.wire.call("/push_verbose_log", { tag: "sortie", message: "one" });
  await it.advance(20);
  await it.wire.call("/push_verbose_log", { message: "two" });
  const entries = await it.wire.call("/get_verbose_logs");
  expect(entries).toMatchObject({
    entries: [
      { tag: "sortie", message: "one" },
      { tag: "", message: "two" },
    ],
  });
  await it.advance(11);
  expect(await it.wire.call("/get_verbose_logs")).toMatchObject({ entries: [{ message: "two" }] });
  expect((await post(it, "/push_verbose_log", { tag: "x" })).status).toBe(422);
});

test("metrics may be objects", async () => {
  const it = await begin();
  const uuid = await it.worker.claim();
  await it.worker.callModel(uuid);
  const log_metrics = { tool_stats: { calls: 3, names: ["a"] }, turns: 2, times: [1, 2] };
  const workflow_output = { reward: 1, metadata: { task_id: "t" }, log_metrics };
  const body = { client_uuid: "client-a", episode_uuid: uuid, task_id: "t", workflow_output };
  expect(await it.wire.call("/end_episode", body)).toEqual({ success: true });
  expect(it.engine.ledger.of("output")).toMatchObject([{ output: { log_metrics } }]);
});

test("an older engine refuses metrics that are objects", async () => {
  const it = await begin({ engineVersion: "older" });
  const uuid = await it.worker.claim();
  const workflow_output = { reward: 1, metadata: { task_id: "t" }, log_metrics: { stats: {} } };
  const body = { client_uuid: "client-a", episode_uuid: uuid, task_id: "t", workflow_output };
  expect((await post(it, "/end_episode", body)).status).toBe(422);
});

/** Events of a stream: their names and data, keepalives left out. */
function eventsOf({ text }: Reply): [string, Record<string, unknown>][] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block) => {
      const [name = "", data = ""] = block.split("\n");
      return [name.replace("event: ", ""), JSON.parse(data.replace("data: ", ""))];
    });
}

describe("the model by OpenAI's Responses", () => {
  const ask = async (it: StandIn, body: object) => {
    const uuid = await it.worker.claim();
    return { uuid, reply: await post(it, "/v1/responses", body, it.worker.headersOf(uuid)) };
  };

  test("answers a response, and the call counts", async () => {
    const it = await begin({ keepModelRequests: true });
    const input = [
      { role: "user", content: [{ type: "input_text", text: "2+2?" }] },
      { type: "function_call", call_id: "c-1", name: "add", arguments: '{"a": 2}' },
      { type: "function_call_output", call_id: "c-1", output: "4" },
    ];
    const tools = [{ type: "function", name: "add", parameters: { type: "object" } }, { type: "web_search" }];
    const { uuid, reply } = await ask(it, { model: "m", instructions: "Be brief.", input, tools });
    expect(json(reply)).toMatchObject({
      object: "response",
      status: "completed",
      model: "m",
      output: [{ type: "message", content: [{ type: "output_text", text: "four" }] }],
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    const [record] = it.engine.inspect().episodes.filter(({ episode_uuid }) => episode_uuid === uuid);
    expect(record?.llm_call_count).toBe(1);
    expect(it.engine.ledger.of("model-call")[0]?.request).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "2+2?" },
        { role: "assistant", tool_calls: [{ id: "c-1", function: { name: "add" } }] },
        { role: "tool", tool_call_id: "c-1", content: "4" },
      ],
      tools: [{ type: "function", function: { name: "add" } }],
    });
  });

  test("streams a keepalive at once, then all events", async () => {
    const it = await begin();
    const { reply } = await ask(it, { model: "m", input: "12", stream: true });
    expect(reply.text).toMatch(/^: keepalive\n\n: keepalive\n\n: keepalive\n\nevent: /);
    const events = eventsOf(reply);
    expect(events.map(([name]) => name)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events.map(([, { sequence_number }]) => sequence_number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(events.at(-1)?.[1]).toMatchObject({ response: { status: "completed" } });
  });

  test("refuses a bad key with 401", async () => {
    const it = await begin();
    expect(
      (await post(it, "/v1/responses", { input: "x" }, { authorization: "Bearer nonsense" })).status,
    ).toBe(401);
  });
});

describe("the model by Anthropic's Messages", () => {
  const key = (it: StandIn, uuid: string) => ({
    "x-api-key": String(it.worker.headersOf(uuid)["authorization"]).replace("Bearer ", ""),
  });
  const ask = async (it: StandIn, body: object) => {
    const uuid = await it.worker.claim();
    return await post(it, "/v1/messages", { model: "m", max_tokens: 64, ...body }, key(it, uuid));
  };

  test("takes the key as x-api-key, and answers a message", async () => {
    const it = await begin({ keepModelRequests: true });
    const messages = [
      { role: "user", content: "2+2?" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I add." },
          { type: "tool_use", id: "u-1", name: "add", input: { a: 2 } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "u-1", content: "4" }] },
    ];
    const tools = [{ name: "add", input_schema: { type: "object" } }];
    const reply = await ask(it, { system: [{ type: "text", text: "Be brief." }], messages, tools });
    expect(json(reply)).toMatchObject({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "four" }],
      stop_reason: "end_turn",
    });
    expect(it.engine.ledger.of("model-call")[0]?.request).toMatchObject({
      max_tokens: 64,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "2+2?" },
        {
          role: "assistant",
          content: "I add.",
          tool_calls: [{ id: "u-1", function: { arguments: '{"a": 2}' } }],
        },
        { role: "tool", tool_call_id: "u-1", content: "4" },
      ],
    });
  });

  test("streams its events", async () => {
    const it = await begin();
    const events = eventsOf(await ask(it, { messages: [{ role: "user", content: "2+2?" }], stream: true }));
    expect(events.map(([name]) => name)).toEqual([
      "message_start",
      "ping",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(events[5]?.[1]).toMatchObject({ delta: { stop_reason: "end_turn" } });
  });

  test("uses a tool in its own words", async () => {
    const call = {
      id: "call_1",
      type: "function" as const,
      function: { name: "add", arguments: '{"a": 2}' },
    };
    at = await standIn({
      model: () => ({ message: { role: "assistant", content: null, tool_calls: [call] } }),
    });
    const reply = await ask(at, { messages: [{ role: "user", content: "2+2?" }] });
    expect(json(reply)).toMatchObject({
      content: [{ type: "tool_use", id: "call_1", name: "add", input: { a: 2 } }],
      stop_reason: "tool_use",
    });
  });
});

describe("a prompt that is longer than the context", () => {
  const long = { messages: [{ role: "user", content: "x".repeat(1000) }] };

  test.each([
    ["/v1/chat/completions", long, { choices: [{ finish_reason: "length", message: { content: "" } }] }],
    ["/v1/responses", { input: "x".repeat(1000) }, { status: "incomplete", output: [] }],
    ["/v1/messages", { ...long, max_tokens: 9 }, { stop_reason: "max_tokens", content: [] }],
  ])("newer, by %s: an ordinary answer that was cut", async (path, body, answer) => {
    const it = await begin({ contextTokens: 100 });
    const uuid = await it.worker.claim();
    const reply = await post(it, path, body, it.worker.headersOf(uuid));
    expect([reply.status, json(reply)]).toEqual([200, expect.objectContaining({})]);
    expect(json(reply)).toMatchObject(answer);
  });

  test("older: 500", async () => {
    const it = await begin({ contextTokens: 100, engineVersion: "older" });
    const uuid = await it.worker.claim();
    expect((await post(it, "/v1/chat/completions", long, it.worker.headersOf(uuid))).status).toBe(500);
  });
});
