/** The lifecycle function's handler: the schedule calls it once a minute, one at a time. */
import type { Context } from "aws-lambda";
import { createEngine } from "./adapters/engine/index.ts";
import { createQueueClient } from "./adapters/queue/client.ts";
import { readDepth } from "./adapters/queue/depth.ts";
import { createTableClient } from "./adapters/table/client.ts";
import { createLifecycleStore } from "./adapters/table/lifecycle.ts";
import { type FleetQueue, tick } from "./core/tick.ts";
import { readLifecycleEnvironment } from "./environment.ts";
import { createLog } from "./log.ts";
import { systemClock as clock } from "./system-clock.ts";

const environment = readLifecycleEnvironment(process.env);
const engine = createEngine({ url: environment.engineUrl, clock });
const queues = createQueueClient();
const store = createLifecycleStore({
  client: createTableClient(),
  table: environment.table,
  snapshotTtlDays: environment.snapshotTtlDays,
});
const fleets: FleetQueue[] = environment.fleets.map(({ name, queueUrl, deadLetterQueueUrl }) => ({
  name,
  depths: async () => {
    const [queue, dead] = await Promise.all([
      readDepth(queues, queueUrl),
      readDepth(queues, deadLetterQueueUrl),
    ]);
    return { queue, deadLetters: dead.visible + dead.in_flight + dead.delayed };
  },
}));

export async function handler(_event: unknown, context: Context): Promise<{ at: string; status: string }> {
  const log = createLog({ engine: environment.engine, invocation: context.awsRequestId });
  const snapshot = await tick({ clock, engine, store, fleets, log }, environment.engine);
  return { at: snapshot.at, status: snapshot.status.engine_status };
}
