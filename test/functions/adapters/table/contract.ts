/** What the table adapter promises the domain, whichever server stands behind it. */
import { afterAll, beforeAll, describe } from "vitest";
import { gateContract } from "./contract-gate.ts";
import { lifecycleContract } from "./contract-lifecycle.ts";
import { rolloutContract } from "./contract-rollouts.ts";
import type { StartTable, TableUnderTest } from "./servers.ts";

export function tableContract(server: string, start: StartTable): void {
  describe(`the table on ${server}`, () => {
    let table: TableUnderTest | undefined;
    beforeAll(async () => {
      table = await start();
    });
    afterAll(async () => {
      await table?.close();
    });
    const running = (): TableUnderTest => {
      if (!table) throw new Error("expected a running table; use it inside of a test");
      return table;
    };
    rolloutContract(running);
    lifecycleContract(running);
    gateContract(running);
  });
}
