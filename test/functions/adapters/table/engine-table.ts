/** A table server of its own for a test file, with a table that has the keys and no index. */
import { afterAll, beforeAll } from "vitest";
import type { TableOptions } from "../../../../functions/adapters/table/client.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";

const table = "engines";

/** Call at the top of a test file; the options can be asked for inside tests. */
export function useTable(): () => TableOptions {
  let server: TableServer | undefined;
  beforeAll(async () => {
    server = await startTableServer();
    await createTables(server, [
      {
        name: table,
        keys: [
          { AttributeName: "pk", KeyType: "HASH" },
          { AttributeName: "sk", KeyType: "RANGE" },
        ],
        attributes: [
          { AttributeName: "pk", AttributeType: "S" },
          { AttributeName: "sk", AttributeType: "S" },
        ],
        indexes: [],
      },
    ]);
  });
  afterAll(() => server?.close());
  return () => {
    if (server === undefined) throw new Error("expected a running test, found none yet");
    return { client: server.client, table };
  };
}
