/**
 * The answers of the calls that only read, with the fields that the engine always sends. Without those it is no answer: of
 * a proxy, or, with every field at its default, of an engine that failed to build its pool. Source: protocol, "Pool
 * information".
 */
import * as z from "zod";
import {
  engineStatusSchema,
  episodeBufferSchema,
  episodeStatusSchema,
  poolInformationSchema,
} from "../../core/protocol.ts";

const aStatus = z.string({ error: "expected a string: the engine did not build this answer" });

export const statusAnswerSchema = engineStatusSchema.extend({ engine_status: aStatus });
export const poolAnswerSchema = poolInformationSchema.extend({ engine_status: aStatus });
export const bufferAnswerSchema = episodeBufferSchema.extend({ buffer: z.array(episodeStatusSchema) });
