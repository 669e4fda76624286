/** Run as `node check-types.ts <agent>`, beside what tries the agent: prints its type faults, and exits with 1 if there are. */
import { typeFaults, typeWarning } from "./agent-types.ts";

const [, , agent = "", mode = ""] = process.argv;
const faults = await typeFaults([agent]);
if (faults.length > 0) {
  process.stdout.write(`${typeWarning(faults, mode === "strict")}\n`);
  process.exitCode = 1;
}
