#!/usr/bin/env node
// The CDK app, as `cdk.json` of a project names it; source and compiled as in `sortie.js`.
import { existsSync } from "node:fs";

const source = new URL("../cli/sortie.ts", import.meta.url);
await import(existsSync(source) ? "../lib/app.ts" : "../dist/lib/app.js");
