/** What one model call sends and receives, gathered as it passes by. */
import { brotliDecompressSync, constants, unzipSync, zstdDecompressSync } from "node:zlib";
import { MOST_BODY, type RecordCall } from "../../core/transcript/recorded-call.ts";

interface Recorded {
  readonly path: string;
  /** Unix ms. */
  readonly at: number;
  /** Of the attempt: what is still under way when it fires will not be answered. */
  readonly signal: AbortSignal;
  readonly record: RecordCall;
}

export class CallRecording {
  readonly #call: Recorded;
  readonly #began = performance.now();
  readonly #sent = new Chunks();
  readonly #received = new Chunks();
  #answer: { status: number; contentType: string; encoding: string } | undefined;
  #over = false;

  constructor(call: Recorded) {
    this.#call = call;
    call.signal.addEventListener("abort", this.#cut, { once: true });
  }

  sent(chunk: Uint8Array | string): void {
    this.#sent.add(chunk);
  }

  answered(status: number, contentType: string, encoding: string): void {
    this.#answer = { status, contentType, encoding };
  }

  received(chunk: Uint8Array): void {
    this.#received.add(chunk);
  }

  /** Tells the call, once. */
  ended(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    const { path, at, signal, record } = this.#call;
    signal.removeEventListener("abort", this.#cut);
    const { status, contentType = "", encoding = "" } = this.#answer ?? {};
    record({
      at,
      ms: Math.round(performance.now() - this.#began),
      path,
      ...(status === undefined ? {} : { status }),
      ...(error === undefined ? {} : { error: `${error.name}: ${error.message}` }),
      contentType,
      request: textOf(this.#sent.bytes(), ""),
      response: textOf(this.#received.bytes(), encoding),
    });
  }

  readonly #cut = (): void => this.ended(new Error("the attempt was over before the answer came"));
}

/** The first bytes of a body. */
class Chunks {
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  add(chunk: Uint8Array | string): void {
    if (this.#size > MOST_BODY) return;
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk);
    this.#chunks.push(bytes);
    this.#size += bytes.length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/** Also of a body that broke off, as far as it came. */
function textOf(bytes: Buffer, encoding: string): string {
  return decoded(bytes, encoding).toString("utf8").slice(0, MOST_BODY);
}

function decoded(bytes: Buffer, encoding: string): Buffer {
  if (bytes.length === 0) return bytes;
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = constants;
  const maxOutputLength = 8 * MOST_BODY;
  try {
    if (encoding === "br")
      return brotliDecompressSync(bytes, { finishFlush: BROTLI_OPERATION_FLUSH, maxOutputLength });
    if (encoding === "zstd") return zstdDecompressSync(bytes, { finishFlush: ZSTD_e_flush, maxOutputLength });
    if (encoding === "gzip" || encoding === "deflate")
      return unzipSync(bytes, { finishFlush: Z_SYNC_FLUSH, maxOutputLength });
    return bytes;
  } catch {
    return Buffer.from(`[${bytes.length} bytes, ${encoding}]`);
  }
}
