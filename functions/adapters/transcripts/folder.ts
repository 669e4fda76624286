/** Transcripts as files in a folder. */
import { promises as files } from "node:fs";
import { dirname, join } from "node:path";
import type { TranscriptStore } from "../../core/transcript/transcripts.ts";

export function folderStore(folder: string): TranscriptStore {
  return {
    async put(name, text) {
      const file = join(folder, name);
      await files.mkdir(dirname(file), { recursive: true });
      // Nobody reads half of one.
      const draft = `${file}.part`;
      await files.writeFile(draft, text);
      await files.rename(draft, file);
    },
  };
}
