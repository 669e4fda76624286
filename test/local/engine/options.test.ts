import { expect, test } from "vitest";
import { readMainOptions } from "../../../local/engine/options.ts";

const read = (...options: string[]) => readMainOptions(["node", "main.ts", ...options]);

test("without options it listens where the real engine does, on loopback only, and rolls", () => {
  expect(read()).toMatchObject({
    host: "127.0.0.1",
    port: 10086,
    config: { startRolling: true, engineVersion: "newer", chatRoute: "newer" },
  });
});

test("every option reaches the config", () => {
  const written =
    "--port 0 --seed 9 --batch 3 --repeats 5 --slots 7 --chat-route older --boot 1 --sync 2 --ack 0.5 --pool-lag 12 " +
    "--give-up 9 --unreadable-pools 0.03 --steps 4 --offline --method rollout_until_finish_enough_episodes";
  expect(read(...written.split(" "))).toMatchObject({
    port: 0,
    seed: 9,
    config: {
      batchTasks: 3,
      repeats: 5,
      slots: 7,
      collectionMethod: "rollout_until_finish_enough_episodes",
      engineVersion: "newer",
      chatRoute: "older",
      unacknowledgedSeconds: 9,
      unreadablePools: 0.03,
      bootSeconds: 1,
      syncSeconds: 2,
      ackSeconds: 0.5,
      poolLagSeconds: 12,
      totalSteps: 4,
      startRolling: false,
    },
  });
});

test("an older engine has the older model route", () => {
  expect(read("--engine-version", "older").config).toMatchObject({
    engineVersion: "older",
    chatRoute: "older",
  });
});
