/** An abort hits whoever holds the episode when the engine acts, minutes later perhaps: so it is sent once, after a look. */
import { describe, expect, test } from "vitest";
import type { EngineError } from "../../../../functions/core/errors.ts";
import { ABORT_PENDING_MS, giveBack } from "../../../../functions/core/rollout/give-back.ts";
import { isOpen } from "../../../../functions/core/rollout/item.ts";
import { settleLeftover, settleWithoutResult } from "../../../../functions/core/rollout/settle.ts";
import { deadUrl, engineAt } from "../../../support/engine-that.ts";
import { aPool, NOW } from "../items.ts";
import { us } from "../scripted-engine.ts";
import { limits, settleFixture } from "../settle-fixture.ts";

const stage = settleFixture();
const crashed = { reason: "crashed", until: NOW + 10_000_000 } as const;
const held = { clientUuid: us, episode: "episode-1" };
const running = (facts: object = {}) =>
  aPool({ running_episode_details: { "episode-1": { client_uuid: us, ...facts } } });

describe("an abort that was not answered", () => {
  test("is not sent again while the engine may be at it, although every look shows the episode as ours", async () => {
    const s = await stage({ pool: ["ours"], aborts: ["cut"] });
    await settleWithoutResult(s.ports, limits, s.item, "deadline");
    for (let waited = 0; waited < ABORT_PENDING_MS; waited += 20_000) {
      const item = await s.stands();
      if (!isOpen(item)) throw new Error("expected the rollout open");
      expect((await settleLeftover(s.ports, limits, item, crashed)).settled).toBe(false);
      await s.clock.sleep(20_000);
    }
    expect(s.aborts()).toHaveLength(1);
    await s.clock.sleep(1);
    const item = await s.stands();
    if (!isOpen(item)) throw new Error("expected the rollout open");
    await settleLeftover(s.ports, limits, item, crashed);
    expect(s.aborts()).toHaveLength(2);
  });

  test("closes its attempt as soon as a look shows the episode in other hands, without another abort", async () => {
    const s = await stage({ pool: ["ours", "other"], aborts: ["cut"] });
    await settleWithoutResult(s.ports, limits, s.item, "deadline");
    await s.clock.sleep(20_000);
    const item = await s.stands();
    if (!isOpen(item)) throw new Error("expected the rollout open");
    expect((await settleLeftover(s.ports, limits, item, crashed)).settled).toBe(true);
    expect([s.aborts().length, (await s.stands()).history]).toMatchObject([1, [{ reason: "deadline" }]]);
  });
});

test("an episode that the engine is about to take back by itself can be settled by the next look, not 20 s later", async () => {
  const s = await stage({ aborts: ["ok"] });
  const idle = { time_since_last_activity: "239.5s", discard_episode_timeout: "240.0s" };
  const pools = [running(idle), aPool()];
  const engine = { ...s.ports.engine, pool: async () => pools.shift() ?? aPool() };
  const ports = { ...s.ports, engine };
  const left = await settleWithoutResult(ports, limits, s.item, "agent-error");
  expect(left.settled).toBe(false);
  if (!isOpen(left.item)) throw new Error("expected the rollout open");
  expect((await settleLeftover(ports, limits, left.item, crashed)).settled).toBe(true);
  expect([s.aborts(), (await s.stands()).history]).toMatchObject([[], [{ reason: "agent-error" }]]);
});

describe("giving an episode back", () => {
  const look = (pool: ReturnType<typeof aPool>, askedAt = NOW) => ({ pool, askedAt });

  test("that somebody else holds by now needs no abort", async () => {
    const s = await stage({ aborts: ["ok"] });
    expect(await giveBack(s.ports, held, look(aPool()))).toBe(true);
    expect(await giveBack(s.ports, held, look(running({ client_uuid: "main/other.1" })))).toBe(true);
    expect(s.aborts()).toEqual([]);
  });

  test("looks again where the look is older than two seconds", async () => {
    const s = await stage({ pool: ["other"], aborts: ["ok"] });
    expect(await giveBack(s.ports, held, look(running(), NOW - 2001))).toBe(true);
    expect([s.looks(), s.aborts()]).toEqual([1, []]);
  });

  test.each([
    ["239.0s", "240.0s", 0],
    ["238.0s", "240.0s", 1],
    ["0.1s", "-1.0s", 0],
  ])(
    "leaves one that is idle for %s of %s to the engine's discard: %i aborts",
    async (idle, discard, aborts) => {
      const s = await stage({ aborts: ["ok"] });
      const pool = running({ time_since_last_activity: idle, discard_episode_timeout: discard });
      expect(await giveBack(s.ports, held, look(pool))).toBe(aborts === 1);
      expect(s.aborts()).toHaveLength(aborts);
    },
  );

  test("can be tried again at once where the engine was not reached", async () => {
    const s = await stage({ aborts: ["ok"] });
    const engine = engineAt(await deadUrl(), { clock: s.clock });
    const failure = await giveBack({ ...s.ports, engine }, held, look(running())).catch((error) => error);
    expect((failure as EngineError).failure).toBe("unreachable");
    expect(await giveBack(s.ports, held, look(running()))).toBe(true);
    expect(s.aborts()).toHaveLength(1);
  });

  test("by two at the same time sends one abort", async () => {
    const s = await stage({ aborts: ["ok"] });
    const both = await Promise.all([1, 2].map(() => giveBack(s.ports, held, look(running()))));
    expect([both.toSorted(), s.aborts().length]).toEqual([[false, true], 1]);
  });

  describe("while the table is away", () => {
    const away = () => Promise.reject(new Error("over capacity"));
    const noNotes = { take: away, release: away };

    test("is the claimer's own doing: it knows that it has sent no abort, and sends one after a look", async () => {
      const s = await stage({ pool: ["ours"], aborts: ["ok"] });
      const take = async () => {
        await s.clock.sleep(15_000);
        return await away();
      };
      const ports = { ...s.ports, aborts: { take, release: away } };
      expect(await giveBack(ports, held, look(running()), { isOwnGrant: true })).toBe(true);
      expect([s.looks(), s.aborts().length]).toEqual([1, 1]);
      await expect(giveBack({ ...s.ports, aborts: noNotes }, held, look(running()))).rejects.toThrow(
        "over capacity",
      );
      expect(s.aborts()).toHaveLength(1);
    });

    test("and back after the abort: the note is written for whoever settles the attempt", async () => {
      const s = await stage({ aborts: ["ok"] });
      let tries = 0;
      const take: typeof s.ports.aborts.take = async (...facts) => {
        tries += 1;
        return tries === 1 ? await away() : await s.ports.aborts.take(...facts);
      };
      const ports = { ...s.ports, aborts: { take, release: away } };
      expect(await giveBack(ports, held, look(running()), { isOwnGrant: true })).toBe(true);
      expect(await giveBack(s.ports, held, look(running()))).toBe(false);
      expect(s.aborts()).toHaveLength(1);
    });
  });
});
