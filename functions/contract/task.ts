/** What goes into an agent and what comes out of it, with the protocol's own names and defaults. */
import * as z from "zod";

const text = z.string().default("");
/** One item of the user's dataset. */
export const taskSchema = z.object({
  main_query: text,
  init_messages: z.array(z.record(z.string(), z.unknown())).default([]),
  task_id: text,
  env_type: text,
  metadata: z.record(z.string(), z.unknown()).default({}),
});
export type Task = z.infer<typeof taskSchema>;

const number = z.number();
/** What an agent reports of an episode: `reward` null or a list costs today's trainer a slot. */
export const workflowOutputSchema = z.object({
  reward: z
    .union([number, z.array(number)])
    .nullable()
    .default(null),
  is_success: z.boolean().nullable().default(null),
  metadata: z.record(z.string(), z.unknown()).default({}),
  /** Engines from January 2026 on take objects too. */
  log_metrics: z
    .record(z.string(), z.union([number, z.array(number), z.record(z.string(), z.unknown())]))
    .default({}),
});
export type WorkflowOutput = z.infer<typeof workflowOutputSchema>;
