import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { tableOptions } from "../../functions/adapters/table/client.ts";
import { TableTime } from "../../functions/adapters/table/table-time.ts";
import { createTableClock } from "../../functions/table-clock.ts";
import { credentials, region } from "../../local/region.ts";
import { createTables, startTableServer, type TableServer } from "../../local/servers/table-server.ts";
import { stateTable } from "./adapters/table/servers.ts";

const MINUTE = 60_000;
const real = Date.now.bind(Date);
/** This machine's clock is off from now on. */
const off = (ms: number) => vi.spyOn(Date, "now").mockImplementation(() => real() + ms);
afterEach(() => void vi.restoreAllMocks());

describe("functions on machines whose clocks are off", () => {
  let server: TableServer;
  beforeAll(async () => {
    server = await startTableServer();
    await createTables(server, [stateTable]);
    vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", server.endpoint);
    vi.stubEnv("AWS_REGION", region);
    vi.stubEnv("AWS_ACCESS_KEY_ID", credentials.accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", credentials.secretAccessKey);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });

  const read = (table: string, time: TableTime) =>
    tableOptions(table, time).once.send(
      new GetItemCommand({ TableName: table, Key: { pk: { S: "a" }, sk: { S: "b" } } }),
    );

  test.each([-5, 0, 5])("have the table's time, %i minutes off or not", async (minutes) => {
    off(minutes * MINUTE);
    const time = new TableTime();
    const clock = createTableClock(time);
    await clock.adjust(() => read(stateTable.name, time));
    expect(clock.now() - real()).toBeCloseTo(0, -3.7);
    expect(clock.offsetMs / MINUTE).toBeCloseTo(-minutes, 1);
  });

  test("learn it from a refusal as well", async () => {
    off(5 * MINUTE);
    const time = new TableTime();
    const clock = createTableClock(time);
    await clock.adjust(() => read("no-such-table", time));
    expect(Math.round(clock.offsetMs / MINUTE)).toBe(-5);
  });
});

describe("the table's clock", () => {
  test("jumps only where an invocation begins, and asks only where the table has said nothing", async () => {
    const now = off(0).mockReturnValue(1_000_000);
    const time = new TableTime();
    const clock = createTableClock(time);
    const ask = vi.fn(async () => time.observe(1_300_000, { sentAt: 1_000_000, receivedAt: 1_000_010 }));
    expect(clock.now()).toBe(1_000_000);
    await clock.adjust(ask);
    expect(clock.now()).toBe(1_300_495);
    // Somebody has set this machine's clock.
    now.mockReturnValue(1_300_000);
    time.observe(1_300_000, { sentAt: 1_300_000, receivedAt: 1_300_010 });
    expect(clock.now()).toBe(1_600_495);
    await clock.adjust(ask);
    expect([clock.now(), ask.mock.calls.length]).toEqual([1_300_000, 1]);
  });

  test("is the machine's own where the table does not answer", async () => {
    off(0).mockReturnValue(1_000_000);
    const clock = createTableClock(new TableTime());
    await clock.adjust(() => Promise.reject(new Error("away")));
    expect(clock.now()).toBe(1_000_000);
  });
});

describe("the time of an answer", () => {
  const offsetAfter = (...answers: [date: number, sentAt: number, receivedAt: number][]) => {
    const time = new TableTime();
    for (const [date, sentAt, receivedAt] of answers) time.observe(date, { sentAt, receivedAt });
    return time.offsetMs;
  };

  test.each<[string, number, [number, number, number][]]>([
    ["that may be right as well changes nothing", 0, [[5000, 6900, 6950]]],
    ["that came late bounds nothing", 0, [[5000, 5100, 65_000]]],
    [
      "that was long under way keeps what is known",
      100_450,
      [
        [105_000, 5000, 5100],
        [106_000, 6000, 36_000],
      ],
    ],
    ["that is no date says nothing", 0, [[Number.NaN, 5000, 5100]]],
  ])("%s", (_, expected, answers) => {
    expect(offsetAfter(...answers)).toBe(expected);
  });
});
