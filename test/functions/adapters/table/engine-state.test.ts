import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { toAttributes } from "../../../../functions/adapters/table/client.ts";
import { getItem } from "../../../../functions/adapters/table/conditional-put.ts";
import { desiredKey, observedKey } from "../../../../functions/adapters/table/engine-keys.ts";
import {
  CONFIG_BYTES,
  createEngineStateStore,
  setDesired,
} from "../../../../functions/adapters/table/engine-state.ts";
import { SettingsError } from "../../../../functions/contract/settings-error.ts";
import { configHash, type Observed } from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import { nothingObserved } from "../../../../functions/core/engine-lifecycle/observe-engine.ts";
import { useTable } from "./engine-table.ts";

const options = useTable();
const NOW = 1_900_000_000_000;
const config = "ajet:\n  backbone: verl\n";
let names = 0;
function newName(): string {
  names += 1;
  return `engine-${names}`;
}

describe("the desired state", () => {
  test("is absent until somebody sets it", async () => {
    expect(await createEngineStateStore(options()).readDesired(newName())).toEqual({ desired: undefined });
  });

  test("is read as it was set, each time with the next generation", async () => {
    const engine = newName();
    const { readDesired } = createEngineStateStore(options());
    await setDesired(options(), engine, { state: "running", config }, { now: NOW, name: "ada" });
    const first = { v: 1, state: "running", config, hash: await configHash(config), generation: 1 };
    expect(await readDesired(engine)).toEqual({ desired: { ...first, set_at: NOW, set_by: "ada" } });
    await setDesired(options(), engine, { state: "running", config, restart: "r-1" }, { now: NOW + 1 });
    expect(await readDesired(engine)).toEqual({
      desired: { ...first, generation: 2, restart: "r-1", set_at: NOW + 1 },
    });
    await setDesired(options(), engine, { state: "stopped" }, { now: NOW + 2 });
    expect(await readDesired(engine)).toEqual({
      desired: { v: 1, state: "stopped", generation: 3, set_at: NOW + 2 },
    });
  });

  test("does not expire", async () => {
    const engine = newName();
    await setDesired(options(), engine, { state: "stopped" }, { now: NOW });
    expect(await getItem(options(), desiredKey(engine))).not.toHaveProperty("expires_ttl");
  });

  test("never has one generation for two wishes, however many set it at once", async () => {
    const engine = newName();
    const set = await Promise.all(
      [1, 2, 3].map((at) => setDesired(options(), engine, { state: "stopped" }, { now: NOW + at })),
    );
    expect(set.map(({ generation }) => generation).toSorted()).toEqual([1, 2, 3]);
  });

  test.for([
    ["empty", " \n", "found nothing"],
    ["too large", "#".repeat(CONFIG_BYTES + 1), `found ${CONFIG_BYTES + 1}`],
  ] as const)("is not set with a config that is %s", async ([, text, fault]) => {
    const engine = newName();
    const setting = setDesired(options(), engine, { state: "running", config: text }, { now: NOW });
    await expect(setting).rejects.toThrow(SettingsError);
    await expect(setting).rejects.toThrow(fault);
    expect(await getItem(options(), desiredKey(engine))).toBeUndefined();
  });

  test.for([
    ["another state", { state: "jogging" }, "state:"],
    ["no config", { state: "running", hash: "h" }, "config:"],
    ["a config that was changed by hand", { state: "running", config: "x: 1", hash: "h" }, "SHA-256 h"],
  ] as const)("that has %s is said to be unreadable, and can be set anew", async ([, item, fault]) => {
    const engine = newName();
    const stored = { ...desiredKey(engine), v: 1, generation: 4, set_at: NOW, ...item };
    const { client, table } = options();
    await client.send(new PutItemCommand({ TableName: table, Item: toAttributes(stored) }));
    const { readDesired } = createEngineStateStore(options());
    const { desired, unreadable } = await readDesired(engine);
    expect(desired).toBeUndefined();
    expect(unreadable).toContain(fault);
    await setDesired(options(), engine, { state: "stopped" }, { now: NOW });
    expect((await readDesired(engine)).desired).toMatchObject({ generation: 5 });
  });
});

describe("the observed state", () => {
  const full: Observed = {
    ...nothingObserved(NOW),
    version: 1,
    token: 10,
    status: "ENGINE.BOOTING",
    detail: "loading",
    global_step: 3,
    unreachable: { count: 2, since: 1, look_again_at: 2, detail: "ECONNREFUSED" },
    generation: 4,
    step: { kind: "wait", reason: "the engine is booting" },
    start: {
      generation: 4,
      hash: "h",
      at: 1,
      until: 2,
      answer: "accepted",
      seen: "booting",
      first_step: null,
      updated: false,
    },
    stopped_at: 5,
    restarted: "r-1",
    failures: 1,
    last_failure: { at: 6, text: "boom" },
    retry_at: 7,
    call_error: { at: 8, text: "stop_engine was unclear" },
    alarms: [{ code: "stalled", since: 9, text: "it stands" }],
  };

  test("is read as it was written, and expires 30 days after its last tick", async () => {
    const engine = newName();
    const store = createEngineStateStore(options());
    expect(await store.readObserved(engine)).toBeUndefined();
    expect(await store.writeObserved(engine, undefined, full)).toBe(true);
    expect(await store.readObserved(engine)).toEqual(full);
    const item = await getItem(options(), observedKey(engine));
    expect(item?.["expires_ttl"]).toBe(NOW / 1000 + 30 * 86_400);
  });

  test("is not written over a version that the writer has not read, nor by an older token", async () => {
    const engine = newName();
    const store = createEngineStateStore(options());
    await store.writeObserved(engine, undefined, full);
    const second = { ...full, version: 2, token: 11 };
    expect(await store.writeObserved(engine, undefined, { ...second, token: 12 })).toBe(false);
    expect(await store.writeObserved(engine, full, { ...second, token: 9 })).toBe(false);
    expect(await store.writeObserved(engine, full, second)).toBe(true);
    expect(await store.writeObserved(engine, full, { ...second, token: 12 })).toBe(false);
    expect(await store.readObserved(engine)).toEqual(second);
  });

  test("is written once, though the answer was lost and the write sent again", async () => {
    const engine = newName();
    const store = createEngineStateStore(options());
    expect(await store.writeObserved(engine, undefined, full)).toBe(true);
    expect(await store.writeObserved(engine, undefined, full)).toBe(true);
  });

  test("is written by exactly one of fifty at once", async () => {
    const engine = newName();
    const store = createEngineStateStore(options());
    const written = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        store.writeObserved(engine, undefined, { ...full, token: 100 + at }),
      ),
    );
    expect(written.filter(Boolean)).toHaveLength(1);
  });
});
