/** Which engines a fleet has had: one item for each fleet. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import type { EngineNames } from "../../core/housekeeping/former-engines.ts";
import { fromAttributes, type Key, type TableOptions, toAttributes } from "./client.ts";

const enginesSchema = z.object({ names: z.set(z.string()) });

export const enginesKey = (fleet: string): Key => ({ pk: `FLEET#${fleet}`, sk: "ENGINES" });

export function createEngineNames({ client, table }: TableOptions): EngineNames {
  return {
    async note(fleet, engine) {
      const { Attributes: found = {} } = await client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: toAttributes(enginesKey(fleet)),
          UpdateExpression: "SET v = :v ADD #names :name",
          ExpressionAttributeNames: { "#names": "names" },
          ExpressionAttributeValues: { ":v": { N: "1" }, ":name": { SS: [engine] } },
          ReturnValues: "ALL_NEW",
        }),
      );
      return [...enginesSchema.parse(fromAttributes(found)).names];
    },
  };
}
