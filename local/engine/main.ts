/** The stand-in engine alone, for any rollout worker: its ledger's summary is the last line of standard output. */
import { systemClock as clock } from "../../functions/system-clock.ts";
import { generateProblems } from "../problems/problems.ts";
import { createModel } from "./model.ts";
import { readMainOptions } from "./options.ts";
import { startEngine } from "./start.ts";

const { seed, ...options } = readMainOptions(process.argv);
const model = createModel({ tasks: generateProblems({ seed, count: 1000 }), seed });
const engine = await startEngine({ ...options, clock, seed, model });
process.stderr.write(`the stand-in engine listens on ${engine.url}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, async () => {
    process.stdout.write(`${JSON.stringify(engine.summary())}\n`);
    await engine.close();
  });
