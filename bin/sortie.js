#!/usr/bin/env node
// A checkout runs the source. Node strips no types under node_modules: the installed package runs what packing compiled.
import { existsSync } from "node:fs";

const source = new URL("../cli/sortie.ts", import.meta.url);
const compiled = new URL("../dist/cli/sortie.js", import.meta.url);
await import((existsSync(source) ? source : compiled).href);
