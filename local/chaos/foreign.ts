/**
 * The stand-in engine and the checks for somebody else's rollout worker: it listens, misbehaves by seed, and on Ctrl-C
 * judges the worker by the ledger and the list of rollouts that were given to it.
 */
import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { createModel } from "../engine/model.ts";
import { startEngine } from "../engine/start.ts";
import { generateProblems } from "../problems/problems.ts";
import { checkAll } from "./check/index.ts";
import { FaultInjector } from "./fault-injector.ts";
import { Killer } from "./killer.ts";
import { kindsNamed, Tally } from "./kinds.ts";
import { makePlan } from "./plan.ts";
import { FaultProxy } from "./proxy.ts";
import { checkTable } from "./report.ts";
import { injectTimed } from "./timed.ts";

const options = new Command("foreign")
  .description("Stand-in engine with faults, and the checks, for any rollout worker. Ctrl-C judges.")
  .requiredOption(
    "--pushed <file>",
    "keys of the rollouts that the worker was given, one a line; read at the end",
  )
  .option("--field <name>", "the key in the output's metadata that names its rollout", "rollout")
  .option("--port <n>", "port to listen on", "10086")
  .option("--seed <n>", "of the faults and of the model", "1")
  .option("--faults <kinds>", "of the group engine, or none", "engine")
  .option("--minutes <n>", "how long faults are injected", "2")
  .option("--rollouts <n>", "about how many there will be: the plan spreads its faults over them", "60")
  .parse()
  .opts<Record<"pushed" | "field" | "port" | "seed" | "faults" | "minutes" | "rollouts", string>>();

const seed = Number(options.seed);
const kinds = kindsNamed(options.faults).filter((kind) => kind.startsWith("engine-"));
const plan = makePlan({ seed, kinds, rollouts: Number(options.rollouts), minutes: Number(options.minutes) });
const model = createModel({ tasks: generateProblems({ seed, count: 1000 }), seed });
const engine = await startEngine({ clock, seed, model });
const tally = new Tally();
const saboteur = new FaultInjector({ plan, tally, killer: () => undefined, redeliver: () => undefined });
const engineProxy = new FaultProxy(engine.url, [saboteur.engine], Number(options.port));
await engineProxy.up();
process.stderr.write(`the stand-in engine listens on ${engineProxy.url}\n`);

const stop = new AbortController();
const killer = new Killer({ rollouts: [], lifecycles: [] });
const timed = injectTimed(plan.timed, { seed, engine, engineProxy, saboteur, killer, tally }, stop.signal);
process.once("SIGINT", async () => {
  stop.abort();
  await timed;
  const pushed = (await readFile(options.pushed, "utf8")).split("\n").filter((line) => line !== "");
  const checks = checkAll({
    pushed,
    ledger: engine.ledger.entries,
    openAtEngine: engine.inspect().open,
    rolloutOf: ({ output }) => String(output.metadata[options.field] ?? ""),
  });
  process.stdout.write(`${checkTable(checks)}\n`);
  const violations = checks.flatMap((check) => check.violations);
  for (const violation of violations) process.stdout.write(`VIOLATION: ${JSON.stringify(violation)}\n`);
  process.exitCode = violations.length === 0 ? 0 : 1;
  await engineProxy.close();
  await engine.close();
});
