/**
 * Loaded with `--import` into each Lambda process, before AWS's runtime client. Plain JavaScript, since stripping types
 * would double the time that a process takes to start.
 */
import { registerHooks } from "node:module";
import { Socket } from "node:net";
import { offsetMs } from "./clock.mjs";

// The runtime client's native part needs a C++ toolchain to install: three calls in JavaScript take its place.
const nativeClient = new URL("./native-client.mjs", import.meta.url).href;
registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === "./rapid-client.node"
      ? { url: nativeClient, format: "module", shortCircuit: true }
      : nextResolve(specifier, context),
});

// The host holds the other end of this pipe. It closes with the host, however that dies: no process outlives it.
new Socket({ fd: 3 })
  .on("error", () => process.exit(1))
  .on("close", () => process.exit(1))
  .resume()
  .unref();

if (offsetMs !== 0) console.log(JSON.stringify({ message: "clock is off", ms: offsetMs }));
