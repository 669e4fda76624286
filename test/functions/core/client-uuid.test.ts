import fc from "fast-check";
import { expect, test } from "vitest";
import { attemptId, clientUuid, parseClientUuid } from "../../../functions/core/client-uuid.ts";

test("a client uuid tells its fleet, attempt and invocation again", () => {
  const fleets = fc.stringMatching(/^[a-z0-9-]{1,32}$/);
  fc.assert(
    fc.property(
      fleets,
      fc.oneof(fc.uuid(), fc.stringMatching(/^[\w.-]{1,20}$/)),
      fc.nat(),
      (fleet, invocation, serial) => {
        const attempt = attemptId(invocation, serial);
        expect(parseClientUuid(clientUuid(fleet, attempt))).toEqual({ fleet, attempt, invocation });
      },
    ),
  );
});

test("two attempts of one invocation, or of two fleets, are different clients", () => {
  const uuids = ["a", "b"].flatMap((fleet) => [1, 2, 11].map((n) => clientUuid(fleet, attemptId("i", n))));
  expect(new Set(uuids).size).toBe(6);
});

test.each(["", "client-a", "fleet/", "fleet/attempt", "/i.1", "fleet/i.x", "fleet/.1"])(
  "%j is no client uuid of ours",
  (uuid) => {
    expect(parseClientUuid(uuid)).toBeUndefined();
  },
);
