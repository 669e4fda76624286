/** Where transcripts go, by its address. */
import type { TranscriptStore } from "../../core/transcript/transcripts.ts";
import { bucketStore } from "./bucket.ts";
import { folderStore } from "./folder.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** `address`: `s3://<bucket>`, or `file:///…` for a folder on this machine. */
export function transcriptStore(address: string, environment: Environment): TranscriptStore {
  const url = new URL(address);
  if (url.protocol === "file:") return folderStore(decodeURIComponent(url.pathname));
  const endpoint = environment["AWS_ENDPOINT_URL_S3"] ?? environment["AWS_ENDPOINT_URL"];
  return bucketStore({
    bucket: url.hostname,
    region: environment["AWS_REGION"] ?? "us-east-1",
    endpoint,
    credentials: () => {
      const { AWS_SESSION_TOKEN: sessionToken } = environment;
      return {
        accessKeyId: environment["AWS_ACCESS_KEY_ID"] ?? "",
        secretAccessKey: environment["AWS_SECRET_ACCESS_KEY"] ?? "",
        ...(sessionToken === undefined ? {} : { sessionToken }),
      };
    },
  });
}
