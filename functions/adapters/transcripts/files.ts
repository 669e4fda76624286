/** Stored transcripts: text by path, `/` between folders. */
export interface TranscriptFiles {
  /** The paths that begin with `prefix`, in the order of their characters. */
  list(prefix: string): AsyncIterable<string>;
  /** Undefined where it is gone. */
  read(path: string): Promise<string | undefined>;
}
