import { expect, test } from "vitest";
import { fleetLimits, readRolloutEnvironment } from "../../functions/environment.ts";

const environment = {
  SORTIE_FLEET: "math",
  SORTIE_ENGINE: "main",
  SORTIE_ENGINE_URL: "http://127.0.0.1:1",
  SORTIE_TABLE: "state",
  SORTIE_QUEUE_URL: "http://127.0.0.1:2/queue",
  SORTIE_DEAD_LETTER_QUEUE_URL: "http://127.0.0.1:2/dead",
  SORTIE_MAX_ATTEMPTS: "3",
  SORTIE_DISCARD_TIMEOUT_SECONDS: "240",
  SORTIE_CLAIM_WAIT_SECONDS: "120",
  SORTIE_MIN_EPISODE_SECONDS: "30",
  SORTIE_SETTLE_MARGIN_SECONDS: "30",
  SORTIE_ALLOW_UNUSUAL_REWARDS: "false",
  SORTIE_ROLLOUT_TTL_DAYS: "30",
};
const throttleOf = (text: string | undefined) =>
  fleetLimits(readRolloutEnvironment({ ...environment, SORTIE_THROTTLE: text })).throttle;

test("a fleet's throttle comes from SORTIE_THROTTLE, and is absent without it", () => {
  expect(throttleOf('{"ratio":0.4,"batchSize":10,"repeats":4}')).toEqual({
    ratio: 0.4,
    batchSize: 10,
    repeats: 4,
  });
  expect(throttleOf(undefined)).toBeUndefined();
});

test("faults of a throttle are named together, each with its part", () => {
  expect(() => throttleOf("nope")).toThrow(/SORTIE_THROTTLE: expected JSON/);
  expect(() => throttleOf('{"ratio":-1,"batchSize":0}')).toThrow(
    /SORTIE_THROTTLE\.ratio: .*\n.*SORTIE_THROTTLE\.batchSize: .*\n.*SORTIE_THROTTLE\.repeats: /,
  );
});
