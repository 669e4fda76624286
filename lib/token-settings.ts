/** The token that a service behind an address wants to see: an engine's proxy, or an agent's service. */
import { arnOf, matching } from "./schema-parts.ts";

export const DEFAULT_HEADER = "x-sortie-token";
/** These mean something to HTTP itself, or the clients set them. */
const reservedHeaders = new Set(["accept", "connection", "content-length", "content-type", "host"]);

/** Settings of a service; `secret` is an example of a secret's name. */
export function tokenShape(secret: string) {
  return {
    /**
     * The secret in Secrets Manager that holds the token: the bare text, or JSON with the key `token`. Its whole ARN, with
     * the six characters that AWS puts after the name.
     */
    tokenSecretArn: arnOf(
      "secretsmanager",
      /secret:\S+-[A-Za-z0-9]{6}/,
      `secret:${secret}-AbCdEf`,
    ).optional(),
    /** The key of one's own that the secret is encrypted with; none for AWS's. */
    tokenSecretKeyArn: arnOf("kms", /key\/[\w-]+/, "key/0123abcd-01ab-01ab-01ab-0123456789ab").optional(),
    /** The header that carries the token. Default: `x-sortie-token`. */
    header: matching(
      /^[A-Za-z0-9-]{1,64}$/,
      "expected a header's name: letters, digits and hyphens",
    ).optional(),
  } as const;
}

interface TokenSettings {
  readonly url: string | readonly string[];
  readonly tokenSecretArn?: string | undefined;
  readonly tokenSecretKeyArn?: string | undefined;
  readonly header?: string | undefined;
}

/** One text per fault, with the key's name before it. */
export function tokenFaults({ url, tokenSecretArn, tokenSecretKeyArn, header }: TokenSettings): string[] {
  const plain = [url].flat().find((one) => one.startsWith("http:"));
  if (tokenSecretArn !== undefined)
    return [
      ...(plain === undefined
        ? []
        : [
            `url: expected https, because a token in plain text can be read on the way, found ${JSON.stringify(plain)}`,
          ]),
      ...reservedFaults(header),
    ];
  return [
    ...(header === undefined
      ? []
      : ["header: this is the header of a token, and there is none: add tokenSecretArn"]),
    ...(tokenSecretKeyArn === undefined
      ? []
      : ["tokenSecretKeyArn: this is the key of a secret, and there is none: add tokenSecretArn"]),
    ...reservedFaults(header),
  ];
}

function reservedFaults(header = ""): string[] {
  const name = header.toLowerCase();
  return reservedHeaders.has(name)
    ? [`header: ${name} belongs to HTTP itself: take another header, such as ${DEFAULT_HEADER}`]
    : [];
}
