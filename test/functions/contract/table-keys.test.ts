import { expect, test } from "vitest";
import { admissionKey } from "../../../functions/adapters/table/admission.ts";
import {
  agreeKey,
  codeKey,
  desiredKey,
  engineLogKey,
  observedKey,
} from "../../../functions/adapters/table/engine-keys.ts";
import { gateKey } from "../../../functions/adapters/table/gate.ts";
import { invocationKey, invocationPartition } from "../../../functions/adapters/table/invocations.ts";
import { tickLease } from "../../../functions/adapters/table/lease.ts";
import * as lifecycle from "../../../functions/adapters/table/lifecycle.ts";
import {
  missingPartition,
  openPartition,
  rolloutKey,
  unconfirmedPartition,
} from "../../../functions/adapters/table/rollouts.ts";
import { watchKey } from "../../../functions/adapters/table/watch.ts";
import * as keys from "../../../functions/contract/table-keys.ts";

// A pattern that does not cover a key would be refused first in somebody's account.
test.each([
  [keys.rolloutsOf("f"), rolloutKey("f", "run/a/train/0/x#y").pk],
  [keys.fleetItems("f"), gateKey("f").pk],
  [keys.fleetItems("f"), admissionKey("f").pk],
  [keys.engineItems("e"), lifecycle.latestKey("e").pk],
  [keys.engineItems("e"), desiredKey("e").pk],
  [keys.engineItems("e"), observedKey("e").pk],
  [keys.engineItems("e"), agreeKey("e").pk],
  [keys.engineItems("e"), engineLogKey("e").pk],
  [keys.engineItems("e"), codeKey("e", "sha", 0).pk],
  [keys.engineItems("e"), tickLease("e")],
  [keys.engineItems("e"), watchKey("e").pk],
  [keys.INVOCATIONS, invocationKey("6b1f3a52").pk],
])("%s covers %s", (pattern, key) => {
  expect(covers(pattern, key)).toBe(true);
});

test("no fleet's pattern covers another fleet", () => {
  expect(covers(keys.rolloutsOf("main"), rolloutKey("main-2", "k").pk)).toBe(false);
  expect(covers(keys.rolloutsOf("main-2"), rolloutKey("main", "k").pk)).toBe(false);
});

test("the indexes and their partitions are those of the code", () => {
  expect([keys.OPEN_INDEX, keys.CHANGE_INDEX]).toEqual([lifecycle.OPEN_INDEX, lifecycle.CHANGE_INDEX]);
  expect(keys.openPartitions("e")).toEqual([
    openPartition("e"),
    unconfirmedPartition("e"),
    missingPartition("e"),
  ]);
  expect(keys.invocationsOf("f")).toBe(invocationPartition("f"));
});

/** As IAM's StringLike: a `*` stands for anything. */
function covers(pattern: string, key: string): boolean {
  const parts = pattern.split("*").map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join(".*")}$`).test(key);
}
