import { vi } from "vitest";
import { createTables, startTableServer } from "../../../../local/servers/table-server.ts";
import { tableContract } from "./contract.ts";
import { shippedClient, stateTable } from "./servers.ts";

tableContract("dynalite", async () => {
  const server = await startTableServer();
  await createTables(server, [stateTable]);
  const client = shippedClient(server.endpoint);
  const close = async () => {
    client.destroy();
    vi.unstubAllEnvs();
    await server.close();
  };
  return { client, table: stateTable.name, close };
});
