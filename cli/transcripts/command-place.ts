/** The transcripts of the deployment that a command is about. */
import type { Deployment } from "../deployment.ts";
import { CommandFailure } from "../failures.ts";
import { createTranscriptReader, type TranscriptReader } from "./reader.ts";

/** @throws CommandFailure where none are kept */
export async function neededTranscripts(deployment: Deployment): Promise<TranscriptReader> {
  const place = await deployment.transcripts();
  if (place) return createTranscriptReader(place);
  throw new CommandFailure(
    "expected a deployment that keeps transcripts, found none: set transcripts of a fleet to all, failures or a share of " +
      "its rollouts, and deploy (docs/transcripts.md); where --table names the deployment, name it by --stack",
  );
}
