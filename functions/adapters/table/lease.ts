/** Leases, one item each. An item is never deleted while it matters: its token has to rise. */
import { type LeaseRecord, type LeaseStore, leaseSchema } from "../../core/engine-lifecycle/lease.ts";
import type { Key, TableOptions } from "./client.ts";
import { type Condition, conditionalPut, getItem } from "./conditional-put.ts";

/** The lease of an engine's tick. */
export const tickLease = (engine: string): string => `ENGINE#${engine}`;
const leaseKey = (name: string): Key => ({ pk: name, sk: "LEASE" });

export function createLeaseStore(options: TableOptions): LeaseStore {
  return {
    async read(name) {
      const found = await getItem(options, leaseKey(name));
      return found && leaseSchema.parse(found);
    },
    async write(name, previous, next) {
      const item = { ...leaseKey(name), v: 1, ...next };
      const outcome = await conditionalPut(options, item, standsAs(previous));
      // A write whose answer was lost took place after all.
      return outcome.put || isSame(outcome.found, next);
    },
  };
}

function standsAs(previous: LeaseRecord | undefined): Condition {
  if (previous === undefined) return { expression: "attribute_not_exists(pk)" };
  return {
    expression: "#holder = :holder AND #token = :token AND #expires = :expires",
    names: { "#holder": "holder", "#token": "token", "#expires": "expires_at" },
    values: { ":holder": previous.holder, ":token": previous.token, ":expires": previous.expires_at },
  };
}

function isSame(found: Record<string, unknown> | undefined, next: LeaseRecord): boolean {
  return (
    found?.["holder"] === next.holder &&
    found["token"] === next.token &&
    found["expires_at"] === next.expires_at
  );
}
