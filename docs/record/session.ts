/**
 * Records docs/session.svg, what a newcomer's first command shows:
 *
 *     npm run record:session
 *
 * Takes about a minute.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { framesOf } from "./frames.ts";
import { inTerminal } from "./in-terminal.ts";
import { svgOf } from "./terminal.ts";

const size = { columns: 80, rows: 34 };
const run = inTerminal("npm start --silent -- --seed 1", size);
const code = await run.ended;
if (code !== 0)
  throw new Error(`expected npm start to end with 0, found ${code}: ${run.written.at(-1)?.text}`);
const frames = await framesOf("npm start", run.written, size);
const title = "npm start: 128 rollouts on this machine, their mean reward step by step, and a summary";
await writeFile(join(import.meta.dirname, "../session.svg"), svgOf(frames, size, title));
