/** Transcripts as objects in a bucket: signed PUTs, since all of S3's client would double the function's bundle. */
import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import { request } from "undici";
import type { TranscriptStore } from "../../core/transcript/transcripts.ts";

export interface BucketOptions {
  readonly bucket: string;
  readonly region: string;
  /** Read at each PUT. */
  readonly credentials: () => { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  /** In place of S3's own, with the bucket in the path. */
  readonly endpoint?: string | undefined;
}

const TRIES = 3;
const LIMIT_MS = 10_000;

export function bucketStore(options: BucketOptions): TranscriptStore {
  const { region, credentials } = options;
  const signer = new SignatureV4({
    service: "s3",
    region,
    sha256: Sha256,
    credentials: async () => credentials(),
    // S3 signs the path as it is sent.
    uriEscapePath: false,
  });
  return {
    async put(name, text) {
      const url = urlOf(options, name);
      const unsigned = {
        method: "PUT",
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: {},
        headers: { host: url.host, "content-type": "application/json" },
        body: text,
      };
      for (let tries = 1; ; tries += 1) {
        const { headers } = await signer.sign(unsigned);
        const answer = await sent(url, headers, text);
        if (answer.status === 200) return;
        if (answer.status < 500 || tries === TRIES)
          throw new Error(`expected the bucket to keep ${name}, found ${answer.words}`);
      }
    },
  };
}

async function sent(url: URL, headers: Record<string, string>, body: string) {
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const { statusCode: status, body: reply } = await request(url, { method: "PUT", headers, body, signal });
    const words = (await reply.text()).replaceAll(/<[^>]*>/g, " ").trim();
    return { status, words: `HTTP ${status} with "${words.slice(0, 200)}"` };
  } catch (error) {
    return { status: 503, words: String(error) };
  }
}

/** Names hold no character that would have to be escaped. */
function urlOf({ bucket, region, endpoint }: BucketOptions, name: string): URL {
  if (endpoint !== undefined) return new URL(`${endpoint.replace(/\/+$/, "")}/${bucket}/${name}`);
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return new URL(`https://${bucket}.s3.${region}.${suffix}/${name}`);
}

/** As the signer wants it. */
class Sha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash =
      secret === undefined ? createHash("sha256") : createHmac("sha256", secret as string | Uint8Array);
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(data instanceof ArrayBuffer ? new Uint8Array(data) : (data as string | Uint8Array));
  }

  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.#hash.digest());
  }

  reset(): void {
    throw new Error("not used by the signer");
  }
}
