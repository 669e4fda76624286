import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createTranscriptReader } from "../../../cli/transcripts/reader.ts";
import { folderStore } from "../../../functions/adapters/transcripts/folder.ts";
import { sampleTranscript } from "../../functions/core/transcript/sample.ts";

const folders: string[] = [];
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sortie-transcripts-"));
  folders.push(folder);
  return folder;
}
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function kept(folder: string, ...samples: ReturnType<typeof sampleTranscript>[]) {
  for (const sample of samples) await folderStore(folder).put(JSON.stringify(sample), sample.extra);
}

describe("transcripts in a folder", () => {
  test("are read by the rollout's key, in the order of its attempts", async () => {
    const folder = await newFolder();
    const second = sampleTranscript({ attempt: "0.1", claimed_at: "2026-03-01T11:00:00.000Z" });
    const first = sampleTranscript({ attempt: "z.9" });
    await kept(folder, second, first, sampleTranscript({ rollout: "run/monday/train/1/gsm8k-17" }));
    const reader = createTranscriptReader({ kind: "folder", folder });
    expect(await reader.read("main", first.session_id)).toEqual([first, second]);
  });

  test("are read by run, and none of another run whose name goes on", async () => {
    const folder = await newFolder();
    const hostile = "run/a:b/train/0/../../../etc/passwd\u0000\u001b[2J".padEnd(600, "漢");
    const own = sampleTranscript({ rollout: hostile, run: "a:b" });
    await kept(folder, own, sampleTranscript({ rollout: "run/a:bc/train/0/x", run: "a:bc" }));
    const reader = createTranscriptReader({ kind: "folder", folder });
    const found = [];
    for await (const one of reader.readRun("main", "a:b")) found.push(one);
    expect(found).toEqual([own]);
    expect(await reader.read("main", hostile)).toEqual([own]);
  });

  test("messages without a run have theirs too; nobody's are none", async () => {
    const folder = await newFolder();
    const own = sampleTranscript({ rollout: "message/123" });
    await kept(folder, own);
    const reader = createTranscriptReader({ kind: "folder", folder });
    expect(await reader.read("main", "message/123")).toEqual([own]);
    expect(await reader.read("main", "message/124")).toEqual([]);
    expect(await reader.read("other", "message/123")).toEqual([]);
    const none = createTranscriptReader({ kind: "none", why: "transcripts are off" });
    expect(await none.read("main", "message/123")).toEqual([]);
  });
});
