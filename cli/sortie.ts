#!/usr/bin/env node
/** The `sortie` command: looks at a deployment, and steers it. */
import { exitQuietlyOnClosedPipe, processIo } from "./io.ts";
import { run } from "./program.ts";

exitQuietlyOnClosedPipe();
process.exitCode = await run(process.argv.slice(2), processIo);
