import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../functions/contract/agent.ts";
import { askOnce, type FleetFixture, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();

/** Asks once, works until it is told to stop, and then asks once more all the same; from its second run on it is good. */
function stubborn() {
  const seen = { working: 0, stopped: 0, refusals: [] as string[] };
  const agent: Agent = async (task, episode) => {
    if (seen.working > 0) return await askOnce(task, episode);
    await episode.chat({ messages: [{ role: "user", content: "?" }] });
    seen.working += 1;
    await once(episode.signal, "abort");
    seen.stopped += 1;
    await episode.chat({ messages: [{ role: "user", content: "??" }] }).catch((error: Error) => {
      seen.refusals.push(error.message);
    });
    return { reward: 1 };
  };
  return { agent, seen };
}

/** Runs the one rollout, and does something to the engine while its agent works. */
async function disturbed(house: FleetFixture, seen: { working: number }, disturb: () => unknown) {
  await house.push(aRollout());
  const records = await house.receive();
  const running = house.run(records);
  await house.until(() => seen.working === 1);
  await disturb();
  return { records, back: await running };
}

async function expectTriedAgain(
  house: FleetFixture,
  records: Parameters<FleetFixture["release"]>[0],
  attempts: number,
) {
  expect((await house.deliverAgain(records)).back).toEqual([]);
  expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts, tries: 2 });
  expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
}

describe("an engine that leaves its rolling states in the middle of an episode", () => {
  const syncs: [string, (house: FleetFixture) => void][] = [
    ["and stays away", (house) => house.engine.setStatus("ENGINE.WEIGHT_SYNCING")],
    ["and is back before anybody looked", (house) => house.engine.forceWeightSync()],
  ];
  test.each(syncs)("%s: the agent is told, calls no model any more, and is run again", async (_, sync) => {
    const { agent, seen } = stubborn();
    const house = await open({ agent, config: { syncSeconds: 0.5 } });
    const { records, back } = await disturbed(house, seen, () => sync(house));
    expect(back).toEqual([records[0]?.messageId]);
    await house.until(() => seen.stopped === 1);
    expect(seen.refusals).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ modelCalls: 1, aborts: 0, wiped: 1, endsAccepted: 0 });
    expect(await house.item(keyOf())).toMatchObject({
      state: "waiting",
      attempts: 0,
      history: [{ reason: "engine-left-rolling" }],
    });
    if (house.engine.summary().status !== "ENGINE.ROLLING") house.engine.setStatus("ENGINE.ROLLING");
    await house.until(() => house.engine.inspect().unclaimed > 0);
    await expectTriedAgain(house, records, 0);
  });
});

describe("an episode that somebody else has given back", () => {
  test("is left alone, and its rollout tried again", async () => {
    const { agent, seen } = stubborn();
    const house = await open({ agent });
    const { records, back } = await disturbed(house, seen, async () => {
      const [claim] = house.engine.ledger.of("claim");
      await house.ports.engine.abort("somebody-else", claim?.episodeUuid ?? "");
    });
    expect(back).toEqual([records[0]?.messageId]);
    expect(await house.item(keyOf())).toMatchObject({ history: [{ reason: "episode-lost" }] });
    expect(house.engine.ledger.of("abort")).toMatchObject([{ clientUuid: "somebody-else" }]);
    expect(house.engine.summary()).toMatchObject({ endsAccepted: 0, endsRefused: 0 });
    await expectTriedAgain(house, records, 1);
  });
});

describe("a straggler, for which the engine's GPUs wait,", () => {
  test("is aborted after the grace, without a penalty, and the engine goes on", async () => {
    const { agent, seen } = stubborn();
    const house = await open({ agent, limits: { stragglerGraceSeconds: 10 } });
    const { records, back } = await disturbed(house, seen, () => house.engine.finishBatch());
    expect(back).toEqual([records[0]?.messageId]);
    expect(await house.item(keyOf())).toMatchObject({ attempts: 0, history: [{ reason: "straggler" }] });
    const [post] = house.engine.ledger.of("status").filter(({ status }) => status === "ENGINE.ROLLING_POST");
    const [abort] = house.engine.ledger.of("abort");
    expect(abort).toMatchObject({ effect: "deleted" });
    expect((abort?.at ?? 0) - (post?.at ?? 0)).toBeGreaterThanOrEqual(10_000);
    await house.until(() => house.engine.summary().globalStep === 2 && house.engine.inspect().unclaimed > 0);
    await expectTriedAgain(house, records, 0);
  });

  test("runs on where the fleet has no grace", async () => {
    let finish: (() => void) | undefined;
    const agent: Agent = async (task, episode) => {
      const output = await askOnce(task, episode);
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return output;
    };
    const house = await open({ agent });
    await house.push(aRollout());
    const running = house.run(await house.receive());
    await house.until(() => finish !== undefined);
    house.engine.finishBatch();
    await house.clock.sleep(30_000);
    finish?.();
    expect(await running).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ counted: 1, aborts: 0, open: 0 });
  });
});

describe("a model call that is longer than the discard timeout", () => {
  test("loses its episode on an older engine, and the reason has the timeout that would have sufficed", async () => {
    const agent: Agent = async (_, episode) => {
      await episode.chat({ messages: [{ role: "user", content: "wait 60" }] });
      return { reward: 1 };
    };
    const house = await open({
      agent,
      limits: { discardTimeoutSeconds: 20 },
      config: { engineVersion: "older", discardCheckSeconds: 1 },
    });
    await house.push(aRollout());
    await house.deliver();
    const [lost] = (await house.item(keyOf()))?.history ?? [];
    // The call's own failure, or the watch over the episode, whichever comes first.
    expect(lost?.reason).toBeOneOf(["agent-error", "episode-lost"]);
    const words =
      /no model call had begun for (\d+) s, .* after 20 s .*: a discard timeout of (\d+) s .* would have/;
    const [, silent, enough] = words.exec(lost?.detail ?? "")?.map(Number) ?? [];
    expect(silent).toBeGreaterThanOrEqual(20);
    expect(enough).toBeGreaterThanOrEqual((silent ?? 0) * 1.5);
  });
});
