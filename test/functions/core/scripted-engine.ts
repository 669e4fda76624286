/** A real server that plays the engine for one episode of ours, as a test scripts it. */
import type { ServerResponse } from "node:http";
import { engineThat } from "../../support/engine-that.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { type Received, sendJson } from "../../support/http-server.ts";
import { aPool, NOW, running } from "./items.ts";

export const us = "main/invocation-1.1";

/** What the pool shows. `unreadable`: the engine answers 500. */
export type Shown = "ours" | "ended" | "other" | "nowhere" | "batch-over" | "unreadable";
/** How an end or an abort is answered: with a status and its detail, or `cut`: taken or not, the answer is lost. */
export type Answer = "ok" | "cut" | readonly [status: number, detail: unknown, retryAfter?: string];

export interface Script {
  /** One entry for each reading of the pool; the last one stays. */
  readonly pool?: readonly Shown[];
  /** One entry for each end; the last one stays. */
  readonly ends?: readonly Answer[];
  readonly aborts?: readonly Answer[];
  /** Whether the episode stands in the engine's buffer, unclaimed. */
  readonly inLine?: boolean;
}

const pools: Record<Exclude<Shown, "unreadable">, object> = {
  ours: aPool({ running_episode_details: { "episode-1": running(us) } }),
  ended: aPool({
    completed_tasks_details: { "task-1": ["episode-1"] },
    completed_tasks_client_uuids: { "task-1": [us] },
  }),
  other: aPool({ running_episode_details: { "episode-1": running("main/other.1") } }),
  nowhere: aPool(),
  "batch-over": aPool({ global_step: 2 }),
};

export async function scriptedEngine(script: Script) {
  const clock = new FakeClock(NOW);
  const scripts = {
    pool: [...(script.pool ?? [])],
    ends: [...(script.ends ?? [])],
    aborts: [...(script.aborts ?? [])],
  };
  const next = <T>(entries: T[]): T | undefined => (entries.length > 1 ? entries.shift() : entries[0]);
  const { engine, server } = await engineThat(
    (request, response) => {
      if (request.path === "/end_episode") answer(next(scripts.ends), request, response);
      else if (request.path === "/abort_episode") answer(next(scripts.aborts), request, response);
      else if (request.path === "/get_episode_buffer") sendJson(response, 200, { buffer: buffered(script) });
      else show(next(scripts.pool), response);
    },
    { clock, getRetries: 0 },
  );
  const sent = (call: string) =>
    server.received.filter(({ path }) => path === `/${call}`).map(({ json }) => json);
  return {
    clock,
    engine,
    ends: () => sent("end_episode"),
    aborts: () => sent("abort_episode"),
    looks: () => sent("get_current_batch_rollout_pool_information").length,
  };
}

function buffered({ inLine }: Script): object[] {
  return inLine ? [{ episode_uuid: "episode-1", episode_status: "registered" }] : [];
}

function answer(how: Answer | undefined, request: Received, response: ServerResponse): void {
  if (how === "ok") sendJson(response, 200, { success: true });
  else if (how === "cut") request.socket.destroy();
  else if (how === undefined) sendJson(response, 418, { detail: "the test scripts no such call" });
  else {
    if (how[2] !== undefined) response.setHeader("retry-after", how[2]);
    sendJson(response, how[0], { detail: how[1] });
  }
}

function show(what: Shown | undefined, response: ServerResponse): void {
  if (what === undefined || what === "unreadable") sendJson(response, 500, { detail: "broken" });
  else sendJson(response, 200, pools[what]);
}
