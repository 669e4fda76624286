/** What each version of the engine does in the situations of the table in docs/compatibility.md, found out by asking. */
import type { EngineConfig, EngineVersion } from "../../../local/engine/config.ts";
import type { Reply } from "./http.ts";
import { type StandIn, standIn } from "./stand-in.ts";

export interface VersionRow {
  readonly what: string;
  /** What holds the stand-in to the real one here. */
  readonly heldBy: "recording" | "protocol";
  readonly config?: Partial<EngineConfig>;
  readonly find: (it: StandIn) => Promise<string>;
}

async function post({ wire }: StandIn, path: string, body: unknown, headers = {}): Promise<Reply> {
  return wire.answer(await wire.send("POST", path, JSON.stringify(body), headers));
}
const status = async (reply: Promise<Reply>) => String((await reply).status);
const pool = (it: StandIn) =>
  it.wire.call("/get_current_batch_rollout_pool_information") as Promise<Record<string, unknown>>;
const endBody = (uuid: string, more: object = {}) => ({
  client_uuid: "client-a",
  episode_uuid: uuid,
  task_id: "t",
  workflow_output: { reward: 1, metadata: { task_id: "t" }, ...more },
});
const chat = (it: StandIn, uuid: string, content: string, more: object = {}) =>
  post(
    it,
    "/v1/chat/completions",
    { messages: [{ role: "user", content }], ...more },
    it.worker.headersOf(uuid),
  );

async function offline(it: StandIn): Promise<string> {
  const { engine_status, global_step } = (await it.wire.call("/get_engine_status")) as Record<
    string,
    unknown
  >;
  return `${engine_status}, step ${global_step}`;
}

/** An end that the trainer does not acknowledge. */
async function unacknowledged(it: StandIn, meanwhile: () => void): Promise<string> {
  const uuid = await it.worker.claim();
  await it.worker.callModel(uuid);
  it.engine.delayAcknowledgements(10_000);
  const sent = await it.wire.send("POST", "/end_episode", JSON.stringify(endBody(uuid)));
  meanwhile();
  const { status: code } = await it.wire.answer(sent);
  const seconds = ((await sent.answeredAt) - sent.sentAt) / 1000;
  const { endsUndelivered } = it.engine.summary();
  return `${code} after ${seconds} s${endsUndelivered > 0 ? ", not delivered" : ""}`;
}

async function answered(it: StandIn, uuid: string, content: string): Promise<string> {
  const body = JSON.stringify({ messages: [{ role: "user", content }] });
  const sent = await it.wire.send("POST", "/v1/chat/completions", body, it.worker.headersOf(uuid));
  const { status: code } = await it.wire.answer(sent);
  return `${code} after ${((await sent.answeredAt) - sent.sentAt) / 1000} s`;
}

export const versionRows: readonly VersionRow[] = [
  {
    what: "after a stop",
    heldBy: "protocol",
    find: async (it) => {
      await it.wire.call("/stop_engine", {});
      return offline(it);
    },
  },
  {
    what: "after the trainer has died",
    heldBy: "protocol",
    find: async (it) => {
      it.engine.killTrainer();
      await it.advance(5);
      return offline(it);
    },
  },
  {
    what: "`start_engine` while it rolls",
    heldBy: "protocol",
    find: async (it) => {
      const code = await status(post(it, "/start_engine", {}));
      return `${code}, ${it.engine.inspect().trainers} trainer(s)`;
    },
  },
  {
    what: "an end while the engine leaves its rolling states",
    heldBy: "protocol",
    find: (it) => unacknowledged(it, () => it.engine.forceWeightSync()),
  },
  {
    what: "an end that the trainer never acknowledges",
    heldBy: "recording",
    find: (it) => unacknowledged(it, () => undefined),
  },
  {
    what: "a pool that the server fails to build",
    heldBy: "protocol",
    config: { unreadablePools: 1 },
    find: async (it) => {
      const { engine_status, completed_tasks_details } = await pool(it);
      const buffer = await status(post(it, "/get_episode_buffer", {}));
      return `200, engine_status ${engine_status}, ${Object.keys(Object(completed_tasks_details)).length} tasks; buffer ${buffer}`;
    },
  },
  {
    what: "metrics that are objects",
    heldBy: "protocol",
    find: async (it) => {
      const uuid = await it.worker.claim();
      return status(post(it, "/end_episode", endBody(uuid, { log_metrics: { tools: { calls: 1 } } })));
    },
  },
  {
    what: "a model call with a bad key",
    heldBy: "recording",
    find: async (it) => {
      const reply = await post(it, "/v1/chat/completions", { messages: [] }, { authorization: "Bearer x" });
      const { status_code } = JSON.parse(reply.text) as { status_code?: number };
      return `${reply.status}${status_code === undefined ? "" : `, status_code ${status_code}`}`;
    },
  },
  {
    what: "a model call of 12 s as a stream",
    heldBy: "recording",
    find: async (it) => {
      const reply = await chat(it, await it.worker.claim(), "12", { stream: true });
      return `${reply.text.split(": keepalive\n").length - 1} keepalives`;
    },
  },
  {
    what: "a model call of 40 s, discard timeout 15 s",
    heldBy: "recording",
    find: async (it) => answered(it, await it.worker.claim({ discardSeconds: 15 }), "40"),
  },
  {
    what: "a model call that is never answered",
    heldBy: "protocol",
    find: async (it) => answered(it, await it.worker.claim({ discardSeconds: 5000 }), "9999"),
  },
  {
    what: "a prompt over the context's length",
    heldBy: "protocol",
    config: { contextTokens: 50 },
    find: async (it) => {
      const reply = await chat(it, await it.worker.claim(), "x".repeat(1000));
      if (reply.status !== 200) return String(reply.status);
      const { choices } = JSON.parse(reply.text) as { choices: { finish_reason: string }[] };
      return `200, finish reason ${choices[0]?.finish_reason}`;
    },
  },
  {
    what: "`agree_sync_weight` by an active client",
    heldBy: "protocol",
    config: { collectionMethod: "rollout_until_any_client_agree_sync_weight" },
    find: async (it) => {
      await it.worker.run("t", 1);
      const reply = await post(it, "/agree_sync_weight", { client_uuid: "client-a" });
      return `${reply.status}, ${it.engine.inspect().status}`;
    },
  },
  {
    what: "fields of the pool beyond the older ones",
    heldBy: "protocol",
    find: async (it) => {
      const named = ["training_model_path", "swarm_client_instruction"];
      const found = Object.keys(await pool(it)).filter((name) => named.includes(name));
      return found.length === 0 ? "none" : found.join(", ");
    },
  },
  {
    what: "`sync_train_code` without a zip, OFFLINE",
    heldBy: "protocol",
    config: { startRolling: false },
    find: (it) => status(post(it, "/sync_train_code", {})),
  },
  {
    what: "`get_server_experiment_dir`, `get_verbose_logs`",
    heldBy: "protocol",
    find: async ({ wire }) => {
      const codes: number[] = [];
      for (const path of ["/get_server_experiment_dir", "/get_verbose_logs"])
        codes.push((await wire.answer(await wire.send("GET", path, undefined))).status);
      return codes.join(", ");
    },
  },
  {
    what: "`POST /v1/responses`; `POST /v1/messages` with `x-api-key`",
    heldBy: "protocol",
    find: async (it) => {
      const { authorization = "" } = it.worker.headersOf(await it.worker.claim());
      const key = { "x-api-key": authorization.replace("Bearer ", "") };
      const messages = [{ role: "user", content: "2+2?" }];
      const responses = await status(post(it, "/v1/responses", { input: "2+2?" }, { authorization }));
      return `${responses}; ${await status(post(it, "/v1/messages", { messages, max_tokens: 9 }, key))}`;
    },
  },
];

export async function findIn(version: EngineVersion, row: VersionRow): Promise<string> {
  const it = await standIn({ config: { ...row.config, engineVersion: version } });
  try {
    return await row.find(it);
  } finally {
    await it.engine.close();
  }
}
