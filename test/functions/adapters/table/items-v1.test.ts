/** The next release reads what the first one wrote: `items-v1.json` holds every shape of item, as it stood in the table. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readStates, recentRollouts } from "../../../../cli/look-up.ts";
import { createAbortStore } from "../../../../functions/adapters/table/aborts.ts";
import { createAdmissionStore } from "../../../../functions/adapters/table/admission.ts";
import { createBatchStore } from "../../../../functions/adapters/table/batches.ts";
import { type Key, toAttributes } from "../../../../functions/adapters/table/client.ts";
import { createEngineStateStore, setDesired } from "../../../../functions/adapters/table/engine-state.ts";
import { createGateStore } from "../../../../functions/adapters/table/gate.ts";
import { createInvocationStore } from "../../../../functions/adapters/table/invocations.ts";
import { readLateResults } from "../../../../functions/adapters/table/late-results.ts";
import { createLeaseStore, tickLease } from "../../../../functions/adapters/table/lease.ts";
import {
  createLifecycleStore,
  readLatestSnapshot,
  readSnapshots,
} from "../../../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../../../functions/adapters/table/rollouts.ts";
import { createUsageStore } from "../../../../functions/adapters/table/usage.ts";
import { createWatchStore } from "../../../../functions/adapters/table/watch.ts";
import { addAttempts, noTotals } from "../../../../functions/core/housekeeping/totals.ts";
import { isSentAgain, rolloutStates } from "../../../../functions/core/rollout/item.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { tableAfter } from "../../../docs/state-page.ts";
import { stateTable } from "./servers.ts";

type Item = Key & Record<string, unknown>;

const file = readFileSync(new URL("../../../data/items-v1.json", import.meta.url), "utf8");
const items: Item[] = JSON.parse(file);
/** Kinds of items that came after the first release. */
const added: Item[] = JSON.parse(
  readFileSync(new URL("../../../data/items-added.json", import.meta.url), "utf8"),
);
const rollouts = [...items, ...added].filter(({ sk }) => sk === "ROLLOUT");

let server: TableServer;
const options = () => ({ client: server.client, table: stateTable.name, ttlDays: 30, snapshotTtlDays: 30 });
beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
  for (const item of [...items, ...added])
    await server.client.send(new PutItemCommand({ TableName: stateTable.name, Item: toAttributes(item) }));
});
afterAll(() => server.close());

function frozen(pk: string, sk: string): Item {
  const found = items.find((item) => item.pk === pk && item.sk === sk);
  if (!found) throw new Error(`expected ${pk} ${sk} among the frozen items, found none`);
  return found;
}

/** An item without what the table alone needs. */
function bare(item: Item, ...more: string[]): object {
  const own = new Set(["pk", "sk", "expires_ttl", ...more]);
  return Object.fromEntries(Object.entries(item).filter(([name]) => !own.has(name)));
}

function bareRollout(item: Item): object {
  const { attempt, ...rest } = bare(item, "open_engine", "open_until", "invocation", "changed_fleet") as {
    attempt?: { result?: string };
  };
  if (!attempt) return rest;
  const result = attempt.result === undefined ? {} : { result: JSON.parse(attempt.result) };
  return { ...rest, attempt: { ...attempt, ...result } };
}

describe("the frozen items", () => {
  test("are what they were: a changed shape gets a file of its own, and this one stays", () => {
    const hash = createHash("sha256").update(file).digest("hex");
    expect(hash).toBe("29c9f63003fc4818f9c9b21afa50a93e2a0f4dac310191bfc95a9c0ef8f25f92");
  });

  test("cover every item of the table, and every state of a rollout", () => {
    const shape = (sk: string) => sk.replace(/^(SNAPSHOT|USAGE|ABORT|BATCH|LATE|CODE)#[^T].*/, "$1#");
    const inPage = tableAfter("## Items").map(([, , sk = ""]) => shape(sk.replaceAll("`", "")));
    expect(new Set([...items, ...added].map(({ sk }) => shape(sk)))).toEqual(new Set(inPage));
    expect(new Set(rollouts.map(({ state }) => state))).toEqual(new Set(rolloutStates));
  });
});

describe("rollouts", () => {
  test.each(rollouts)("$pk, $state, is read, and can be moved on from", async (item) => {
    const store = createRolloutStore(options());
    const read = await store.read("main", String(item["key"]));
    expect(read).toEqual(bareRollout(item));
    if (!read) throw new Error("expected the rollout");
    const touched = { ...read, stamp: "the next release" };
    expect(await store.move(read, touched)).toEqual({ moved: true, item: touched });
    expect(await store.move(touched, read)).toEqual({ moved: true, item: read });
  });

  test("those that are open, unconfirmed or missing are found in the index", async () => {
    const store = createLifecycleStore(options());
    const keys = (wanted: (item: Item) => boolean) => rollouts.filter(wanted).map(({ key }) => key);
    const open = keys(({ attempt }) => attempt !== undefined);
    expect(new Set((await store.openRollouts("main")).map(({ key }) => key))).toEqual(new Set(open));
    expect((await store.unconfirmed("main", 10)).map(({ key }) => key)).toEqual(
      keys(({ open_engine }) => open_engine === "main#unconfirmed"),
    );
    expect(await store.countMissing("main")).toBe(1);
  });

  test("are summed up, and shown to people", async () => {
    let totals = noTotals();
    for await (const page of createLifecycleStore(options()).changedSince("main", 0))
      for (const rollout of page) totals = addAttempts(totals, rollout, 0, Number.POSITIVE_INFINITY);
    expect(totals).toMatchObject({ ended: 3, eval_ended: 1, dead: 1, unknown: 1, reward_sum: 1.5 });
    const shown = await recentRollouts(options(), "main", { since: 0, limit: 100 });
    expect(shown).toHaveLength(rollouts.length);
    const keys = rollouts.map(({ key }) => String(key));
    const states = await readStates(options(), "main", keys);
    expect(keys.map((key) => states.get(key))).toEqual(rollouts.map(({ state }) => state));
  });

  test("the mark of a redrive is known", async () => {
    const marked = rollouts.filter(({ state, letter }) => state === "waiting" && letter === "sent");
    expect(marked).toHaveLength(1);
    const item = await createRolloutStore(options()).read("main", String(marked[0]?.["key"]));
    expect(item && isSentAgain(item)).toBe(true);
  });
});

describe("items of fleets", () => {
  test.each([...items, ...added].filter(({ sk }) => sk === "INVOCATION"))(
    "an invocation: $pk",
    async (item) => {
      const read = await createInvocationStore(options()).read(String(item["id"]));
      expect(bare(item, "v", "open_engine", "open_until")).toEqual(read);
    },
  );

  test("totals, which move on", async () => {
    const store = createLifecycleStore(options());
    const read = await store.readTotals("main");
    const { totals, ...rest } = bare(frozen("FLEET#main", "TOTALS"), "v") as { totals: object };
    // An item of before counts none that it does not list.
    expect(read).toEqual({ ...rest, totals: { ...totals, incomplete_unlisted: 0, lost: 0 } });
    if (!read) throw new Error("expected totals");
    expect(await store.writeTotals("main", read, { ...read, version: read.version + 1 })).toBe(true);
  });

  test.each(["main", "code"])("the gate of %s", async (fleet) => {
    const zero = { failures: 0, probes: 0 };
    const item = frozen(`FLEET#${fleet}`, "GATE");
    expect(await createGateStore(options()).read(fleet)).toEqual({ ...zero, ...bare(item, "v") });
  });

  test("admissions, which move on", async () => {
    const store = createAdmissionStore(options());
    const read = await store.read("math");
    expect(read).toEqual(bare(frozen("FLEET#math", "ADMISSION"), "v"));
    if (!read) throw new Error("expected admissions");
    expect(await store.write("math", read, { ...read, version: read.version + 1, stamp: "next" })).toBe(true);
  });

  test("an abort that may be under way, which the next one waits for", async () => {
    const item = added.find(({ sk }) => sk.startsWith("ABORT#"));
    const sentAt = Number(item?.["sent_at"]);
    const attempt = item?.sk.slice("ABORT#".length) ?? "";
    const store = createAbortStore(options());
    expect(await store.take("main", attempt, sentAt + 2, sentAt)).toBe(false);
    expect(await store.take("main", attempt, sentAt + 2, sentAt + 1)).toBe(true);
  });

  test("a result that came too late", async () => {
    const item = added.find(({ sk }) => sk.startsWith("LATE#"));
    const told = await readLateResults(options(), "main", "run/first/train/1/gsm8k-17");
    expect(told).toEqual([item && bare(item)]);
  });

  test("what was seen of a batch, which moves on", async () => {
    const item = added.find(({ sk }) => sk.startsWith("BATCH#"));
    const store = createBatchStore(options());
    const read = await store.read("main", Number(item?.["step"]));
    expect(read).toEqual(item && bare(item, "v"));
    if (!read) throw new Error("expected a batch");
    expect(await store.write("main", read, { ...read, version: read.version + 1 })).toBe(true);
    expect(await store.write("main", read, { ...read, version: read.version + 1 })).toBe(false);
  });

  test("which trainings have ended, which moves on", async () => {
    const item = added.find(({ sk }) => sk === "TRAINING");
    const store = createBatchStore(options()).trainings;
    const read = await store.read("main");
    expect(read).toEqual(item && bare(item, "v"));
    if (!read) throw new Error("expected a training");
    expect(await store.write("main", read, { ...read, version: read.version + 1 })).toBe(true);
    expect(await store.write("main", read, { ...read, version: read.version + 1 })).toBe(false);
  });

  test.each(["2026-05-04", "TOTAL"])("the usage of %s, which is added to", async (period) => {
    const store = createUsageStore(options());
    const item = frozen("FLEET#main", `USAGE#${period}`);
    expect(await store.read("main", period)).toEqual(bare(item, "v"));
  });
});

describe("items of engines", () => {
  test("the desired state, which a person sets again", async () => {
    const item = frozen("ENGINE#main", "DESIRED");
    expect(await createEngineStateStore(options()).readDesired("main")).toEqual({ desired: bare(item) });
    const next = await setDesired(options(), "main", { state: "stopped" }, { now: 1 });
    expect(next.generation).toBe(Number(item["generation"]) + 1);
  });

  test("the observed state, which moves on", async () => {
    const store = createEngineStateStore(options());
    const read = await store.readObserved("main");
    expect(read).toMatchObject(bare(frozen("ENGINE#main", "OBSERVED")));
    if (!read) throw new Error("expected an observed state");
    const next = { ...read, version: read.version + 1, token: read.token + 1 };
    expect(await store.writeObserved("main", read, next)).toBe(true);
  });

  test("the watch, which goes on", async () => {
    const store = createWatchStore(options());
    const read = await store.read("main");
    const item = added.find(({ sk }) => sk === "WATCH");
    expect(item && bare(item, "v")).toEqual(read);
    if (!read) throw new Error("expected a watch");
    expect(await store.write("main", read, { ...read, version: read.version + 1 })).toBe(true);
    expect(await store.write("main", read, { ...read, version: read.version + 2 })).toBe(false);
  });

  test("the lease, which is taken over", async () => {
    const store = createLeaseStore(options());
    const read = await store.read(tickLease("main"));
    expect(read).toEqual(bare(frozen("ENGINE#main", "LEASE"), "v"));
    if (!read) throw new Error("expected a lease");
    expect(await store.write(tickLease("main"), read, { ...read, token: read.token + 1 })).toBe(true);
  });

  test("snapshots, the latest and by time", async () => {
    const latest = bare(frozen("ENGINE#main", "LATEST"));
    expect(await readLatestSnapshot(options(), "main")).toMatchObject(latest);
    expect(await readSnapshots(options(), "main", "2026-05-04")).toMatchObject([latest]);
  });
});
