/** The throttle as a setting, in the template's environment and in the functions. */
import * as z from "zod";
import { atLeast, whole } from "./numbers.ts";

/** At most `ratio × batchSize` of a fleet's tasks in an engine's batch of `batchSize` tasks, each `repeats` times. */
export const throttleSchema = z.strictObject(
  { ratio: atLeast(0), batchSize: whole(1, 1_000_000), repeats: whole(1, 1_000_000) },
  { error: "expected {batchSize, repeats} and perhaps ratio" },
);
export type ThrottleSetting = z.infer<typeof throttleSchema>;
