#!/usr/bin/env node
/** The `sortie` command: looks at a deployment, and steers it. */
import { inspect } from "node:util";
import { exitQuietlyOnClosedPipe, processIo } from "./io.ts";
import { run } from "./program.ts";
import { terminalText } from "./terminal-text.ts";

exitQuietlyOnClosedPipe();
process.exitCode = await run(process.argv.slice(2), processIo).catch((error) => {
  // A fault of the command itself, with its stack.
  processIo.err(terminalText(`${inspect(error)}\n`));
  return 1;
});
