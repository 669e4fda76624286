import type { TranscriptExtra } from "./transcript.ts";

/** Keeps transcripts. */
export interface TranscriptStore {
  /** `text` is the document, as JSON. Rejects where it could not be kept. */
  put(text: string, about: TranscriptExtra): Promise<void>;
}
