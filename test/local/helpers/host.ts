/** A host that a test can kill: `node host.ts <code directory> <handler> <event>` invokes and waits. */
import { LambdaFunction } from "../../../local/lambda/function.ts";

const [, , codeDirectory = "", handler = "", event = "null"] = process.argv;
const lambda = new LambdaFunction({
  name: "orphan",
  handler,
  codeDirectory,
  memoryMb: 128,
  timeoutMs: 60_000,
  environment: {},
  log: () => {},
});
await lambda.invoke(JSON.parse(event));
