/** What the sweeps of an engine have seen of invocations: one item, so that it outlives a process. */
import { invocationWatchSchema, type WatchStore } from "../../core/housekeeping/invocations.ts";
import type { Key, TableOptions } from "./client.ts";
import { getItem, versionedPut } from "./conditional-put.ts";

export const watchKey = (engine: string): Key => ({ pk: `ENGINE#${engine}`, sk: "WATCH" });

export function createWatchStore(options: TableOptions): WatchStore {
  return {
    async read(engine) {
      const found = await getItem(options, watchKey(engine));
      return found && invocationWatchSchema.parse(found);
    },
    async write(engine, previous, next) {
      const item = { ...watchKey(engine), v: 1, ...next };
      return await versionedPut(options, item, previous);
    },
  };
}
