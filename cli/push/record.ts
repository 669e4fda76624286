/** A record of somebody's dataset, and what a task is made of. */

export type Fields = Readonly<Record<string, unknown>>;

/** Counted from 1; of a record of several lines, the first; of a Parquet file, the row. */
export type InputRecord =
  | { readonly line: number; readonly fields: Fields }
  | { readonly line: number; readonly fault: string };

/** Where a field of the task comes from. */
export interface Mapped {
  readonly target: string;
  readonly source: string;
}

export const taskFields: readonly string[] = [
  "task_id",
  "main_query",
  "init_messages",
  "env_type",
  "metadata",
];
