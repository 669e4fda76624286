import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Agent } from "../../functions/contract/agent.ts";
import { askOnce, type FleetFixtureOptions, fleetFixtures } from "../support/fleet-fixture.ts";
import { linkTo } from "../support/link.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();
type Service = "AWS_ENDPOINT_URL_DYNAMODB" | "AWS_ENDPOINT_URL_SQS";

/** A house whose way to one service can be cut. */
async function behindLink(service: Service, options: FleetFixtureOptions = {}) {
  const link = await linkTo(process.env[service] ?? "");
  vi.stubEnv(service, link.url);
  onTestFinished(() => void vi.unstubAllEnvs());
  const house = await open(options);
  await house.push(aRollout());
  return { house, link, records: await house.receive() };
}

/** The way is cut as soon as the agent has asked the model, for the first time. */
function cutsOnce(cut: () => void): Agent {
  let isFirst = true;
  return async (task, episode) => {
    const output = await askOnce(task, episode);
    if (isFirst) cut();
    isFirst = false;
    return output;
  };
}

describe("a table that does not answer", () => {
  const table = "AWS_ENDPOINT_URL_DYNAMODB";

  test("at the beginning of an invocation: its messages come back, and nothing is claimed", async () => {
    const { house, link, records } = await behindLink(table);
    link.takeAway();
    expect(await house.run(records)).toEqual([records[0]?.messageId]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
    link.bringBack();
    expect((await house.deliverAgain(records)).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
  });

  test("right after a claim: the episode that nobody could remember is given back", async () => {
    let cut: (() => void) | undefined;
    const { house, link, records } = await behindLink(table, {
      faults: ({ path }) => {
        if (path === "/claim_episode") cut?.();
        return undefined;
      },
    });
    cut = link.takeAway;
    expect(await house.run(records)).toEqual([records[0]?.messageId]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, aborts: 1, modelCalls: 0, open: 0 });
    cut = undefined;
    link.bringBack();
    expect((await house.deliverAgain(records)).back).toEqual([]);
    expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0, tries: 1 });
    expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
  });

  test("for some seconds while an agent works: its result is stored a little later", async () => {
    const at: Awaited<ReturnType<typeof behindLink>> = await behindLink(table, {
      agent: cutsOnce(() => {
        at.link.takeAway();
        void at.house.clock.sleep(15_000).then(at.link.bringBack);
      }),
    });
    const { house, records } = at;
    expect(await house.run(records)).toEqual([]);
    expect(house.logged("table write failed, trying again").length).toBeGreaterThanOrEqual(1);
    expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0, tries: 1 });
    expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
  });

  test("until the function's time is up: the sweep settles the episode, and the rollout is tried again", {
    timeout: 30_000,
  }, async () => {
    const at: Awaited<ReturnType<typeof behindLink>> = await behindLink(table, {
      agent: cutsOnce(() => at.link.takeAway()),
      limits: { heartbeatSeconds: 10 },
    });
    const { house, link, records } = at;
    expect(await house.run(records, { seconds: 90 })).toEqual([records[0]?.messageId]);
    expect(house.engine.summary()).toMatchObject({ counted: 0, endsAccepted: 0 });
    link.bringBack();
    for (let looks = 0; looks < 2; looks += 1) {
      expect(await house.sweep()).toMatchObject({ settled: 0 });
      await house.clock.sleep(13_000);
    }
    expect(await house.sweep()).toMatchObject({ settled: 1 });
    expect(house.engine.summary()).toMatchObject({ aborts: 1, open: 0 });
    expect((await house.deliver()).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
  });
});

describe("a queue that does not answer", () => {
  const queue = "AWS_ENDPOINT_URL_SQS";

  test("when a message is done with: it is not named, so the event source deletes it", async () => {
    const { house, link, records } = await behindLink(queue);
    link.takeAway();
    expect(await house.run(records)).toEqual([]);
    expect(house.logged("message not deleted yet")).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
  });

  test("when a message is to be deferred: it is named, and comes back with its visibility timeout", async () => {
    const { house, link, records } = await behindLink(queue, {
      agent: async () => {
        throw new Error("no such tool");
      },
    });
    link.takeAway();
    expect(await house.run(records)).toEqual([records[0]?.messageId]);
    expect(house.logged("message not deferred")).toHaveLength(1);
    expect(await house.item(keyOf())).toMatchObject({ state: "waiting", attempts: 1 });
  });

  test("when a rollout is dead: its message comes back until the dead letter is sent", async () => {
    const { house, link, records } = await behindLink(queue, {
      limits: { maxAttempts: 1 },
      agent: async () => {
        throw new Error("no such tool");
      },
    });
    link.takeAway();
    expect(await house.run(records)).toEqual([records[0]?.messageId]);
    expect(await house.item(keyOf())).toMatchObject({ state: "dead", letter: "owed" });
    link.bringBack();
    expect((await house.deliverAgain(records)).back).toEqual([]);
    expect(await house.letters()).toMatchObject([{ body: aRollout(), facts: { reason: "agent-error" } }]);
    expect(await house.item(keyOf())).toMatchObject({ state: "dead", letter: "sent" });
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, aborts: 1, open: 0 });
  });
});
