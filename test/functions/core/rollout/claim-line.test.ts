import { describe, expect, test } from "vitest";
import type { Engine } from "../../../../functions/core/engine.ts";
import { claimEpisode } from "../../../../functions/core/rollout/claim.ts";
import { ClaimLine } from "../../../../functions/core/rollout/claim-line.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const NOW = 1_000_000;

/** An engine with so many free slots, and the rollouts that want one, each with a name. */
function waiting(facts: { slots: number; status?: string }) {
  const engine = { slots: facts.slots, status: facts.status ?? "ENGINE.ROLLING" };
  const clock = new FakeClock(NOW, "manual");
  const line = new ClaimLine(clock);
  const claims: number[] = [];
  const looks: number[] = [];
  const granted: string[] = [];
  let look: { at: number; status: string } | undefined;
  const port: Pick<Engine, "status" | "claim"> = {
    // Shared for half a second, as the adapter does.
    status: async () => {
      if (!look || clock.now() - look.at >= 500) {
        looks.push(clock.now() - NOW);
        look = { at: clock.now(), status: engine.status };
      }
      return { engine_status: look.status, engine_status_detail: null, global_step: 1 };
    },
    claim: async ({ client_uuid }) => {
      claims.push(clock.now() - NOW);
      const success = engine.slots > 0;
      if (success) engine.slots -= 1;
      const fail_cause = success ? "" : "No available episodes to claim. Try again (maybe 1 minute) later.";
      return { success, client_uuid, episode_uuid: "e", openai_base_url: "", openai_api_key: "", fail_cause };
    },
  };
  const want = async (name: string, patience = 120_000, signal?: AbortSignal) => {
    const request = {
      client_uuid: name,
      episode_type: "train" as const,
      discard_episode_timeout: 240,
      throttle_policy: null,
    };
    const outcome = await claimEpisode(port as Engine, request, {
      clock,
      line,
      waitUntil: NOW + patience,
      signal,
    });
    if (outcome.kind === "granted") granted.push(name);
    return outcome;
  };
  const all = (count: number) => Array.from({ length: count }, (_, index) => want(`r-${index}`));
  /** Whoever was just told something goes to sleep first. */
  const advance = async (ms: number) => {
    await new Promise(setImmediate);
    await clock.advance(ms);
  };
  return { engine, line, claims, looks, granted, want, all, advance };
}

describe("an engine that is full", () => {
  test("is asked by one for all, after a quarter of a second, then half of one, then one, then each 2 s", async () => {
    const w = waiting({ slots: 0 });
    void w.all(10);
    await w.advance(8000);
    expect(w.claims).toEqual([...Array(10).fill(0), 250, 750, 1750, 3750, 5750, 7750]);
  });

  test("serves all who wait once it has slots: each that is granted lets two go on", async () => {
    const w = waiting({ slots: 0 });
    void w.all(20);
    await w.advance(100);
    w.engine.slots = 20;
    await w.advance(150);
    expect(w.granted).toHaveLength(20);
    expect(w.claims.slice(20)).toEqual(Array(20).fill(250));
  });

  test("is asked again a quarter of a second after an episode has ended here", async () => {
    const w = waiting({ slots: 0 });
    void w.all(3);
    await w.advance(4000);
    const before = w.claims.length;
    w.line.ended();
    w.engine.slots = 1;
    await w.advance(249);
    expect(w.claims).toHaveLength(before);
    await w.advance(1);
    expect(w.granted).toHaveLength(1);
    expect(w.claims[before]).toBe(4250);
  });

  test("is waited for no longer than each may, and others keep their place", async () => {
    const w = waiting({ slots: 0 });
    const hasty = w.want("hasty", 1000);
    const patient = w.want("patient");
    await w.advance(1000);
    expect(await hasty).toMatchObject({ kind: "waited-out", reason: "no-episodes" });
    w.engine.slots = 1;
    await w.advance(2000);
    expect(await patient).toMatchObject({ kind: "granted" });
  });

  test("is left by one whose signal fires", async () => {
    const w = waiting({ slots: 0 });
    const stop = new AbortController();
    const outcome = w.want("r", 60_000, stop.signal);
    await w.advance(100);
    stop.abort();
    expect(await outcome).toMatchObject({ kind: "waited-out", reason: "stopped" });
  });
});

describe("an engine that will roll soon", () => {
  test("is looked at by all together once a second, and all are served when it offers its slots", async () => {
    const w = waiting({ slots: 0, status: "ENGINE.WEIGHT_SYNCING" });
    void w.all(16);
    await w.advance(3500);
    expect(w.looks).toEqual([0, 1000, 2000, 3000]);
    w.engine.status = "ENGINE.ROLLING";
    await w.advance(1000);
    expect(w.claims).toEqual([4250, 4500]);
    w.engine.slots = 16;
    await w.advance(250);
    expect(w.granted).toHaveLength(16);
  });

  test("and then leaves ROLLING again sends the line back to looking", async () => {
    const w = waiting({ slots: 0 });
    void w.all(4);
    await w.advance(300);
    w.engine.status = "ENGINE.ROLLING_POST";
    await w.advance(2000);
    const before = w.claims.length;
    await w.advance(10_000);
    expect(w.claims).toHaveLength(before);
    w.engine.status = "ENGINE.ROLLING";
    w.engine.slots = 4;
    await w.advance(1300);
    expect(w.granted).toHaveLength(4);
  });
});

test("an engine that is OFFLINE is looked at each 5 s, as the reference does", async () => {
  const w = waiting({ slots: 1, status: "ENGINE.OFFLINE" });
  void w.all(5);
  await w.advance(11_000);
  expect(w.looks).toEqual([0, 5000, 10_000]);
});
