import { randomUUID } from "node:crypto";
import { PurgeQueueCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { allLetters, type Letter } from "../../cli/dead/letters.ts";
import { getItem } from "../../functions/adapters/table/conditional-put.ts";
import { createRolloutStore, rolloutKey } from "../../functions/adapters/table/rollouts.ts";
import type { RolloutItem } from "../../functions/core/rollout/item.ts";
import { anItem, anOpenItem } from "../functions/core/items.ts";
import { messageCounts, receiveNow } from "../local/helpers/queues.ts";
import { sendJson, serve } from "../support/http-server.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { type Circumstances, type Ran, sortie } from "./here.ts";

let deployed: Deployed;
beforeAll(async () => {
  deployed = await startDeployment();
});
afterAll(async () => await deployed[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const QueueUrl of [deployed.main.queueUrl, deployed.main.deadLetterQueueUrl])
    await deployed.sqs.send(new PurgeQueueCommand({ QueueUrl }));
});

const dead = async (args: readonly string[], given: Circumstances = {}): Promise<Ran> =>
  await sortie(["dead", ...args], { environment: deployed.environment, ...given });
const store = () => createRolloutStore({ ...deployed.table, ttlDays: 1 });
const read = async (key: string) => await store().read("main", key);
const leave = async (item: RolloutItem) =>
  expect(await store().move(undefined, item)).toMatchObject({ moved: true });

/** A rollout that died, and its letter, as the rollout function leaves them. */
async function bury(run: string, facts: { reason?: string; at?: string; state?: RolloutItem["state"] } = {}) {
  const { reason = "agent-error", at = "2026-05-04T10:00:00.000Z", state = "dead" } = facts;
  const task_id = randomUUID();
  const key = `run/${run}/train/0/${task_id}`;
  const body = `{ "run":"${run}",  "task":{"task_id":"${task_id}"} }`;
  const last = { id: "a.1", episode: "e1", reason: "agent-error" as const, at: 2, from: 1, step: 1 };
  await leave(
    anItem({ key, task_id, run, state, attempts: 3, tries: 3, history: [last], letter: "sent", stamp: key }),
  );
  const ours = {
    reason,
    fleet: "main",
    died_at: at,
    rollout: key,
    attempts: "3",
    episodes: "e1,e2",
    error: "boom",
  };
  await deployed.send(deployed.main.deadLetterQueueUrl, body, { ...ours, own: "kept" });
  return { key, body };
}

/** The same for a plain task, whose key is that of the message. */
async function buryPlain(
  state: RolloutItem["state"] = "dead",
  letter: RolloutItem["letter"] | null = "sent",
) {
  const key = `message/${randomUUID()}`;
  const item = anItem({ key, state, attempts: 3, stamp: key });
  await leave(letter === null ? item : { ...item, letter });
  await deployed.send(deployed.main.deadLetterQueueUrl, '{"task_id":"plain"}', {
    reason: "deadline",
    rollout: key,
  });
  return key;
}

async function waiting(): Promise<{ queue: number; dead: number }> {
  const [queue, letters] = await Promise.all([
    messageCounts(deployed.sqs, deployed.main.queueUrl),
    messageCounts(deployed.sqs, deployed.main.deadLetterQueueUrl),
  ]);
  return { queue: queue.visible, dead: letters.visible };
}

async function letters(): Promise<Letter[]> {
  const all: Letter[] = [];
  const queue = { client: deployed.sqs, queueUrl: deployed.main.deadLetterQueueUrl };
  for await (const some of allLetters(queue, 0)) all.push(...some);
  return all;
}

/** The queue server, but for one call, which it does not carry out. */
async function brokenAt(call: string) {
  return await serve(async ({ headers, json, path }, response) => {
    if (String(headers["x-amz-target"]).endsWith(`.${call}`)) {
      sendJson(response, 400, { __type: "Broken", message: "broken for this test" });
      return;
    }
    const answer = await fetch(`${deployed.endpoints.sqs}${path}`, {
      method: "POST",
      headers: {
        "x-amz-target": String(headers["x-amz-target"]),
        "content-type": "application/x-amz-json-1.0",
      },
      body: JSON.stringify(json),
    });
    sendJson(response, answer.status, await answer.json());
  });
}

/** The queue server, but the answers to one call are lost, after it has been carried out. */
async function answersLostAt(call: string) {
  let calls = 0;
  const proxy = await serve(async ({ headers, json, path }, response) => {
    const answer = await fetch(`${deployed.endpoints.sqs}${path}`, {
      method: "POST",
      headers: {
        "x-amz-target": String(headers["x-amz-target"]),
        "content-type": "application/x-amz-json-1.0",
      },
      body: JSON.stringify(json),
    });
    if (String(headers["x-amz-target"]).endsWith(`.${call}`)) {
      calls += 1;
      response.destroy();
      return;
    }
    sendJson(response, answer.status, await answer.json());
  });
  return { proxy, calls: () => calls };
}

describe("sortie dead list", () => {
  test("groups letters by reason, and leaves them all to be received again", async () => {
    await bury("l", { at: "2026-05-04T10:00:00.000Z" });
    await bury("l", { at: "2026-05-04T12:00:00.000Z" });
    await deployed.send(deployed.main.deadLetterQueueUrl, "no json", {
      reason: "invalid-message",
      error: "no task",
    });
    await deployed.send(deployed.main.deadLetterQueueUrl, '{"task_id":"a"}');
    const ran = await dead(["list", "--json"]);
    expect(ran.json()).toMatchObject({
      fleet: "main",
      letters: 4,
      reasons: [
        {
          reason: "agent-error",
          count: 2,
          oldest: "2026-05-04T10:00:00.000Z",
          newest: "2026-05-04T12:00:00.000Z",
          error: "boom",
        },
        { reason: "invalid-message", count: 1, meaning: "the message is no rollout", error: "no task" },
        { reason: "received-too-often", count: 1, error: "" },
      ],
    });
    expect(await waiting()).toEqual({ queue: 0, dead: 4 });
    const text = (await dead(["list", "--reason", "agent-error"])).out;
    expect(text).toMatch(/^Fleet main: 2 dead letters\n/);
    expect(text).toMatch(/│ agent-error │ +2 │ 2026-05-04 10:00 │ 2026-05-04 12:00 │/);
    expect(text).toContain("\nagent-error: the agent threw an error. The last: boom\n");
  });

  test("sees more than one receive has", async () => {
    for (let count = 0; count < 25; count += 1)
      await deployed.send(deployed.main.deadLetterQueueUrl, `{"task_id":"${count}"}`);
    expect((await dead(["list", "--json"])).json()).toMatchObject({ letters: 25 });
    expect(await waiting()).toEqual({ queue: 0, dead: 25 });
  });

  test("says so where there is none", async () => {
    expect((await dead(["list"])).out).toBe("Fleet main has no dead letters.\n");
  });
});

describe("sortie dead show", () => {
  test("prints each letter's facts, the body only where asked for", async () => {
    const { key, body } = await bury("s");
    const shown = await dead(["show"]);
    expect(shown.out).toMatch(new RegExp(`│ rollout +│ ${key} +│`));
    expect(shown.out).toMatch(/│ reason +│ agent-error: the agent threw an error +│/);
    expect(shown.out).not.toContain("task_id");
    expect((await dead(["show", "--body"])).out).toContain('"task_id"');
    expect((await dead(["show", "--json"])).json()).toEqual([
      {
        message_id: expect.any(String),
        reason: "agent-error",
        error: "boom",
        rollout: key,
        attempts: 3,
        episodes: ["e1", "e2"],
        died_at: "2026-05-04T10:00:00.000Z",
        body,
      },
    ]);
  });

  test("keeps to its limit", async () => {
    for (let count = 0; count < 12; count += 1)
      await deployed.send(deployed.main.deadLetterQueueUrl, `{"task_id":"${count}"}`);
    expect((await dead(["show", "--json", "--limit", "11"])).json()).toHaveLength(11);
    expect(await waiting()).toEqual({ queue: 0, dead: 12 });
  });
});

describe("sortie dead redrive", () => {
  test("sends the original message, with fresh attempts and its history kept", async () => {
    const { key, body } = await bury("r");
    const ran = await dead(["redrive"]);
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out).toBe("1 dead letter of fleet main sent back, with fresh attempts.\n");
    expect(await waiting()).toEqual({ queue: 1, dead: 0 });
    const [message] = await receiveNow(deployed.sqs, deployed.main.queueUrl);
    expect(message?.Body).toBe(body);
    expect(Object.keys(message?.MessageAttributes ?? {})).toEqual(["own"]);
    const item = await read(key);
    expect(item).toMatchObject({
      state: "waiting",
      attempts: 0,
      tries: 3,
      history: [{ reason: "agent-error" }],
    });
    expect(item?.letter).toBeUndefined();
  });

  test("keeps the rollout's item for as long as the deployment's settings say", async () => {
    const { key } = await bury("r");
    expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 1 });
    const found = await getItem(deployed.table, rolloutKey("main", key));
    const { changed_at, expires_ttl } = found as { changed_at: number; expires_ttl: number };
    expect(expires_ttl).toBe(Math.floor(changed_at / 1000) + 90 * 86_400);
  });

  test("of one reason leaves the others, and keeps to a limit", async () => {
    await bury("r", { reason: "deadline" });
    await bury("r", { reason: "deadline" });
    const other = await bury("r");
    expect((await dead(["redrive", "--reason", "deadline", "--limit", "1", "--json"])).json()).toEqual({
      fleet: "main",
      sent: 1,
      ended: 0,
      open: 0,
      unsure: 0,
      interrupted: false,
    });
    expect(await waiting()).toEqual({ queue: 1, dead: 2 });
    expect((await read(other.key))?.state).toBe("dead");
  });

  test("that died after the item was reset goes on, and one that died after the send doubles no rollout", async () => {
    const { key } = await bury("x", { state: "waiting" });
    expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 1 });
    expect(await read(key)).toMatchObject({ state: "waiting" });
  });

  test.each(["ended", "unknown"] as const)(
    "removes the letter of a rollout that is %s by now",
    async (state) => {
      const { key } = await bury("done", { state });
      expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 0, ended: 1 });
      expect(await waiting()).toEqual({ queue: 0, dead: 0 });
      expect((await read(key))?.state).toBe(state);
    },
  );

  test("sends a letter that SQS itself made, whether or not the table knows the rollout", async () => {
    await deployed.send(deployed.main.deadLetterQueueUrl, '{"task":{"task_id":"sqs"},"run":"sqs"}');
    expect((await dead(["redrive", "--reason", "received-too-often", "--json"])).json()).toMatchObject({
      sent: 1,
    });
    expect(await waiting()).toEqual({ queue: 1, dead: 0 });
  });

  test("sends a message that is no rollout as it is", async () => {
    await deployed.send(deployed.main.deadLetterQueueUrl, "no json", { reason: "invalid-message" });
    expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 1 });
    expect((await receiveNow(deployed.sqs, deployed.main.queueUrl))[0]?.Body).toBe("no json");
  });

  describe("of a message without a run", () => {
    test("marks the old rollout, so that a second redrive of the same letter does not send it again", async () => {
      const key = await buryPlain();
      expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 1 });
      expect(await read(key)).toMatchObject({ state: "waiting", letter: "sent", attempts: 0 });
      // As if the first redrive had died before it removed the letter.
      await deployed.send(deployed.main.deadLetterQueueUrl, '{"task_id":"plain"}', {
        reason: "deadline",
        rollout: key,
      });
      const second = await dead(["redrive"]);
      expect(second.out).toContain("1 left there: an interrupted redrive may have sent them");
      expect(await waiting()).toEqual({ queue: 1, dead: 1 });
      expect((await dead(["redrive", "--unsure", "--json"])).json()).toMatchObject({ sent: 1, unsure: 0 });
      expect(await waiting()).toEqual({ queue: 2, dead: 0 });
    });

    test("is sent once where the answer is lost, and then left to a person", async () => {
      const key = await buryPlain();
      const { proxy, calls } = await answersLostAt("SendMessage");
      await using _ = proxy;
      const environment = { ...deployed.environment, AWS_ENDPOINT_URL_SQS: proxy.url };
      const ran = await dead(["redrive"], { environment });
      expect(ran.code).toBe(0);
      expect(ran.err).toMatch(/^sortie: message [\w-]+: whether the queue took it is unknown: /);
      expect(ran.out).toContain("1 left there: an interrupted redrive may have sent them");
      expect(calls()).toBe(1);
      expect(await waiting()).toEqual({ queue: 1, dead: 1 });
      expect(await read(key)).toMatchObject({ state: "waiting", letter: "sent" });
      expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 0, unsure: 1 });
      expect(await waiting()).toEqual({ queue: 1, dead: 1 });
    });

    test("that SQS gave up on while it waited is marked too", async () => {
      await deployed.send(deployed.main.deadLetterQueueUrl, '{"task_id":"fresh"}');
      const [letter] = await letters();
      expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 1 });
      expect(await read(`message/${letter?.messageId}`)).toMatchObject({
        state: "waiting",
        letter: "sent",
        tries: 0,
      });
    });

    test("whose rollout has ended is removed, and one that waits without the mark is sent", async () => {
      await buryPlain("ended", null);
      await buryPlain("waiting", null);
      expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 1, ended: 1 });
    });

    test("whose episode is open stays", async () => {
      const key = `message/${randomUUID()}`;
      await leave(anOpenItem({ key, stamp: key }));
      await deployed.send(deployed.main.deadLetterQueueUrl, '{"task_id":"plain"}', { rollout: key });
      const ran = await dead(["redrive"]);
      expect(ran.out).toContain("1 left there: an episode of theirs is open. Try again in some minutes.");
      expect(await waiting()).toEqual({ queue: 0, dead: 1 });
    });
  });

  test("sends more than one receive has, each once", async () => {
    const keys: string[] = [];
    for (let count = 0; count < 23; count += 1) keys.push((await bury("many")).key);
    expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 23 });
    expect(await waiting()).toEqual({ queue: 23, dead: 0 });
  });

  test.each(["SendMessage", "DeleteMessage"])(
    "that breaks at %s loses nothing, and runs no rollout twice when it is done again",
    async (broken) => {
      const { key, body } = await bury("broken");
      const plain = await buryPlain();
      await using proxy = await brokenAt(broken);
      const ran = await dead(["redrive"], {
        environment: { ...deployed.environment, AWS_ENDPOINT_URL_SQS: proxy.url },
      });
      expect(ran.code).toBe(1);
      expect((await waiting()).dead).toBe(2);
      const again = (await dead(["redrive", "--json"])).json();
      // Whether the plain one went out nobody can tell: it stays.
      expect(again).toMatchObject({ sent: 1, unsure: 1 });
      expect(await read(key)).toMatchObject({ state: "waiting", attempts: 0 });
      expect(await read(plain)).toMatchObject({ state: "waiting", letter: "sent" });
      const bodies = (await receiveNow(deployed.sqs, deployed.main.queueUrl)).map(({ Body }) => Body);
      const sent = broken === "DeleteMessage" ? 1 : 0;
      expect(bodies.filter((one) => one === '{"task_id":"plain"}')).toHaveLength(sent);
      // The same rollout twice in the queue is one rollout: its key says so.
      expect(bodies.filter((one) => one === body)).toHaveLength(sent + 1);
    },
    20_000,
  );

  test("that cannot reach the queue loses nothing", async () => {
    const { key } = await bury("lost");
    const ran = await dead([
      "redrive",
      "--queue-url",
      `${deployed.endpoints.sqs}/000000000000/nowhere`,
      "--dead-letter-queue-url",
      deployed.main.deadLetterQueueUrl,
    ]);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/^sortie: expected a queue, found none of that address/);
    expect(await waiting()).toEqual({ queue: 0, dead: 1 });
    expect((await dead(["redrive", "--json"])).json()).toMatchObject({ sent: 1 });
    expect((await read(key))?.state).toBe("waiting");
  });
});

describe("sortie dead purge", () => {
  test.each<[string, Circumstances]>([
    ["nobody is there", {}],
    ["the answer is no", { answer: "n" }],
    ["the answer is nothing", { answer: "" }],
  ])("removes nothing where %s", async (_, given) => {
    await bury("p");
    const ran = await dead(["purge"], given);
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toBe(
      "sortie: nothing was removed: expected a yes, or --yes where there is nobody to ask\n",
    );
    expect(await waiting()).toEqual({ queue: 0, dead: 1 });
  });

  test.each<[string, string[], Circumstances]>([
    ["the answer is yes", [], { answer: "yes" }],
    ["it is told not to ask", ["--yes"], {}],
  ])("removes all where %s", async (_, args, given) => {
    await bury("p");
    await bury("p", { reason: "deadline" });
    expect((await dead(["purge", ...args], given)).out).toBe("2 dead letters of fleet main removed.\n");
    expect(await waiting()).toEqual({ queue: 0, dead: 0 });
  });

  test("of one reason leaves the others", async () => {
    await bury("p");
    await bury("p", { reason: "deadline" });
    expect((await dead(["purge", "--yes", "--reason", "deadline", "--json"])).json()).toEqual({
      fleet: "main",
      removed: 1,
    });
    expect((await dead(["list", "--json"])).json()).toMatchObject({
      reasons: [{ reason: "agent-error", count: 1 }],
    });
  });
});

test("a reason that there is not is a fault of the command line", async () => {
  const ran = await dead(["list", "--reason", "agent-eror"]);
  expect(ran.code).toBe(2);
  expect(ran.err).toContain("Allowed choices are ended, agent-error,");
});
