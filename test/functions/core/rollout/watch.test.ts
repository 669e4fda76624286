import { describe, expect, onTestFinished, test, vi } from "vitest";
import { AttemptAborted } from "../../../../functions/core/rollout/agent.ts";
import { EngineWatch } from "../../../../functions/core/rollout/watch.ts";
import { engineThat } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { sendJson, sendText } from "../../../support/http-server.ts";
import { anAttempt, NOW, running } from "../items.ts";

const us = "main/invocation-1.1";
const INTERVAL = 5000;

/** A watch over one episode, at a real server whose state the test sets. */
async function watched(graceSeconds?: number, spare = 0) {
  const shown = {
    status: "ENGINE.ROLLING",
    step: 1 as number | null,
    pool: { running_episode_details: { "episode-1": running(us) } } as Record<string, unknown> | undefined,
    down: false,
  };
  const clock = new FakeClock(NOW, "manual");
  const { engine, server } = await engineThat(
    ({ path, socket }, response) => {
      if (shown.down) socket.destroy();
      else if (path === "/get_engine_status")
        sendJson(response, 200, { engine_status: shown.status, global_step: shown.step });
      else if (shown.pool === undefined) sendText(response, 500, "broken");
      else sendJson(response, 200, { engine_status: shown.status, global_step: shown.step, ...shown.pool });
    },
    { clock, getRetries: 0 },
  );
  const log = vi.fn();
  const watch = new EngineWatch({ clock, engine, log }, graceSeconds, spare);
  onTestFinished(() => watch.stop());
  const reads = (path: string) => server.received.filter((request) => request.path === path).length;
  return { shown, clock, watch, log, reads };
}
type Watched = Awaited<ReturnType<typeof watched>>;

function add({ watch }: Watched, attempt: Parameters<typeof anAttempt>[0] = {}) {
  const controller = new AbortController();
  const unwatch = watch.add({ attempt: anAttempt(attempt), clientUuid: us, taskId: "task-1", controller });
  return { controller, unwatch };
}
/** Moves on by so many readings of the status, each let finish over the wire. */
async function readings({ clock }: Watched, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await clock.advance(INTERVAL);
    await vi.waitUntil(() => clock.sleeping > 0, { interval: 2 });
  }
}
const reasonOf = (controller: AbortController) =>
  controller.signal.reason instanceof AttemptAborted
    ? [controller.signal.reason.reason, controller.signal.reason.message]
    : undefined;

describe("an episode that is watched", () => {
  test("goes on while the engine rolls and shows it as ours: one look at the status each 5 s, at the pool each 15 s", async () => {
    const w = await watched();
    const { controller } = add(w);
    await readings(w, 7);
    expect(controller.signal.aborted).toBe(false);
    expect(w.reads("/get_engine_status")).toBe(7);
    expect(w.reads("/get_current_batch_rollout_pool_information")).toBe(2);
  });

  test.each([
    "ENGINE.WEIGHT_SYNCING",
    "ENGINE.WEIGHT_EXPORTING",
    "ENGINE.OFFLINE",
    "ENGINE.BOOTING",
    "ENGINE.BRAND_NEW",
  ])("is aborted at the next look once the engine is %s", async (status) => {
    const w = await watched();
    const { controller } = add(w);
    w.shown.status = status;
    await readings(w, 1);
    expect(reasonOf(controller)).toEqual(["engine-left-rolling", `the engine is ${status}`]);
  });

  test("goes on in ROLLING_POST, without a grace for as long as it takes", async () => {
    const w = await watched();
    const { controller } = add(w);
    w.shown.status = "ENGINE.ROLLING_POST";
    await readings(w, 20);
    expect(controller.signal.aborted).toBe(false);
  });

  test("goes on while the engine cannot be reached or answers 500", async () => {
    const w = await watched();
    const { controller } = add(w);
    w.shown.down = true;
    await readings(w, 4);
    w.shown.down = false;
    w.shown.pool = undefined;
    await readings(w, 3);
    expect(controller.signal.aborted).toBe(false);
    expect(w.log.mock.calls.map(([level, message]) => [level, message])).toContainEqual([
      "warn",
      "pool could not be read",
    ]);
  });

  test.each([
    ["held by another client", { running_episode_details: { "episode-1": running("main/other.1") } }],
    ["shown nowhere", { running_episode_details: null }],
  ])("is lost once it is %s", async (_how, pool) => {
    const w = await watched();
    const { controller } = add(w);
    w.shown.pool = pool;
    await readings(w, 3);
    expect(reasonOf(controller)).toEqual(["episode-lost", "the engine no longer shows this episode as ours"]);
  });

  test("is aborted when a whole weight sync has passed between two looks", async () => {
    const w = await watched();
    const { controller } = add(w);
    w.shown.step = 2;
    w.shown.pool = { running_episode_details: null };
    await readings(w, 1);
    expect(reasonOf(controller)).toEqual(["engine-left-rolling", "the engine has gone on to another batch"]);
  });

  test("goes on when its step was read just before it rose, since the pool shows it as ours", async () => {
    const w = await watched();
    const { controller } = add(w, { global_step: null });
    await readings(w, 3);
    expect(controller.signal.aborted).toBe(false);
  });

  test("is left alone once the watch over it has ended; its neighbours are not", async () => {
    const w = await watched();
    const [first, second] = [add(w), add(w)];
    first.unwatch();
    w.shown.status = "ENGINE.OFFLINE";
    await readings(w, 1);
    expect([first, second].map(({ controller }) => controller.signal.aborted)).toEqual([false, true]);
  });

  test("costs nothing once nobody is watched, or the watch is stopped", async () => {
    const w = await watched();
    add(w).unwatch();
    await readings(w, 3);
    expect(w.reads("/get_engine_status")).toBe(0);
    const { controller } = add(w);
    w.watch.stop();
    await w.clock.advance(60_000);
    expect([controller.signal.aborted, w.reads("/get_engine_status"), w.clock.sleeping]).toEqual([
      false,
      0,
      0,
    ]);
  });
});

describe("a straggler", () => {
  const late = { claimed_at: NOW };

  test("is aborted when the engine has waited for the grace, counted from the first look at ROLLING_POST", async () => {
    const w = await watched(10);
    const { controller } = add(w, late);
    w.shown.status = "ENGINE.ROLLING_POST";
    await readings(w, 2);
    expect(controller.signal.aborted).toBe(false);
    await readings(w, 1);
    expect(reasonOf(controller)).toEqual([
      "straggler",
      "the engine has its samples and waits for this episode",
    ]);
  });

  test("has its grace anew in each ROLLING_POST", async () => {
    const w = await watched(10);
    const { controller } = add(w, late);
    w.shown.status = "ENGINE.ROLLING_POST";
    await readings(w, 2);
    w.shown.status = "ENGINE.ROLLING";
    await readings(w, 1);
    w.shown.status = "ENGINE.ROLLING_POST";
    await readings(w, 2);
    expect(controller.signal.aborted).toBe(false);
    await readings(w, 1);
    expect(controller.signal.aborted).toBe(true);
  });

  test("is found also when nobody was watched since an earlier ROLLING_POST", async () => {
    const w = await watched(10);
    const first = add(w, late);
    w.shown.status = "ENGINE.ROLLING_POST";
    await readings(w, 1);
    first.unwatch();
    await readings(w, 30);
    const { controller } = add(w, { claimed_at: w.clock.now() });
    await readings(w, 2);
    expect(controller.signal.aborted).toBe(false);
    await readings(w, 1);
    expect(reasonOf(controller)?.[0]).toBe("straggler");
  });
});

describe("with spare episodes", () => {
  test("one that runs when the engine has its samples is given up at the next look, a second later", async () => {
    const w = await watched(undefined, 8);
    const { controller } = add(w);
    w.shown.status = "ENGINE.ROLLING_POST";
    await w.clock.advance(1000);
    await vi.waitUntil(() => controller.signal.aborted, { interval: 2 });
    expect(reasonOf(controller)?.[0]).toBe("straggler");
  });

  test("one that was given up often enough is waited for", async () => {
    const w = await watched(undefined, 8);
    const controller = new AbortController();
    w.watch.add({ attempt: anAttempt(), clientUuid: us, taskId: "task-1", controller, isWaitedFor: true });
    w.shown.status = "ENGINE.ROLLING_POST";
    await readings(w, 5);
    expect(controller.signal.aborted).toBe(false);
  });
});
