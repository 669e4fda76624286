/** Reads the transcripts of a deployment. */
import { runTranscripts } from "../../functions/contract/transcript-names.ts";
import { type Transcript, transcriptSchema } from "../../functions/core/transcript/transcript.ts";
import { rolloutTranscripts } from "../../functions/core/transcript/transcripts.ts";
import { CommandFailure } from "../failures.ts";
import type { TranscriptPlace } from "./place.ts";

export interface TranscriptReader {
  /** For a message. */
  readonly where: string;
  /** A rollout's, in the order of its attempts. */
  ofRollout(fleet: string, key: string): Promise<Transcript[]>;
  /** Those of a task, or of a rollout in whatever fleet: all are looked at. */
  ofTask(task: string): Promise<Transcript[]>;
  /** A run's; those of rollouts without a run where `run` is undefined. */
  ofRun(fleet: string, run: string | undefined): AsyncGenerator<Transcript>;
}

export function createTranscriptReader(place: TranscriptPlace): TranscriptReader {
  async function* under(prefix: string): AsyncGenerator<Transcript> {
    for await (const name of place.names(prefix)) {
      const text = await place.read(name);
      if (text !== undefined) yield decoded(text, `${place.where}/${name}`);
    }
  }
  return {
    where: place.where,
    async ofRollout(fleet, key) {
      const found: Transcript[] = [];
      for await (const transcript of under(rolloutTranscripts(fleet, key))) found.push(transcript);
      return found;
    },
    async ofTask(task) {
      const found: Transcript[] = [];
      for await (const transcript of under(""))
        if (transcript.extra.task_id === task || transcript.extra.rollout === task) found.push(transcript);
      return found;
    },
    async *ofRun(fleet, run) {
      for await (const transcript of under(runTranscripts(fleet, run)))
        if (transcript.extra.run === run) yield transcript;
    },
  };
}

function decoded(text: string, where: string): Transcript {
  try {
    return transcriptSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new CommandFailure(
      `expected a transcript of this release at ${where}, found something else: update sortie`,
      error,
    );
  }
}
