/** A fleet's gate: one item, of which a pause and the circuit change different attributes. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import type { GateStore } from "../../core/circuit/gate.ts";
import { fromAttributes, type Key, type TableOptions, toAttributes } from "./client.ts";
import { getItem, isConditionFailure } from "./conditional-put.ts";

const gateSchema = z.object({
  paused: z.object({ at: z.number(), why: z.string(), by: z.enum(["budget"]).optional() }).optional(),
  failures: z.number().default(0),
  tripped_at: z.number().optional(),
  probe_at: z.number().optional(),
  probe_by: z.string().optional(),
  probes: z.number().default(0),
  last_reason: z.string().optional(),
  succeeded_at: z.number().optional(),
});

export const gateKey = (fleet: string): Key => ({ pk: `FLEET#${fleet}`, sk: "GATE" });

export function createGateStore(options: TableOptions): GateStore {
  const update = async (
    fleet: string,
    expression: string,
    values: object,
    condition?: string,
    names?: Record<string, string>,
    client = options.client,
  ) =>
    await client.send(
      new UpdateItemCommand({
        TableName: options.table,
        Key: toAttributes(gateKey(fleet)),
        UpdateExpression: expression,
        ...(condition ? { ConditionExpression: condition } : {}),
        ...(names ? { ExpressionAttributeNames: names } : {}),
        ...(Object.keys(values).length > 0 ? { ExpressionAttributeValues: toAttributes(values) } : {}),
        ReturnValues: "ALL_NEW",
      }),
    );
  return {
    async read(fleet) {
      return gateSchema.parse((await getItem(options, gateKey(fleet))) ?? {});
    },
    async fail(fleet, reason) {
      const values = { ":one": 1, ":v": 1, ":reason": reason };
      const add = "SET v = :v, last_reason = :reason ADD failures :one";
      const { Attributes: found } = await update(fleet, add, values, undefined, undefined, options.once);
      return Number((found && fromAttributes(found)["failures"]) ?? 1);
    },
    async trip(fleet, now, probeAt) {
      const values = { ":now": now, ":probe": probeAt, ":zero": 0 };
      const expression = "SET tripped_at = :now, probe_at = :probe, probes = :zero";
      await unlessRefused(update(fleet, expression, values, "attribute_not_exists(tripped_at)"));
    },
    async takeProbe(fleet, now, nextProbeAt, by) {
      const values = { ":now": now, ":next": nextProbeAt, ":one": 1, ":by": by };
      const expression = "SET probe_at = :next, probe_by = :by ADD probes :one";
      if (await unlessRefused(update(fleet, expression, values, "probe_at <= :now"))) return true;
      // A write whose answer was lost took place after all.
      const found = await getItem(options, gateKey(fleet));
      return found?.["probe_by"] === by && found["probe_at"] === nextProbeAt;
    },
    async giveProbeBack(fleet, nextProbeAt, now) {
      const values = { ":next": nextProbeAt, ":now": now, ":minus": -1 };
      const expression = "SET probe_at = :now ADD probes :minus";
      await unlessRefused(update(fleet, expression, values, "probe_at = :next"));
    },
    async reset(fleet, succeededAt) {
      const remove = "REMOVE failures, tripped_at, probe_at, probe_by, probes, last_reason";
      if (succeededAt === undefined) await update(fleet, remove, {});
      else await update(fleet, `${remove} SET v = :v, succeeded_at = :at`, { ":v": 1, ":at": succeededAt });
    },
    async setPaused(fleet, pause) {
      if (pause) await update(fleet, "SET v = :v, paused = :pause", { ":v": 1, ":pause": pause });
      else await update(fleet, "REMOVE paused", {});
    },
    async setBudgetPause(fleet, pause) {
      if (pause) {
        const values = { ":v": 1, ":pause": pause };
        const set = update(fleet, "SET v = :v, paused = :pause", values, "attribute_not_exists(paused)");
        return await unlessRefused(set);
      }
      const values = { ":budget": "budget" };
      return await unlessRefused(
        update(fleet, "REMOVE paused", values, "paused.#by = :budget", { "#by": "by" }),
      );
    },
  };
}

/** False when the condition was refused. */
async function unlessRefused(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (isConditionFailure(error)) return false;
    throw error;
  }
}
