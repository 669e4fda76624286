import { describe, expect, test } from "vitest";
import { askOnce, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();

/** Two messages for the same rollout, as after a push that was repeated. */
async function pushedTwice() {
  let runs = 0;
  const house = await open({
    agent: async (task, episode) => {
      runs += 1;
      await episode.chat({ messages: [{ role: "user", content: "wait 10" }] });
      return await askOnce(task, episode);
    },
  });
  await house.push(aRollout(), aRollout());
  return { house, records: await house.receive(2), agentRuns: () => runs };
}

describe("one rollout, one reward:", () => {
  test("twice in one batch", async () => {
    const { house, records, agentRuns } = await pushedTwice();
    const back = await house.run(records);
    expect(back).toHaveLength(1);
    expect(house.logged("message deferred")).toMatchObject([{ reason: "open-attempt", seconds: 30 }]);
    const late = records.filter(({ messageId }) => back.includes(messageId));
    expect((await house.deliverAgain(late)).back).toEqual([]);
    expect(agentRuns()).toBe(1);
    expect(house.engine.summary()).toMatchObject({ counted: 1, endsAccepted: 1, open: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  });

  test("delivered twice at once, to two invocations", async () => {
    const { house, records, agentRuns } = await pushedTwice();
    const backs = await Promise.all(records.map((record) => house.run([record])));
    expect(backs.flat()).toHaveLength(1);
    expect(agentRuns()).toBe(1);
    expect(house.engine.summary()).toMatchObject({ counted: 1, endsAccepted: 1, open: 0 });
    expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0, tries: 1 });
  });

  test("delivered again while its first delivery still works", async () => {
    const { house, records, agentRuns } = await pushedTwice();
    const [first, second] = records;
    if (!first || !second) throw new Error("expected two records");
    const running = house.run([first]);
    await house.until(() => agentRuns() === 1);
    expect(await house.run([second])).toEqual([second.messageId]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, open: 1 });
    expect(await running).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, counted: 1, open: 0 });
  });

  test("delivered again after it ended: done at once, without a claim", async () => {
    const { house, records, agentRuns } = await pushedTwice();
    for (const record of records) expect(await house.run([record])).toEqual([]);
    expect(agentRuns()).toBe(1);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, counted: 1, open: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  });

  test("repeats of one task are rollouts of their own", async () => {
    const house = await open();
    await house.push(aRollout({}, 0), aRollout({}, 1), aRollout({}, 2));
    expect((await house.deliver(3)).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 3, counted: 3, open: 0 });
  });
});
