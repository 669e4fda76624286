import { expect, test } from "vitest";
import type { AdmissionController } from "../../../functions/core/admission/admission-controller.ts";
import type { ClaimAnswer, ClaimRequest } from "../../../functions/core/protocol.ts";
import type { FleetLimits, Ports } from "../../../functions/core/rollout/context.ts";
import type { Rollout } from "../../../functions/core/rollout/message.ts";
import { decodeMessage } from "../../../functions/core/rollout/message.ts";
import { claimFor } from "../../../functions/core/rollout/start-attempt.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const throttle = { ratio: 0.4, batchSize: 10, repeats: 4 };
const limits: FleetLimits = {
  fleet: "math",
  fleetId: "math",
  engine: "main",
  maxAttempts: 3,
  maxDiscards: 10,
  discardTimeoutSeconds: 240,
  claimWaitSeconds: 10,
  minEpisodeSeconds: 30,
  settleMarginSeconds: 30,
  allowUnusualRewards: false,
  stragglerGraceSeconds: undefined,
  heartbeatSeconds: 60,
  maxReceiveCount: 1000,
  messageRetentionDays: 14,
  throttle,
};
const rollout = (facts: object = {}): Rollout =>
  decodeMessage(JSON.stringify({ task: { task_id: "t1", main_query: "2 + 2?" }, ...facts }), "message");

/** A claim with a desk that lets in or not, at an engine that has episodes or not. */
async function claim(wanted: Rollout, { admitted = true, episodes = true, own = limits } = {}) {
  const clock = new FakeClock(1_000_000);
  const asked: string[] = [];
  const claims: ClaimRequest[] = [];
  const answer: ClaimAnswer = {
    success: episodes,
    client_uuid: "math/i.1",
    episode_uuid: episodes ? "e1" : "",
    openai_base_url: "",
    openai_api_key: "",
    fail_cause: episodes ? "" : "No available episodes to claim.",
  };
  const engine = {
    status: async () => ({ engine_status: "ENGINE.ROLLING", engine_status_detail: null, global_step: 1 }),
    claim: async (request: ClaimRequest) => {
      claims.push(request);
      return answer;
    },
  };
  const desk = {
    request: (task: string) => ({
      ask: async () => {
        asked.push(`ask ${task}`);
        return { admitted, reason: admitted ? "" : "full" };
      },
      release: async () => void asked.push(`release ${task}`),
    }),
  };
  const gate = { closedFor: async () => undefined };
  const rollouts = { read: async () => undefined };
  const ports = { clock, engine, gate, rollouts, log: () => undefined } as unknown as Ports;
  const known = { item: undefined, at: clock.now() };
  const invocation = {
    probe: undefined,
    endsAt: 2_000_000,
    desk: desk as unknown as AdmissionController,
    known,
  };
  const outcome = await claimFor(wanted, "i.1", invocation, ports, own);
  return { outcome, asked, policies: claims.map((request) => request.throttle_policy) };
}

test("a train rollout asks before it claims, and tells the engine its throttle", async () => {
  const { outcome, asked, policies } = await claim(rollout());
  expect(outcome.kind).toBe("granted");
  expect(asked).toEqual(["ask t1"]);
  expect(policies).toEqual([
    { ratio: 0.4, expected_batch_size: 10, expected_num_repeat: 4, current_task_id: "t1" },
  ]);
});

test("one that is throttled looks every 2 s, claims nothing, and is deferred as throttled", async () => {
  const { outcome, asked, policies } = await claim(rollout(), { admitted: false });
  expect(outcome).toMatchObject({ kind: "waited-out", reason: "throttled", detail: "full" });
  expect(asked.filter((what) => what === "ask t1").length).toBe(6);
  expect(policies).toEqual([]);
});

test("one that gets no episode in time gives its place back", async () => {
  const { outcome, asked } = await claim(rollout(), { episodes: false });
  expect(outcome).toMatchObject({ kind: "waited-out", reason: "no-episodes" });
  expect(asked.at(-1)).toBe("release t1");
});

test("an eval rollout does not ask, and is claimed under a name that no train task has", async () => {
  const { outcome, asked, policies } = await claim(rollout({ episode_type: "eval" }), { admitted: false });
  expect(outcome.kind).toBe("granted");
  expect(asked).toEqual([]);
  expect(policies[0]?.current_task_id).toBe("sortie:eval:t1");
});

test("a fleet without a throttle names its task to the engine and is not limited", async () => {
  const { policies } = await claim(rollout(), { own: { ...limits, throttle: undefined } });
  expect(policies[0]).toEqual({
    ratio: 1.5,
    expected_batch_size: 1_000_000,
    expected_num_repeat: 1,
    current_task_id: "t1",
  });
});
