/** Two fleets on one engine, 20 functions, 200 rollouts of 200 different tasks; real table, real engine over HTTP. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createChat, createEngine, FreshDispatcher } from "../../../functions/adapters/engine/index.ts";
import { createAdmissionStore } from "../../../functions/adapters/table/admission.ts";
import type { ThrottleSetting } from "../../../functions/contract/throttle-setting.ts";
import { AdmissionController } from "../../../functions/core/admission/admission-controller.ts";
import { policyOf } from "../../../functions/core/admission/throttle.ts";
import { claimEpisode, type Granted } from "../../../functions/core/rollout/claim.ts";
import { type EngineHandle, startEngine } from "../../../local/engine/start.ts";
import { createTables, startTableServer, type TableServer } from "../../../local/servers/table-server.ts";
import { FastClock } from "../../support/fast-clock.ts";
import { stateTable } from "../adapters/table/servers.ts";

const fleets: { name: string; tasks: number; agentMs: number; setting: ThrottleSetting }[] = [
  { name: "math", tasks: 80, agentMs: 400, setting: { ratio: 0.4, batchSize: 10, repeats: 1 } },
  { name: "code", tasks: 120, agentMs: 2000, setting: { ratio: 0.6, batchSize: 10, repeats: 1 } },
];
const clock = new FastClock(20);
const PATIENT = { idleMs: 3_600_000 };
const dispatcher = new FreshDispatcher();
let server: TableServer;
let standIn: EngineHandle;

beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
  standIn = await startEngine({
    clock,
    seed: 1,
    model: () => ({ message: { role: "assistant", content: "4" } }),
    config: { batchTasks: 10, repeats: 1, slots: 40, bootSeconds: 0, registerSeconds: 0, syncSeconds: 5 },
  });
});
afterAll(async () => {
  await standIn.close();
  await server.close();
});

/** Claims under the fleet's throttle, calls the model, and ends. Waits for as long as it takes. */
async function runOne(
  fleet: (typeof fleets)[number],
  desk: AdmissionController,
  attempt: string,
  taskId: string,
) {
  const engine = createEngine({ url: standIn.url, clock, dispatcher });
  const request = {
    client_uuid: `${fleet.name}/${attempt}`,
    episode_type: "train" as const,
    discard_episode_timeout: 240,
    throttle_policy: policyOf(fleet.setting, taskId),
  };
  const ticket = desk.request(taskId);
  const options = { clock, waitUntil: Number.POSITIVE_INFINITY, admission: () => ticket.ask() };
  const { grant } = (await claimEpisode(engine, request, options)) as Granted;
  const signal = new AbortController().signal;
  const { chat } = createChat({
    baseUrl: grant.openai_base_url,
    apiKey: grant.openai_api_key,
    signal,
    dispatcher,
    clock,
  });
  await chat({ messages: [{ role: "user", content: "2 + 2?" }] });
  await clock.sleep(fleet.agentMs);
  const output = { reward: 1, is_success: true, metadata: { task_id: taskId }, log_metrics: {} };
  await engine.end({
    ...request,
    episode_uuid: grant.episode_uuid,
    task_id: taskId,
    workflow_output: output,
  });
}

/** Ten functions of ten rollouts each at most; each has its own desk, as each process does. */
function runFleet(fleet: (typeof fleets)[number]): Promise<unknown> {
  const admissions = createAdmissionStore({ client: server.client, table: stateTable.name, ttlDays: 1 });
  const engine = createEngine({ url: standIn.url, clock, dispatcher });
  const ports = { clock, random: Math.random, admissions, engine, log: () => undefined };
  const desks = Array.from(
    { length: 10 },
    // A machine that stands still for half a second is no engine that idles for ten.
    () => new AdmissionController(ports, { fleet: fleet.name, fleetId: fleet.name }, fleet.setting, PATIENT),
  );
  const rollouts = Array.from({ length: fleet.tasks }, (_, index) => {
    const desk = desks[index % desks.length];
    if (!desk) throw new Error("no desk");
    return runOne(fleet, desk, `i${index % desks.length}.${index}`, `${fleet.name}-${index}`);
  });
  return Promise.all(rollouts);
}

test("each of 20 batches holds four tasks of one fleet and six of the other, whichever is faster", async () => {
  await Promise.all(fleets.map(runFleet));
  const granted = standIn.ledger.of("claim").filter((claim) => claim.granted);
  const mix = [...Map.groupBy(granted, ({ globalStep }) => globalStep)].map(([, claims]) =>
    fleets.map(
      ({ name }) => new Set(claims.map(({ taskId }) => taskId).filter((id) => id.startsWith(name))).size,
    ),
  );
  expect(mix).toEqual(Array.from({ length: 20 }, () => [4, 6]));
  expect(standIn.ledger.summary()).toMatchObject({ counted: 200, wiped: 0, aborts: 0, discards: 0 });
}, 60_000);
