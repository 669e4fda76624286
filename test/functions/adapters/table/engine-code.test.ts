import { randomBytes } from "node:crypto";
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { toAttributes } from "../../../../functions/adapters/table/client.ts";
import { getItem } from "../../../../functions/adapters/table/conditional-put.ts";
import { letExpire, readCode, writeCode } from "../../../../functions/adapters/table/engine-code.ts";
import { codeKey } from "../../../../functions/adapters/table/engine-keys.ts";
import { createEngineStateStore, setDesired } from "../../../../functions/adapters/table/engine-state.ts";
import type { EngineCode } from "../../../../functions/core/engine-lifecycle/engine-code.ts";
import { useTable } from "./engine-table.ts";

const options = useTable();
const NOW = 1_900_000_000_000;
const IN_A_WEEK = NOW / 1000 + 7 * 86_400;
let names = 0;
const newName = () => {
  names += 1;
  return `code-${names}`;
};

const want = (engine: string, code?: EngineCode) =>
  setDesired(options(), engine, { state: "running", config: "a: 1", code }, { now: NOW });
const expiry = async (engine: string, { sha256 }: EngineCode) =>
  (await getItem(options(), codeKey(engine, sha256, 0)))?.["expires_ttl"];

describe("code", () => {
  test("larger than an item comes back as it was", async () => {
    const engine = newName();
    const zip = randomBytes(700_000);
    const code = await writeCode(options(), engine, zip);
    expect(code).toMatchObject({ bytes: 700_000, parts: 3 });
    expect(Buffer.from(await readCode(options(), engine, code)).equals(zip)).toBe(true);
  });

  test("of which a part is missing is told, with what to do", async () => {
    const engine = newName();
    const code = await writeCode(options(), engine, randomBytes(300_000));
    const Key = toAttributes(codeKey(engine, code.sha256, 1));
    await options().client.send(new DeleteItemCommand({ TableName: options().table, Key }));
    await expect(readCode(options(), engine, code)).rejects.toThrow(
      /expected 300000 bytes of code .* in 1 of 2 parts: give it again \(sortie engine start --code\)/,
    );
  });

  test("that is too large, or empty, is refused", async () => {
    for (const size of [0, 4_000_001])
      await expect(writeCode(options(), newName(), new Uint8Array(size))).rejects.toThrow("cannot be used");
  });
});

describe("what the desired state names", () => {
  test("stands beside it, and never expires", async () => {
    const engine = newName();
    const code = await writeCode(options(), engine, randomBytes(100));
    await want(engine, code);
    expect((await createEngineStateStore(options()).readDesired(engine)).desired).toMatchObject({ code });
    expect(await expiry(engine, code)).toBeUndefined();
  });

  test("no more expires within days, and is kept again once it is named again", async () => {
    const engine = newName();
    const first = await writeCode(options(), engine, randomBytes(100));
    const second = await writeCode(options(), engine, randomBytes(100));
    await want(engine, first);
    await want(engine, second);
    expect([await expiry(engine, first), await expiry(engine, second)]).toEqual([IN_A_WEEK, undefined]);
    await want(engine, first);
    expect([await expiry(engine, first), await expiry(engine, second)]).toEqual([undefined, IN_A_WEEK]);
    await setDesired(options(), engine, { state: "stopped" }, { now: NOW });
    expect(await expiry(engine, first)).toBe(IN_A_WEEK);
  });

  test("by the time that another's code is let go stays", async () => {
    const engine = newName();
    const code = await writeCode(options(), engine, randomBytes(100));
    await want(engine, code);
    await letExpire(options(), engine, code, NOW);
    expect(await expiry(engine, code)).toBeUndefined();
  });
});
