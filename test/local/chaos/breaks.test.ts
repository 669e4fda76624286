/**
 * Each statement is broken on purpose, in the harness and never in the functions, and the checks must notice. The whole
 * system runs, with few rollouts; the runs mostly wait, so they run at the same time.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assemble, paces } from "../../../local/chaos/fleet.ts";
import { kindsNamed } from "../../../local/chaos/kinds.ts";
import type { ChaosOptions } from "../../../local/chaos/options.ts";
import type { Interceptor, ProxyRequest } from "../../../local/chaos/proxy.ts";
import type { Push, Pushes } from "../../../local/chaos/pushes.ts";
import { renderOutcome } from "../../../local/chaos/report.ts";
import { type ChaosOutcome, runChaos } from "../../../local/chaos/run.ts";
import { operation } from "../../../local/chaos/steps.ts";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "sortie-breaks-"));
  await assemble(join(directory, "assembly"), {
    maxEpisodes: 10,
    episodesPerInvocation: 5,
    pace: paces.fast,
  });
}, 60_000);
afterAll(() => rm(directory, { recursive: true, force: true }));

let seed = 0;
async function run(options: Partial<ChaosOptions>): Promise<ChaosOutcome> {
  seed += 1;
  return await runChaos({
    seed,
    rollouts: 4,
    minutes: 1,
    kinds: [],
    repeats: 2,
    batchTasks: 4,
    assemblyDir: join(directory, "assembly"),
    directory,
    drainSeconds: 3,
    ...options,
  });
}

/** Numbers of the statements that did not hold. */
function broken({ checks }: ChaosOutcome): number[] {
  return checks.filter(({ violations }) => violations.length > 0).map(({ number }) => number);
}

type PutItem = { Item: { state?: { S: string }; attempts?: { N: string } }; ConditionExpression?: string };

function rewritePuts(change: (put: PutItem) => object): Interceptor {
  return {
    rewriteRequest: (request: ProxyRequest) => {
      const put = request.json as PutItem;
      const isRollout = operation(request) === "PutItem" && put.Item.state !== undefined;
      return isRollout ? JSON.stringify(change(put)) : undefined;
    },
  };
}

/** Before they are sent. */
function changeMessages({ messages }: Pushes, change: (messages: readonly Push[]) => Push[]): void {
  (messages as Push[]).splice(0, messages.length, ...change(messages));
}

function alwaysThrowing(push: Push): Push {
  const envelope = JSON.parse(push.body);
  envelope.task.metadata.always = "throw";
  return { ...push, body: JSON.stringify(envelope) };
}

describe.concurrent("the checks", () => {
  it("are content with a run that nothing disturbs", async () => {
    const outcome = await run({ drainSeconds: 30 });
    expect([broken(outcome), outcome.checks[0]?.counts]).toMatchObject([[], { pushed: 4, ended: 4 }]);
  }, 120_000);

  it("1: notice that a message was lost, and tell its seed and its history", async () => {
    const started = async ({ pushes }: { pushes: Pushes }) =>
      changeMessages(pushes, (messages) => messages.slice(1));
    const outcome = await run({ minutes: 0.15, breaks: { started } });
    expect(broken(outcome)).toEqual([1]);
    const told = renderOutcome(outcome);
    expect(told).toContain(
      `VIOLATION of 1 (nothing is lost), seed ${outcome.seed}: expected the rollout in the table, found nothing; rollout run/chaos-${outcome.seed}/train/0/`,
    );
    expect(told).toContain("table: null");
  }, 120_000);

  it("2: notice that the fence in the table was removed", async () => {
    const unfenced = rewritePuts(({ ConditionExpression: _, ...put }: PutItem & Record<string, unknown>) => ({
      ...put,
      ExpressionAttributeNames: undefined,
      ExpressionAttributeValues: undefined,
    }));
    // Both copies of a message reach the same invocation at once.
    const twice = (messages: readonly Push[]) => messages.flatMap((message) => [message, message]);
    const started = async ({ pushes }: { pushes: Pushes }) => changeMessages(pushes, twice);
    const outcome = await run({ minutes: 0.3, breaks: { table: [unfenced], started } });
    expect(broken(outcome)).toContain(2);
  }, 120_000);

  it("3: notice that nobody sweeps", async () => {
    const outcome = await run({
      // Shorter than the message stays hidden: its next delivery would settle what nobody sweeps.
      minutes: 0.4,
      kinds: kindsNamed("kill-after-store-episode"),
      breaks: {
        started: async ({ tormented }) => {
          await Promise.all([...tormented.system.schedules.values()].map((schedule) => schedule.stop()));
        },
      },
    });
    expect(broken(outcome)).toContain(3);
  }, 120_000);

  it("4: notice that waiting uses up attempts", async () => {
    const overcounting = rewritePuts(({ Item, ...put }) => {
      const attempts = Number(Item.attempts?.N ?? 0);
      const failed = Item.state?.S === "waiting" && attempts > 0;
      return { ...put, Item: failed ? { ...Item, attempts: { N: String(attempts + 1) } } : Item };
    });
    const started = async ({ pushes }: { pushes: Pushes }) =>
      changeMessages(pushes, (messages) => messages.map(alwaysThrowing));
    const outcome = await run({ drainSeconds: 10, breaks: { table: [overcounting], started } });
    expect(broken(outcome)).toEqual([4]);
  }, 120_000);

  it("5: notice that nobody keeps to the throttle", async () => {
    const outcome = await run({ throttle: { ratio: 1, batchSize: 1 } });
    expect(broken(outcome)).toEqual([5]);
  }, 120_000);

  it("6: notice that an episode is aborted under a name that does not hold it", async () => {
    const zombie: Interceptor = {
      rewriteRequest: ({ path, json }) =>
        path === "/abort_episode"
          ? JSON.stringify({ ...(json as object), client_uuid: "main/zombie.1" })
          : undefined,
    };
    const started = async ({ pushes }: { pushes: Pushes }) =>
      changeMessages(pushes, (messages) => messages.map(alwaysThrowing));
    const outcome = await run({ drainSeconds: 10, breaks: { engine: [zombie], started } });
    expect(broken(outcome)).toEqual([6]);
  }, 120_000);
});
