/** The lifecycle function, and the engine as the functions see it. */
import { createEngineStateStore } from "../../functions/adapters/table/engine-state.ts";
import { readLatestSnapshot } from "../../functions/adapters/table/lifecycle.ts";
import type { Snapshot } from "../../functions/core/housekeeping/snapshot.ts";
import { CANNOT_CONNECT } from "../../functions/core/protocol.ts";
import type { Deployment } from "../deployment.ts";
import { hangsWithout } from "../engine-agree.ts";
import { configFacts } from "../engine-config.ts";
import { notYet } from "../first-snapshot.ts";
import { span } from "../format.ts";
import { isStale } from "../stats-text.ts";
import { type Check, type CheckPorts, failed, ok, unknown } from "./finding.ts";
import { lastFunctionError } from "./function-log.ts";

/** What the functions see of the engine stands in the newest snapshot: from here it may not be reachable at all. */
export function engineChecks({ deployment, now }: CheckPorts, engine: string): Check[] {
  let read: Promise<Snapshot | undefined> | undefined;
  const latest = async () => {
    read ??= deployment.table().then(async (table) => await readLatestSnapshot(table, engine));
    return await read;
  };
  return [
    { name: `lifecycle of ${engine}`, run: async () => await lifecycle(deployment, await latest(), now()) },
    { name: `engine ${engine}`, run: async () => engineSeen(await latest()) },
    { name: `alarms of ${engine}`, run: async () => alarms(await latest()) },
    { name: `rewards of ${engine}`, run: async () => rewards(await latest()) },
    {
      name: `weight syncs of ${engine}`,
      run: async () => await weightSyncs(deployment, engine, await latest()),
    },
  ];
}

const LOOK_AT_LIFECYCLE =
  "look at the log of the lifecycle function, and at whether its schedule is enabled (or --invoke it)";

async function lifecycle(deployment: Deployment, snapshot: Snapshot | undefined, now: number) {
  const error = await lastFunctionError(deployment);
  const logged = error ? `; the log's last error: ${error}` : "";
  if (!snapshot) {
    const wait = await notYet(await deployment.table(), now);
    if (wait !== undefined) return unknown(`${wait}${logged}`);
    return failed(`expected a snapshot, found none: ${LOOK_AT_LIFECYCLE}${logged}`);
  }
  const age = now - Date.parse(snapshot.at);
  if (isStale(snapshot, now))
    return failed(
      `expected a snapshot of the last minutes, found one of ${span(age)} ago: ${LOOK_AT_LIFECYCLE}${logged}`,
    );
  return ok(`its last snapshot is ${span(age)} old`);
}

function engineSeen(snapshot: Snapshot | undefined) {
  if (!snapshot) return unknown("no snapshot says");
  const { engine_status: status, engine_status_detail: detail } = snapshot.status;
  if (status === CANNOT_CONNECT)
    return failed(
      `the functions cannot reach it (${detail ?? "no answer"}): is it running, is its address in the settings right, may Lambda reach it (network, security group, token)?`,
    );
  if (snapshot.pool === null)
    return failed(
      `it says ${status}, and its pool cannot be read: look at the log of the lifecycle function`,
    );
  return ok(`the functions reach it: ${status}`);
}

/** What the lifecycle function itself finds wrong. */
function alarms(snapshot: Snapshot | undefined) {
  if (!snapshot) return unknown("no snapshot says");
  const texts = snapshot.alarms.map(({ code, text }) => `${code}: ${text}`);
  if (snapshot.overdue > 0)
    texts.push(`${snapshot.overdue} episodes of dead functions could not be settled yet`);
  return texts.length === 0 ? ok("none") : failed(texts.join("; "));
}

function rewards(snapshot: Snapshot | undefined) {
  if (!snapshot) return unknown("no snapshot says");
  const { never_confirmed: never, unconfirmed } = snapshot;
  if (never > 0)
    return failed(
      `the engine took ${never} train rewards that its batch never showed: look at the trainer's log`,
    );
  return ok(unconfirmed === 0 ? "the engine has shown all that it took" : `${unconfirmed} are not shown yet`);
}

/** By the pool while the engine is up; by the config that is wanted before. */
async function weightSyncs(
  deployment: CheckPorts["deployment"],
  engine: string,
  snapshot: Snapshot | undefined,
) {
  const store = createEngineStateStore(await deployment.table());
  const [{ desired }, observed] = await Promise.all([store.readDesired(engine), store.readObserved(engine)]);
  const wanted = desired?.state === "running" ? configFacts(desired.config).collectionMethod : undefined;
  const method = snapshot?.pool?.sample_collection_method || wanted;
  if (method === undefined) return ok("no pool and no wanted config names what they wait for");
  const fault = hangsWithout(method, observed?.agree_after);
  if (fault === undefined) return ok(`nothing holds them up (${method})`);
  return failed(
    `${fault}: set engines.${engine}.agreeAfter and deploy, or run sortie engine agree in each step`,
  );
}
