import { expect, it, vi } from "vitest";
import { FaultInjector } from "../../../local/chaos/fault-injector.ts";
import { type FaultKind, Tally } from "../../../local/chaos/kinds.ts";
import { makePlan } from "../../../local/chaos/plan.ts";
import type { Before, ProxyRequest } from "../../../local/chaos/proxy.ts";

function injector(...kinds: FaultKind[]) {
  vi.useFakeTimers();
  const tally = new Tally();
  const plan = { ...makePlan({ seed: 1, rollouts: 1, minutes: 1, kinds }), table: [], timed: [] };
  const faults = new FaultInjector({ plan, tally, killer: () => undefined, redeliver: () => undefined });
  const put = (pk: string, facts: object = {}): ProxyRequest => {
    const json = { Item: { pk: { S: pk } }, ...facts };
    const headers = { "x-amz-target": "DynamoDB_20120810.PutItem" };
    return { method: "POST", path: "/", headers, text: JSON.stringify(json), json };
  };
  const ask = (request: ProxyRequest): Before => faults.table.before?.(request) ?? "pass";
  return { faults, tally, put, ask };
}
const refused = { answer: expect.objectContaining({ status: 400 }) };

it("refuses the first heartbeat of each invocation, however the SDK repeats it, and no later one", () => {
  const { tally, put, ask } = injector("table-first-heartbeat");
  const beat = (id: string) => put(`INVOCATION#${id}`, { ConditionExpression: "attribute_exists(pk)" });
  expect(ask(put("INVOCATION#a"))).toBe("pass");
  expect([ask(beat("a")), ask(beat("a")), ask(put("ROLLOUT#r", { ConditionExpression: "c" }))]).toEqual([
    refused,
    refused,
    "pass",
  ]);
  vi.advanceTimersByTime(2000);
  expect([ask(beat("a")), ask(beat("b"))]).toEqual(["pass", refused]);
  expect(tally.of("table-first-heartbeat")).toBe(3);
});

it("refuses everything while the table is away, and nothing once peace is made", () => {
  const { faults, tally, put, ask } = injector();
  faults.throttle("table-away", 60_000);
  // A shorter one within it ends it no sooner.
  faults.throttle("table-throttle", 1000);
  vi.advanceTimersByTime(59_000);
  expect(ask(put("ROLLOUT#r"))).toEqual(refused);
  faults.stop();
  expect(ask(put("ROLLOUT#r"))).toBe("pass");
  expect(tally.of("table-throttle") + tally.of("table-away")).toBe(1);
});
