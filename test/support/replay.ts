/** Replays a recorded situation of the reference client against Sortie's, and compares what went over the wire. */
import { expect } from "vitest";
import { createEngine } from "../../functions/adapters/engine/client.ts";
import { FreshDispatcher } from "../../functions/adapters/engine/dispatcher.ts";
import type { Engine } from "../../functions/core/engine.ts";
import { FakeClock } from "./fake-clock.ts";
import { playEngine, requestsOf, type ScriptedEngine, type Trace, type TracedRequest } from "./traces.ts";

/** Deviation client-uuid: what stands for the reference's "client-self". */
export const CLIENT = "fleet-1/attempt-1";

export interface Replay {
  readonly engine: Engine;
  readonly played: ScriptedEngine;
  readonly clock: FakeClock;
}

/** Lets Sortie's client act in a recorded situation. */
export async function replay(trace: Trace, act: (replay: Replay) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  await using played = await playEngine(trace, clock);
  const dispatcher = new FreshDispatcher();
  // A time-out of the trace really happens here, so it must be short; the limits are compared as numbers.
  const timesOut = JSON.stringify(trace.replies).includes("timed out");
  const timeouts = timesOut ? { claim_episode: 800, end_episode: 800 } : {};
  const url = played.url + new URL(trace.server_url).pathname;
  // Deviation get-retry, switched off.
  const engine = createEngine({ url, clock, dispatcher, timeouts, getRetries: 0 });
  try {
    await act({ engine, played, clock });
  } finally {
    await dispatcher.destroy();
  }
}

/** What the reference sent, with the deviations of the bodies, comparable in virtual milliseconds. */
export function expectedRequests(trace: Trace): object[] {
  return requestsOf(trace).map(({ timeout: _, ...request }) =>
    comparable({ ...request, ...bodyHere(request) }),
  );
}

function bodyHere({ path, json }: TracedRequest): { json?: Record<string, unknown> } {
  if (json === undefined) return {};
  const body = "client_uuid" in json ? { ...json, client_uuid: CLIENT } : json;
  return { json: /\/(end|abort)_episode$/.test(path) ? { ...body, declare_client_active: false } : body };
}

/** In whole virtual milliseconds. */
export function comparable(request: TracedRequest): object {
  return { ...request, at: Math.round(request.at * 1000) };
}

/** Method, path, body, order and virtual time of every request, and every sleep. */
export function compareRequests(trace: Trace, { played, clock }: Replay): void {
  expect(played.seen.map(comparable)).toEqual(expectedRequests(trace));
  expect(clock.sleeps).toEqual(trace.sleeps.map((seconds) => seconds * 1000));
}
