/** The trainer's code that an engine is to be started with, and sending it: only newer engines take it, before the config. */
import * as z from "zod";
import type { CallOptions } from "../engine.ts";
import { describeError, NotOfferedError } from "../errors.ts";
import type { CodeAnswer } from "../protocol.ts";
import { type Outcome, outcomeOf } from "./engine-calls.ts";

/** Bytes of the zip: each start reads it from the table. */
export const CODE_BYTES = 4_000_000;

/** Names a zip whose parts stand beside the desired state. */
export const codeSchema = z.object({
  /** SHA-256 of the zip, in hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().int().positive(),
  parts: z.number().int().positive(),
});
export type EngineCode = z.infer<typeof codeSchema>;

export interface CodePorts {
  readonly engine: { syncCode(zip: Uint8Array, options?: CallOptions): Promise<CodeAnswer> };
  /** The zip. Throws where it is not what its name says. */
  code(code: EngineCode): Promise<Uint8Array>;
}

/** `hopeless`: why no further try with this code can succeed. */
export type CodeOutcome = Outcome & { readonly hopeless?: string };

/** Sends the code once. An engine that is too old for it says so at once, and is not asked again. */
export async function sendCode(
  { engine, code }: CodePorts,
  wanted: EngineCode,
  timeoutMs: number,
): Promise<CodeOutcome> {
  let zip: Uint8Array;
  try {
    zip = await code(wanted);
  } catch (error) {
    return { kind: "unclear", words: `the code could not be read: ${describeError(error, 300)}` };
  }
  let hopeless: string | undefined;
  const outcome = await outcomeOf(async () => {
    try {
      return await engine.syncCode(zip, { timeoutMs });
    } catch (error) {
      if (error instanceof NotOfferedError) hopeless = TOO_OLD;
      throw error;
    }
  });
  return hopeless === undefined ? outcome : { ...outcome, hopeless };
}

const TOO_OLD =
  "the engine is of a version that takes no code: start it without --code, or update its server and start it again";
