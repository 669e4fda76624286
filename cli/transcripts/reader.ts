/** Reads the transcripts of rollouts, wherever a deployment keeps them. */

import type { TranscriptFiles } from "../../functions/adapters/transcripts/files.ts";
import { folderTranscripts } from "../../functions/adapters/transcripts/folder.ts";
import { folderOfRollout, folderOfRun } from "../../functions/adapters/transcripts/place.ts";
import type { Transcript } from "../../functions/core/transcript/transcript.ts";

/** Where they are; `none` says in words why there are none. */
export type TranscriptPlace =
  | { readonly kind: "folder"; readonly folder: string }
  | { readonly kind: "files"; readonly files: TranscriptFiles; readonly words: string }
  | { readonly kind: "none"; readonly why: string };

export interface TranscriptReader {
  readonly place: TranscriptPlace;
  /** Of each attempt that has one, in the order of the attempts; empty where none was kept. */
  read(fleet: string, key: string): Promise<Transcript[]>;
  /** Of all rollouts of a run, one after the other. */
  readRun(fleet: string, run: string): AsyncGenerator<Transcript>;
}

export function createTranscriptReader(place: TranscriptPlace): TranscriptReader {
  const files = filesAt(place);
  async function* readUnder(prefix: string): AsyncGenerator<Transcript> {
    for await (const path of files.list(prefix)) {
      const text = await files.read(path);
      if (text !== undefined) yield JSON.parse(text) as Transcript;
    }
  }
  return {
    place,
    read: async (fleet, key) => {
      const found: Transcript[] = [];
      for await (const transcript of readUnder(folderOfRollout(fleet, key))) found.push(transcript);
      return found;
    },
    readRun: (fleet, run) => readUnder(folderOfRun(fleet, run)),
  };
}

function filesAt(place: TranscriptPlace): TranscriptFiles {
  if (place.kind === "folder") return folderTranscripts(place.folder);
  if (place.kind === "files") return place.files;
  return { list: async function* () {}, read: async () => undefined };
}
