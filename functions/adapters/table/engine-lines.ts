/** The last lines that an engine's own terminal has shown: one item. */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { type EngineLinesStore, engineLinesSchema } from "../../core/engine-lifecycle/engine-lines.ts";
import { expiresTtl, type TableOptions, toAttributes } from "./client.ts";
import { getItem } from "./conditional-put.ts";
import { engineLogKey } from "./engine-keys.ts";

/** Days after the last new line. */
const TTL_DAYS = 1;

export function createEngineLinesStore(options: TableOptions): EngineLinesStore {
  return {
    async read(engine) {
      return engineLinesSchema.safeParse(await getItem(options, engineLogKey(engine))).data;
    },
    async write(engine, lines) {
      const item = { ...engineLogKey(engine), ...lines, expires_ttl: expiresTtl(lines.looked_at, TTL_DAYS) };
      await options.client.send(new PutItemCommand({ TableName: options.table, Item: toAttributes(item) }));
    },
  };
}
