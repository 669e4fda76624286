/** A real proxy in front of the stand-in engine that answers in its place: nothing is lost, and no attempt used up. */
import { describe, expect, onTestFinished, test } from "vitest";
import { FaultProxy, type Interceptor } from "../../local/chaos/proxy.ts";
import { proxyAnswers } from "../../local/chaos/proxy-answers.ts";
import { type FleetFixture, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();
const kinds = Object.entries(proxyAnswers);
/** How often each route is answered for: more often than any call is made again by itself. */
const STRIKES = 2;

/** A fleet whose way to the engine leads through a proxy that answers the first requests to some routes itself. */
async function behindProxy(answer: NonNullable<(typeof kinds)[number][1]>, routes: readonly string[]) {
  const upstream = Promise.withResolvers<string>();
  const previous = new Map(routes.map((route) => [route, STRIKES]));
  const strike: Interceptor = {
    before: ({ path }) => {
      const times = previous.get(path) ?? 0;
      if (times > 0) previous.set(path, times - 1);
      return times > 0 ? { answer } : "pass";
    },
  };
  const proxy = new FaultProxy(upstream.promise, [strike]);
  await proxy.up();
  onTestFinished(() => proxy.close());
  const runs: string[] = [];
  const house = await open({
    engineUrl: proxy.url,
    limits: { claimWaitSeconds: 90 },
    agent: async (task, episode) => {
      runs.push(episode.apiKey);
      await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
      return { reward: 0.75 };
    },
  });
  upstream.resolve(house.engine.url);
  await house.push(aRollout());
  return { house, runs, untouched: () => [...previous.values()].filter((times) => times > 0).length };
}

/** Runs the rollout until its message is done with. */
async function deliverAll(house: FleetFixture): Promise<void> {
  let { records, back } = await house.deliver();
  for (let deliveries = 1; back.length > 0 && deliveries < 5; deliveries += 1)
    ({ records, back } = await house.deliverAgain(records));
  expect(back).toEqual([]);
}

async function expectEndedOnce(house: FleetFixture): Promise<void> {
  expect(house.engine.summary()).toMatchObject({ counted: 1, rewardMean: 0.75, open: 0 });
  expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0 });
  expect(await house.letters()).toEqual([]);
}

describe.each(kinds)("%s", (_kind, answer) => {
  test.each(["/get_engine_status", "/claim_episode", "/end_episode"])(
    "on %s is waited out: the agent runs once",
    async (route) => {
      const { house, runs, untouched } = await behindProxy(answer, [route, "/get_episode_buffer"]);
      await deliverAll(house);
      await expectEndedOnce(house);
      expect(runs).toHaveLength(1);
      expect(untouched()).toBeLessThanOrEqual(1);
    },
  );

  test("on the looks after a lost end is waited out as well", async () => {
    const routes = ["/end_episode", "/get_current_batch_rollout_pool_information"];
    const { house, runs, untouched } = await behindProxy(answer, routes);
    await deliverAll(house);
    await expectEndedOnce(house);
    expect([runs.length, untouched()]).toEqual([1, 0]);
  });

  test("on the model's route uses up no attempt", async () => {
    const { house, untouched } = await behindProxy(answer, ["/v1/chat/completions"]);
    await deliverAll(house);
    await expectEndedOnce(house);
    const reasons = (await house.item(keyOf()))?.history.map(({ reason }) => reason);
    expect(reasons?.slice(0, -1).every((reason) => reason === "engine-unreachable")).toBe(true);
    expect(untouched()).toBe(0);
  });
});
