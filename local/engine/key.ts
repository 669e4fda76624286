/** The key of an episode: `sk-ajet-` and base64 of JSON that names it. */
import { JsonFault, parseJson, pythonJson, pythonType } from "./python.ts";

const prefix = "sk-ajet-";

export function episodeKey(episodeUuid: string, address: string): string {
  const named = {
    agent_name: "default_agent_name",
    target_tag: "default_target_tag",
    episode_uuid: episodeUuid,
    episode_address: address,
  };
  return prefix + Buffer.from(pythonJson(named)).toString("base64");
}

/** An authorization header that names no episode; the message is the engine's. */
export class KeyFault extends Error {}

/** The episode that an authorization header names; "Bearer" and the prefix may be missing. @throws KeyFault */
export function episodeOfKey(authorization: string | undefined): string {
  if (!authorization) throw new KeyFault("Missing authorization header");
  const token = authorization.replaceAll("Bearer ", "").replaceAll("bearer ", "").replaceAll(prefix, "");
  const named = parseNamed(decodeUtf8(decodeBase64(token)));
  const { agent_name: agent, target_tag: tag, episode_uuid: uuid } = named;
  if (!agent || !tag || !uuid) throw new KeyFault("Invalid authorization data");
  return String(uuid);
}

function decodeBase64(token: string): Buffer {
  const digits = token.replace(/[^A-Za-z0-9+/]/g, "").length;
  if (digits % 4 === 1) {
    throw invalid(
      `Invalid base64-encoded string: number of data characters (${digits}) cannot be 1 more than a multiple of 4`,
    );
  }
  if (digits % 4 > 1 && !token.includes("=")) throw invalid("Incorrect padding");
  return Buffer.from(token, "base64");
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const text = bytes.toString("utf-8");
    const at = Buffer.byteLength(text.slice(0, text.indexOf("\ufffd")));
    const byte = (bytes[at] ?? 0).toString(16).padStart(2, "0");
    throw invalid(`'utf-8' codec can't decode byte 0x${byte} in position ${at}: invalid start byte`);
  }
}

function parseNamed(text: string): Record<string, unknown> {
  try {
    const named = parseJson(text);
    if (pythonType(named) === "dict") return named as Record<string, unknown>;
    throw invalid(`'${pythonType(named)}' object has no attribute 'get'`);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const { message, position } = error;
    throw invalid(`${message}: line 1 column ${position + 1} (char ${position})`);
  }
}

function invalid(why: string): KeyFault {
  return new KeyFault(`Invalid authorization header: ${why}`);
}
