/** Where transcripts are read: a folder of a run on this machine, or the bucket of a deployment. */
import { readdir, readFile } from "node:fs/promises";
import { join, sep } from "node:path";
import type { S3Client } from "@aws-sdk/client-s3";

export interface TranscriptPlace {
  /** For a message: where it is. */
  readonly where: string;
  /** Names that begin with `prefix`, which is empty or ends with a slash, in their order. */
  names(prefix: string): AsyncIterable<string>;
  /** Undefined where it is gone by now. */
  read(name: string): Promise<string | undefined>;
}

export function folderPlace(folder: string): TranscriptPlace {
  return {
    where: folder,
    async *names(prefix) {
      const found = await readdir(join(folder, prefix), { recursive: true }).catch(absent);
      const names = (found ?? []).map((name) => name.split(sep).join("/"));
      for (const name of names.sort()) if (name.endsWith(".json")) yield `${prefix}${name}`;
    },
    read: async (name) => await readFile(join(folder, name), "utf8").catch(absent),
  };
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  throw error;
}

/** `client` is made, and its library loaded, when something is read. */
export function bucketPlace(client: () => Promise<S3Client>, bucket: string): TranscriptPlace {
  return {
    where: `s3://${bucket}`,
    async *names(prefix) {
      const { paginateListObjectsV2 } = await import("@aws-sdk/client-s3");
      const pages = paginateListObjectsV2({ client: await client() }, { Bucket: bucket, Prefix: prefix });
      for await (const { Contents = [] } of pages)
        for (const { Key } of Contents) if (Key?.endsWith(".json")) yield Key;
    },
    async read(name) {
      const { GetObjectCommand, NoSuchKey } = await import("@aws-sdk/client-s3");
      try {
        const { Body } = await (await client()).send(new GetObjectCommand({ Bucket: bucket, Key: name }));
        return await Body?.transformToString();
      } catch (error) {
        // The lifecycle rule may have been first.
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
  };
}
