import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { admissionKey, createAdmissionStore } from "../../../../functions/adapters/table/admission.ts";
import {
  type FleetAdmission,
  LARGEST_ITEM_BYTES,
  MOST_PLACES,
  MOST_SEEN,
} from "../../../../functions/core/admission/admission-item.ts";
import { taskKey } from "../../../../functions/core/admission/task-key.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { stateTable } from "./servers.ts";

let server: TableServer;
beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
});
afterAll(() => server.close());
const open = () => createAdmissionStore({ client: server.client, table: stateTable.name, ttlDays: 30 });

const item = (version: number, facts: Partial<FleetAdmission> = {}): FleetAdmission => ({
  version,
  stamp: `stamp-${version}-${Math.random()}`,
  changed_at: 1_700_000_000_000,
  global_step: 7,
  seen: ["a", "b"],
  places: { a: { since: 1_700_000_000_000, claims: 2 }, b: {} },
  ...facts,
});

describe("a fleet's admissions", () => {
  test("are read as they were written, and expire", async () => {
    const written = item(1);
    expect(await open().write("round", undefined, written)).toBe(true);
    expect(await open().read("round")).toEqual(written);
    const stored = await server.client.send(
      new GetItemCommand({ TableName: stateTable.name, Key: marshall(admissionKey("round")) }),
    );
    expect(stored.Item?.["expires_ttl"]).toEqual({ N: String(1_700_000_000 + 30 * 86_400) });
    expect([stored.Item?.["pk"], stored.Item?.["sk"]]).toEqual([{ S: "FLEET#round" }, { S: "ADMISSION" }]);
  });

  test("of a fleet that never admitted anybody are undefined", async () => {
    expect(await open().read("nobody")).toBeUndefined();
  });

  test("are written by one of two that left the same version", async () => {
    const first = item(1);
    await open().write("race", undefined, first);
    const done = await Promise.all([2, 2].map((version) => open().write("race", first, item(version))));
    expect(done.toSorted()).toEqual([false, true]);
    expect(await open().write("race", undefined, item(1))).toBe(false);
  });

  test("whose write lost its answer are recognised", async () => {
    const written = item(1);
    await open().write("lost", undefined, written);
    expect(await open().write("lost", undefined, written)).toBe(true);
  });

  test("of the largest size fit into an item", async () => {
    const key = (kind: string, index: number) => taskKey(`${kind}-${index}-${"x".repeat(500)}`);
    const place = { since: 1_700_000_000_123, doubted: 1_700_000_045_123, claims: 1_000_000 };
    const largest = item(1, {
      seen: Array.from({ length: MOST_SEEN }, (_, index) => key("seen", index)),
      places: Object.fromEntries(Array.from({ length: MOST_PLACES }, (_, i) => [key("place", i), place])),
      idle_since: 1_700_000_000_123,
    });
    expect(Object.keys(largest.places).length).toBe(MOST_PLACES);
    expect(LARGEST_ITEM_BYTES).toBeLessThan(409_600);
    expect(await open().write("largest", undefined, largest)).toBe(true);
    expect(await open().read("largest")).toEqual(largest);
  });
});
