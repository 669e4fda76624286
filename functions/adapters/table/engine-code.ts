/**
 * The trainer's code beside what is wanted of an engine, in parts, since an item holds 400 KB. What the desired state names
 * never expires; what it names no more does, after some days.
 */
import { PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import { SettingsError } from "../../contract/settings-error.ts";
import { CODE_BYTES, type EngineCode } from "../../core/engine-lifecycle/engine-code.ts";
import { desiredSchema, sha256Hex } from "../../core/engine-lifecycle/engine-state.ts";
import { expiresTtl, type TableOptions, toAttributes } from "./client.ts";
import { getItem, isConditionFailure } from "./conditional-put.ts";
import { codeKey, desiredKey } from "./engine-keys.ts";

/** Bytes of a part; as base64 a third more. */
const PART_BYTES = 270_000;
/** Days that parts outlive the last desired state that named them. */
const LEFT_TTL_DAYS = 7;
const AT_ONCE = 4;

const partSchema = z.object({ v: z.literal(1), data: z.base64() });

/** Before the desired state that names it. @throws SettingsError where it is too large */
export async function writeCode(options: TableOptions, engine: string, zip: Uint8Array): Promise<EngineCode> {
  if (zip.length === 0 || zip.length > CODE_BYTES)
    throw new SettingsError(
      [
        `expected at most ${CODE_BYTES} bytes as a zip, found ${zip.length}: keep data and models out of the folder`,
      ],
      "the trainer's code cannot be used",
    );
  const sha256 = await sha256Hex(new Uint8Array(zip));
  const code = { sha256, bytes: zip.length, parts: Math.ceil(zip.length / PART_BYTES) };
  await eachPart(code, async (part) => {
    const data = Buffer.from(zip.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)).toString("base64");
    // The same content has the same name: whatever stands there may be replaced, and loses its expiry.
    const item = { ...codeKey(engine, sha256, part), v: 1, data };
    await options.client.send(new PutItemCommand({ TableName: options.table, Item: toAttributes(item) }));
  });
  return code;
}

/** The zip. Throws where a part is missing, or the whole is not what its name says. */
export async function readCode(options: TableOptions, engine: string, code: EngineCode): Promise<Uint8Array> {
  const parts = new Map<number, Buffer>();
  await eachPart(code, async (part) => {
    const found = partSchema.safeParse(await getItem(options, codeKey(engine, code.sha256, part)));
    if (found.success) parts.set(part, Buffer.from(found.data.data, "base64"));
  });
  const zip = Buffer.concat([...parts].toSorted(([a], [b]) => a - b).map(([, data]) => data));
  const sha256 = await sha256Hex(new Uint8Array(zip));
  if (sha256 === code.sha256) return zip;
  throw new Error(
    `expected ${code.bytes} bytes of code with SHA-256 ${code.sha256}, found ${zip.length} with ${sha256} in ${parts.size} of ${code.parts} parts: give it again (sortie engine start --code)`,
  );
}

/**
 * After a change of the desired state: what it names stays, what the one before named expires. Somebody else may set it at
 * the same time, so what was given an expiry is looked at again.
 */
export async function keepNamedCode(
  options: TableOptions,
  engine: string,
  previous: Record<string, unknown> | undefined,
  now: number,
): Promise<void> {
  const before = codeIn(previous);
  const named = await namedCode(options, engine);
  if (named !== undefined) await setExpiry(options, engine, named, undefined);
  if (before !== undefined && before.sha256 !== named?.sha256) await letExpire(options, engine, before, now);
}

/** Of code that the desired state does not name. */
export async function letExpire(
  options: TableOptions,
  engine: string,
  before: EngineCode,
  now: number,
): Promise<void> {
  await setExpiry(options, engine, before, expiresTtl(now, LEFT_TTL_DAYS));
  if ((await namedCode(options, engine))?.sha256 === before.sha256)
    await setExpiry(options, engine, before, undefined);
}

async function namedCode(options: TableOptions, engine: string): Promise<EngineCode | undefined> {
  return codeIn(await getItem(options, desiredKey(engine)));
}

function codeIn(item: Record<string, unknown> | undefined): EngineCode | undefined {
  const desired = desiredSchema.safeParse(item).data;
  return desired?.state === "running" ? desired.code : undefined;
}

async function setExpiry(
  { client, table }: TableOptions,
  engine: string,
  code: EngineCode,
  expires: number | undefined,
): Promise<void> {
  await eachPart(code, async (part) => {
    const update = new UpdateItemCommand({
      TableName: table,
      Key: toAttributes(codeKey(engine, code.sha256, part)),
      UpdateExpression: expires === undefined ? "REMOVE expires_ttl" : "SET expires_ttl = :expires",
      ConditionExpression: "attribute_exists(pk)",
      ...(expires === undefined ? {} : { ExpressionAttributeValues: toAttributes({ ":expires": expires }) }),
    });
    await client.send(update).catch((error: unknown) => {
      if (!isConditionFailure(error)) throw error;
    });
  });
}

async function eachPart({ parts }: EngineCode, work: (part: number) => Promise<void>): Promise<void> {
  for (let start = 0; start < parts; start += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, parts - start) }, (_, at) => start + at);
    await Promise.all(some.map(work));
  }
}
