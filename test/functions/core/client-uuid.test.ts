import fc from "fast-check";
import { expect, test } from "vitest";
import {
  attemptId,
  clientUuid,
  fleetIdOf,
  fleetNameOf,
  isClientOf,
  parseClientUuid,
} from "../../../functions/core/client-uuid.ts";

test("a client uuid tells its fleet, attempt and invocation again", () => {
  const fleets = fc.stringMatching(/^[a-z0-9-]{1,32}$/);
  fc.assert(
    fc.property(
      fleets,
      fc.oneof(fc.uuid(), fc.stringMatching(/^[\w.-]{1,20}$/)),
      fc.nat(),
      (fleet, invocation, serial) => {
        const attempt = attemptId(invocation, serial);
        expect(parseClientUuid(clientUuid(fleet, attempt))).toEqual({ fleetId: fleet, attempt, invocation });
      },
    ),
  );
});

test("fleets of one name in two deployments have different ids, which tell the name again", () => {
  const ids = ["1a2b3c4d", "5e6f7a8b"].map((deployment) => fleetIdOf("main", deployment));
  expect(new Set(ids).size).toBe(2);
  expect(ids.map(fleetNameOf)).toEqual(["main", "main"]);
  expect(isClientOf(ids[0] ?? "", clientUuid(ids[1] ?? "", "i.1"))).toBe(false);
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
