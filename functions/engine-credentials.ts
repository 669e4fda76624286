/**
 * The token of a proxy in front of the engine. It is read from Secrets Manager once per function process, and again when
 * the proxy refuses it, so that it can be rotated without a deployment. It never goes into a log line or an error.
 */
import type { Dispatcher } from "undici";
import * as z from "zod";
import { type EngineCredentials, GuardedDispatcher, sharedDispatcher } from "./adapters/engine/index.ts";
import { SettingsError } from "./contract/settings-error.ts";
import type { Clock } from "./core/clock.ts";

/** Reads a secret's text. */
export type SecretReader = (arn: string) => Promise<string | undefined>;

export interface CredentialSettings {
  readonly engineSecretArn?: string | undefined;
  readonly engineHeader?: string | undefined;
}

/** No second reading within this, ms: an engine's own 401, as for a stale key, must not become a storm of readings. */
export const RENEW_PAUSE_MS = 10_000;

/** Nothing where no token is set. @throws SettingsError where half of it is */
export function engineCredentials(
  { engineSecretArn: arn, engineHeader: header }: CredentialSettings,
  clock: Clock,
  read: SecretReader = readSecret,
): EngineCredentials | undefined {
  if (arn === undefined && header === undefined) return undefined;
  if (arn === undefined || header === undefined)
    throw new SettingsError(
      ["expected both SORTIE_ENGINE_SECRET_ARN and SORTIE_ENGINE_HEADER, found one: deploy again"],
      "the engine's token",
    );
  return new SecretHeader({ what: "the engine's token", arn, header, clock, read });
}

/** The token of the service behind which an agent runs. */
export function agentCredentials(arn: string, header: string, clock: Clock): EngineCredentials {
  return new SecretHeader({ what: "the agent's token", arn, header, clock, read: readSecret });
}

/** The connections of this process, which carry the token where there is one. */
export function engineDispatcher(engineUrl: string, credentials: EngineCredentials | undefined): Dispatcher {
  const plain = sharedDispatcher();
  return credentials ? new GuardedDispatcher(plain, engineUrl, credentials) : plain;
}

interface SecretHeaderOptions {
  /** For messages. */
  readonly what: string;
  readonly arn: string;
  readonly header: string;
  readonly clock: Clock;
  readonly read: SecretReader;
}

class SecretHeader implements EngineCredentials {
  readonly #options: SecretHeaderOptions;
  #token: string | undefined;
  #version = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: { readonly at: number; readonly token: Promise<string> } | undefined;

  constructor(options: SecretHeaderOptions) {
    this.#options = options;
  }

  async headers(): Promise<Readonly<Record<string, string>>> {
    return { [this.#options.header]: this.#token ?? (await this.#read()) };
  }

  get version(): number {
    return this.#version;
  }

  async renew(): Promise<void> {
    const tooSoon = this.#options.clock.now() - this.#readAt < RENEW_PAUSE_MS;
    // Somebody else may be at it: whoever waits for that gets its answer.
    if (this.#reading !== undefined || !tooSoon) await this.#read();
  }

  #read(): Promise<string> {
    const at = this.#options.clock.now();
    // One that began before the function was frozen may bring a token of that time, or nothing.
    if (this.#reading !== undefined && at - this.#reading.at < RENEW_PAUSE_MS) return this.#reading.token;
    const token = this.#readOnce().finally(() => {
      if (this.#reading?.token === token) this.#reading = undefined;
    });
    this.#reading = { at, token };
    return token;
  }

  async #readOnce(): Promise<string> {
    const { what, arn, clock, read } = this.#options;
    const beganAt = clock.now();
    const token = tokenIn(await read(arn), arn, what);
    if (beganAt < this.#readAt) return this.#token ?? token;
    if (this.#token !== undefined && this.#token !== token) this.#version += 1;
    this.#token = token;
    this.#readAt = clock.now();
    return token;
  }
}

const jsonToken = z.object({ token: z.string() });

/** The bare text, or JSON with the key `token`. No message quotes what was found. */
function tokenIn(secret: string | undefined, arn: string, what: string): string {
  const text = secret?.trim() ?? "";
  const token = text.startsWith("{") ? jsonToken.safeParse(parsed(text)).data?.token : text;
  // Anything else cannot stand in a header.
  if (token !== undefined && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new SettingsError(
    [
      `expected the secret ${arn} to hold one word of printable ASCII, or JSON {"token": "…"}, found neither: correct it`,
    ],
    what,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Loaded only where a token is set. */
async function readSecret(arn: string): Promise<string | undefined> {
  const { SecretsManagerClient, GetSecretValueCommand } = await import("@aws-sdk/client-secrets-manager");
  const client = new SecretsManagerClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true },
  });
  const { SecretString: text } = await client.send(new GetSecretValueCommand({ SecretId: arn }));
  return text;
}
