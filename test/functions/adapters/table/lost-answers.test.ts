/** Writes whose answer is lost: the table acts, the connection closes, and the SDK may send them again. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { tableOptions } from "../../../../functions/adapters/table/client.ts";
import { createGateStore } from "../../../../functions/adapters/table/gate.ts";
import { FaultProxy } from "../../../../local/chaos/proxy.ts";
import { credentials, region } from "../../../../local/region.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { stateTable } from "./servers.ts";

let server: TableServer;
let proxy: FaultProxy;
let losing = 0;
let writes = 0;

beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
  const isWrite = (target: unknown) => /(Update|Put|Delete)Item/.test(String(target));
  const after = ({ headers }: { headers: Record<string, unknown> }) => {
    if (!isWrite(headers["x-amz-target"])) return "pass";
    writes += 1;
    losing -= 1;
    return losing >= 0 ? "close" : "pass";
  };
  proxy = new FaultProxy(server.endpoint, [{ after }]);
  await proxy.up();
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url);
  vi.stubEnv("AWS_REGION", region);
  vi.stubEnv("AWS_ACCESS_KEY_ID", credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", credentials.secretAccessKey);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await proxy.close();
  await server.close();
});

/** The next `count` writes take place, and nobody hears of it. */
function loseAnswers(count: number): void {
  losing = count;
  writes = 0;
}

describe("a lost answer", () => {
  test("to a failure counts it once, and it is not sent again", async () => {
    const gates = createGateStore(tableOptions(stateTable.name));
    loseAnswers(1);
    await expect(gates.fail("f-1", "crashed")).rejects.toThrow();
    expect([writes, (await gates.read("f-1")).failures]).toEqual([1, 1]);
  });

  test("to the probe that was taken does not lose it: its taker knows its own write again", async () => {
    const gates = createGateStore(tableOptions(stateTable.name));
    await gates.trip("f-2", 100, 200);
    loseAnswers(1);
    expect(await gates.takeProbe("f-2", 200, 300, "mine")).toBe(true);
    expect([writes, await gates.read("f-2")]).toMatchObject([2, { probe_at: 300, probes: 1 }]);
    expect(await gates.takeProbe("f-2", 200, 300, "another's")).toBe(false);
  });

  test("to a probe that was given back gives back one", async () => {
    const gates = createGateStore(tableOptions(stateTable.name));
    await gates.trip("f-3", 100, 200);
    await gates.takeProbe("f-3", 200, 300, "mine");
    loseAnswers(1);
    await gates.giveProbeBack("f-3", 300, 210);
    expect([writes, await gates.read("f-3")]).toMatchObject([2, { probe_at: 210, probes: 0 }]);
  });
});
