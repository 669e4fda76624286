import { describe, expect, test } from "vitest";
import type { createRolloutStore } from "../../../../functions/adapters/table/rollouts.ts";
import type { RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { askOnce, type FleetFixture, fleetFixtures } from "../../../support/fleet-fixture.ts";
import { aRollout, aTask, keyOf } from "../../../support/rollouts.ts";
import { anItem } from "../items.ts";

const open = fleetFixtures();

async function deliverOver(
  house: FleetFixture,
  body: string,
  found: (messageId: string) => Partial<RolloutItem>,
) {
  await house.push(body);
  const records = await house.receive(1);
  const facts = found(records[0]?.messageId ?? "");
  await house.ports.rollouts.move(
    undefined,
    anItem({ fleet: house.fleet, engine: house.limits.engine, ...facts }),
  );
  return { back: await house.run(records), key: facts.key ?? "" };
}

describe("a message that outlived its own dead letter", () => {
  const dead = { state: "dead", attempts: 3, letter: "owed" } as const;

  test("is done with once a redrive has sent the letter again: as a new rollout, where it names no run", async () => {
    const house = await open();
    const { back } = await deliverOver(house, JSON.stringify(aTask()), (id) => ({
      key: `message/${id}`,
      state: "waiting",
      letter: "sent",
    }));
    expect(back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0, counted: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  });

  test("runs where it names a run: it is the same rollout, and ends once", async () => {
    const house = await open();
    const { back } = await deliverOver(house, aRollout(), () => ({ key: keyOf(), state: "waiting" }));
    await house.push(aRollout());
    expect([back, (await house.deliver()).back]).toEqual([[], []]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, counted: 1 });
  });

  test.each([
    ["owed", 1],
    ["sent", 0],
  ] as const)("whose letter is %s sends %i", async (letter, count) => {
    const house = await open();
    const { back, key } = await deliverOver(house, aRollout(), () => ({ ...dead, key: keyOf(), letter }));
    expect(back).toEqual([]);
    expect(await house.letters()).toHaveLength(count);
    expect(await house.item(key)).toMatchObject({ state: "dead", letter: "sent" });
    // Where no letter goes out, the log at least says what became of the message.
    const said = house.log.filter(({ message }) =>
      message.startsWith("message of a dead rollout is done with"),
    );
    expect(said.map(({ facts }) => facts["rollout"])).toEqual(letter === "sent" ? [key] : []);
  });
});

describe("a message is never removed while its rollout is not final:", () => {
  test.each(["running", "reporting"] as const)("%s in a living invocation", async (state) => {
    const house = await open();
    const now = house.clock.now();
    await house.ports.invocations.alive({
      id: "other",
      fleet: house.fleet,
      alive_at: now,
      silent_at: now + 10_000_000,
      ends_at: now + 10_000_000,
    });
    const attempt = {
      id: "other.1",
      invocation: "other",
      episode: "e",
      global_step: 1,
      discard_timeout: 240,
      claimed_at: now,
      expires_at: now + 10_000_000,
      receipt: "another delivery",
    };
    const { back } = await deliverOver(house, aRollout(), () => ({ key: keyOf(), state, attempt }));
    expect(back).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
  });

  test("a leftover whose engine cannot be read is looked at for half a minute, not for the rest of the function", async () => {
    const unreadable = { kind: "answer", status: 500, text: "no" } as const;
    const house = await open({
      speed: 100,
      faults: ({ path }) => (path.endsWith("pool_information") ? unreadable : undefined),
    });
    const now = house.clock.now();
    const attempt = {
      ...{ id: "gone.1", invocation: "missing", episode: "e", global_step: 1, discard_timeout: 240 },
      ...{ claimed_at: now, expires_at: now + 10_000_000, receipt: "an earlier delivery" },
      ...{ result: { reward: 1, is_success: true, metadata: {}, log_metrics: {} }, result_at: now },
    };
    const { back } = await deliverOver(house, aRollout(), () => ({
      key: keyOf(),
      state: "reporting",
      attempt,
    }));
    expect(back).toHaveLength(1);
    expect(house.clock.now() - now).toBeLessThan(600_000);
    expect(house.logged("message deferred")).toMatchObject([{ reason: "open-attempt", seconds: 30 }]);
    expect(await house.item(keyOf())).toMatchObject({ state: "reporting", attempt: { id: "gone.1" } });
  });

  test("an agent that fails, fenced and given back before the message is", async () => {
    const written: [string, string | undefined][] = [];
    const house = await open({
      agent: async (task, episode) => {
        await askOnce(task, episode);
        throw new Error("boom");
      },
    });
    const { rollouts } = house.ports;
    const noting: ReturnType<typeof createRolloutStore> = {
      read: rollouts.read,
      move: async (previous, next) => {
        written.push([next.state, next.attempt?.failure?.reason]);
        return await rollouts.move(previous, next);
      },
    };
    Object.assign(house.ports, { rollouts: noting });
    await house.push(aRollout());
    expect((await house.deliver()).back).toHaveLength(1);
    expect(written).toEqual([
      ["running", undefined],
      ["running", "agent-error"],
      ["waiting", undefined],
    ]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, open: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
  });
});

test("a fleet that moves to another engine takes its rollouts along: the new engine's sweep sees them", async () => {
  const house = await open({
    agent: async (task, episode) => {
      seen.push((await house.item(keyOf()))?.engine);
      return await askOnce(task, episode);
    },
  });
  const seen: (string | undefined)[] = [];
  const { back } = await deliverOver(house, aRollout(), () => ({
    key: keyOf(),
    state: "waiting",
    engine: "the-engine-before",
  }));
  expect([back, seen]).toEqual([[], [house.limits.engine]]);
  expect(await house.item(keyOf())).toMatchObject({ state: "ended", engine: house.limits.engine });
});
