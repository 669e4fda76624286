/** `npm run chaos`: exit code 0 when all six statements held in every run, else 1. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentSetting, freePort, kindsFor } from "./agent-ways.ts";
import { assemble, paces } from "./fleet.ts";
import { readOptions } from "./options.ts";
import { isSound, renderOutcome, renderSeeds } from "./report.ts";
import { type ChaosOutcome, runChaos } from "./run.ts";

const REPEATS = 4;
/** Seconds: six times what it takes to find a blocked thread in a fast run. */
const GUILTY_DISCARD = 24;
const options = readOptions(process.argv);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    process.stderr.write("\nstopping everything …\n");
    stop.abort(new Error(`stopped by ${signal}`));
  });

const directory = await mkdtemp(join(tmpdir(), "sortie-chaos-"));
const batchTasks = options.rollouts > 100 ? 12 : 4;
const throttle =
  options.throttle === 0 ? undefined : { ratio: options.throttle, batchSize: batchTasks, repeats: REPEATS };
const assemblyDir = join(directory, "assembly");
const servicePort = await freePort();
const outcomes: ChaosOutcome[] = [];
try {
  const many = options.rollouts > 100;
  const chosen = paces[options.realTime ? "real" : "fast"];
  // As deployed, a blocked thread is found long before the engine takes its neighbours' episodes back.
  const pace = options.guilty
    ? { ...chosen, discardSeconds: Math.max(chosen.discardSeconds, GUILTY_DISCARD) }
    : chosen;
  const sizes = { maxEpisodes: many ? 48 : 30, episodesPerInvocation: many ? 6 : 5 };
  const agent = await agentSetting(options.agents, servicePort, directory);
  await assemble(assemblyDir, { ...sizes, pace, throttle, agent });
  for (const seed of options.seed) {
    if (stop.signal.aborted) break;
    outcomes.push(await run(seed));
  }
  if (outcomes.length > 1) process.stdout.write(`${renderSeeds(outcomes)}\n`);
} finally {
  const sound = outcomes.length === options.seed.length && outcomes.every(isSound) && !stop.signal.aborted;
  process.exitCode = sound ? 0 : 1;
  if (options.keep) process.stdout.write(`kept: ${directory}\n`);
  else if (sound || stop.signal.aborted) await rm(directory, { recursive: true, force: true });
}

async function run(seed: number): Promise<ChaosOutcome> {
  const outcome = await runChaos({
    seed,
    rollouts: options.rollouts,
    minutes: options.minutes,
    kinds: kindsFor(options.agents, options.faults),
    agents: options.agents,
    servicePort,
    guilty: options.guilty,
    agentSeconds: options.agentSeconds,
    realTime: options.realTime,
    repeats: REPEATS,
    batchTasks,
    throttle,
    engineVersion: options.engineVersion,
    assemblyDir,
    directory,
    drainSeconds: options.drain,
    stop: stop.signal,
    onLook: progress(),
  });
  process.stdout.write(`${renderOutcome(outcome)}\n`);
  if (options.keep || !isSound(outcome)) {
    const ledger = outcome.evidence.ledger.map((entry) => JSON.stringify(entry)).join("\n");
    await writeFile(join(directory, `ledger-${seed}.jsonl`), ledger);
    const { items = new Map(), kills = [], letters = [] } = outcome.evidence;
    const rest = { kills, letters, items: [...items.values()] };
    await writeFile(join(directory, `evidence-${seed}.json`), JSON.stringify(rest, undefined, 1));
  }
  return outcome;
}

/** A line every five seconds, on standard error. */
function progress() {
  const began = Date.now();
  let next = began;
  return ({ phase, final, pushed }: { phase: string; final: number; pushed: number }) => {
    if (Date.now() < next) return;
    next = Date.now() + 5000;
    const seconds = Math.round((Date.now() - began) / 1000);
    process.stderr.write(`${phase}: ${final}/${pushed} rollouts are final after ${seconds} s\n`);
  };
}
