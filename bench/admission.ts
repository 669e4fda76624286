/**
 * What admission costs: `npm run bench:admission`. A whole batch of one fleet (256 tasks, 4 repeats each) is admitted by
 * 1, 5 and 20 function processes, ten rollouts of each at a time, over a real table and a real engine's pool. The
 * baseline asks for one rollout after the other, as the reference's lock does. `--json` prints the rows.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import Table from "cli-table3";
import { systemClock as clock } from "../functions/system-clock.ts";
import { startEngine } from "../local/engine/start.ts";
import { credentials, region } from "../local/region.ts";
import { createTables, startTableServer } from "../local/servers/table-server.ts";
import type { TableSpec } from "../local/template/specs.ts";
import type { Counts, Work } from "./admission-worker.ts";

const setting = { ratio: 1, batchSize: 256, repeats: 4 };
const TOGETHER = 10;
const table: TableSpec = {
  name: "state",
  keys: [
    { AttributeName: "pk", KeyType: "HASH" },
    { AttributeName: "sk", KeyType: "RANGE" },
  ],
  attributes: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "sk", AttributeType: "S" },
  ],
  indexes: [],
};
const cases = [
  { name: "baseline: 1 process, 1 at a time", processes: 1, together: 1 },
  ...[1, 5, 20].map((processes) => ({
    name: `${processes} process${processes === 1 ? "" : "es"}, ${TOGETHER} at a time`,
    processes,
    together: TOGETHER,
  })),
];
type Case = (typeof cases)[number];

interface Row extends Counts {
  readonly name: string;
  readonly seconds: number;
}

const server = await startTableServer();
await createTables(server, [table]);
const engine = await startEngine({
  clock,
  seed: 1,
  model: () => ({ message: { role: "assistant", content: "" } }),
  config: { bootSeconds: 0, registerSeconds: 0 },
});
while (engine.inspect().status !== "ENGINE.ROLLING") await delay(20);
const rows: Row[] = [];
for (const [index, one] of cases.entries()) rows.push(await measure(one, `fleet-${index}`));
console.log(process.argv.includes("--json") ? JSON.stringify(rows) : tableOf(rows));
await engine.close();
await server.close();

async function measure({ name, processes, together }: Case, fleet: string): Promise<Row> {
  const shares = deal(processes, together);
  const workers = await Promise.all(
    shares.map((rollouts) =>
      hire({ engineUrl: engine.url, table: table.name, fleet, setting, rollouts, together }),
    ),
  );
  const began = performance.now();
  const counts = await Promise.all(workers.map(work));
  const seconds = (performance.now() - began) / 1000;
  const sum = (of: keyof Counts) => counts.reduce((total, count) => total + count[of], 0);
  return {
    name,
    seconds,
    admitted: sum("admitted"),
    pools: sum("pools"),
    reads: sum("reads"),
    writes: sum("writes"),
    conflicts: sum("conflicts"),
  };
}

/** Siblings stand next to each other in the queue; each function takes the next ten. */
function deal(processes: number, together: number): string[][] {
  const queue = Array.from(
    { length: setting.batchSize * setting.repeats },
    (_, index) => `task-${Math.floor(index / setting.repeats)}`,
  );
  return Array.from({ length: processes }, (_, process) =>
    queue.filter((_, index) => Math.floor(index / together) % processes === process),
  );
}

/** Resolves to a process that has opened its connections and waits for the start. */
async function hire(share: Work): Promise<ChildProcess> {
  const worker = fork(new URL("admission-worker.ts", import.meta.url), {
    env: {
      ...process.env,
      AWS_ENDPOINT_URL_DYNAMODB: server.endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
  });
  worker.send(share);
  await once(worker, "message");
  return worker;
}

async function work(worker: ChildProcess): Promise<Counts> {
  worker.send("go");
  const [counts] = (await once(worker, "message")) as [Counts];
  return counts;
}

function tableOf(rows: readonly Row[]): string {
  const per = (value: number, row: Row) => (value / row.admitted).toFixed(2);
  const printed = new Table({
    head: ["", "admitted", "s", "admitted/s", "table requests", "conflicts", "pool reads"],
    style: { head: [], border: [] },
  });
  for (const row of rows)
    printed.push([
      row.name,
      row.admitted,
      row.seconds.toFixed(2),
      Math.round(row.admitted / row.seconds),
      per(row.reads + row.writes, row),
      per(row.conflicts, row),
      per(row.pools, row),
    ]);
  return `${printed.toString()}\nTable requests, conflicts and pool reads per admitted rollout.`;
}
