/** An open rollout in a real table, and an engine that answers as scripted: what settling needs. */
import { afterAll, beforeAll, vi } from "vitest";
import { createAbortStore } from "../../../functions/adapters/table/aborts.ts";
import { createBatchStore } from "../../../functions/adapters/table/batches.ts";
import { createRolloutStore } from "../../../functions/adapters/table/rollouts.ts";
import type { Reason } from "../../../functions/core/reasons.ts";
import type { SettlePorts } from "../../../functions/core/rollout/context.ts";
import type { OpenRolloutItem, RolloutItem, RolloutStore } from "../../../functions/core/rollout/item.ts";
import { createTables, startTableServer, type TableServer } from "../../../local/servers/table-server.ts";
import { stateTable } from "../adapters/table/servers.ts";
import { anOpenItem, NOW } from "./items.ts";
import { type Script, scriptedEngine } from "./scripted-engine.ts";

export const result = { reward: 1, is_success: true, metadata: {}, log_metrics: {} };
export const limits = { fleet: "main", fleetId: "main", maxAttempts: 3 };
/** The attempt of a rollout in the state `reporting`. */
export const stored = { result, result_at: NOW };

/** Call once at the top of a test file. */
export function settleFixture() {
  let rollouts: RolloutStore | undefined;
  let tables: TableServer | undefined;
  let close: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const server = await startTableServer();
    close = () => server.close();
    await createTables(server, [stateTable]);
    tables = server;
    rollouts = createRolloutStore({ client: server.client, table: "state", ttlDays: 1 });
  });
  afterAll(() => close?.());
  let serial = 0;

  return async (
    script: Script,
    attempt: Partial<OpenRolloutItem["attempt"]> = {},
    facts: { tripped?: boolean; item?: Partial<RolloutItem> } = {},
  ) => {
    if (!rollouts || !tables) throw new Error("expected a table; set the stage in tests only");
    const table = rollouts;
    const played = await scriptedEngine(script);
    serial += 1;
    // The attempts of all stages have the same id, and each may be aborted.
    const abortTable = `aborts-${serial}`;
    await createTables(tables, [{ ...stateTable, name: abortTable }]);
    const aborts = createAbortStore({ client: tables.client, table: abortTable });
    const batches = createBatchStore({ client: tables.client, table: abortTable });
    const item = anOpenItem({ key: `message/${serial}`, ...facts.item }, attempt);
    await table.move(undefined, item);
    const noted: Reason[] = [];
    const gate = {
      isTripped: async () => facts.tripped ?? false,
      note: async (reason: Reason) => void noted.push(reason),
      check: async () => ({ open: true }) as const,
      closedFor: async () => undefined,
      isProbeDue: async () => false,
    };
    const log = vi.fn();
    const meter = { attempt: vi.fn() };
    let draws = 0;
    const random = () => {
      draws += 1;
      return (draws % 1000) / 1000;
    };
    const ports: SettlePorts = {
      clock: played.clock,
      engine: played.engine,
      random,
      log,
      rollouts: table,
      aborts,
      batches,
      gate,
      meter,
    };
    const stands = async () => {
      const found = await table.read("main", item.key);
      if (!found) throw new Error("expected the rollout in the table");
      return found;
    };
    return { ...played, item, ports, batches, noted, stands, rollouts: table };
  };
}
