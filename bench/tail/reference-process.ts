/** The reference's way in a process of its own: work in by message, its number of ended episodes out. */
import { runReference, type Work } from "./reference.ts";

process.once("message", async (work: Work) => {
  process.send?.(await runReference(work));
  process.exit(0);
});
