/** How the functions reach an engine, and what a proxy in front of it wants to see. */
import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";
import { whole } from "./schema-parts.ts";
import { DEFAULT_HEADER, tokenFaults, tokenShape } from "./token-settings.ts";

export const engineUrl = z
  .url({ protocol: /^https?$/, error: "expected a URL such as http://10.0.0.7:10086" })
  .refine((url) => !URL.canParse(url) || new URL(url).username === "", {
    error: "expected a URL without a user name or password, which everybody could read in the template",
  });

const agreement = "expected {episodes}, {tasks} or {seconds}, or several of them";
const file = "expected the path of a file with certificates (PEM)";

export const engineShape = {
  url: engineUrl,
  ...tokenShape("engine-token"),
  /** Certificates of authorities that the functions trust beside the public ones: a PEM file, by its path. */
  caCertificateFile: z.string({ error: file }).min(1, { error: file }).optional(),
  /**
   * Under a collection method that waits for its clients to agree: agree to a step's weight sync once the trainer has
   * counted so many episodes or tasks, or so many seconds have passed, whichever comes first. Absent: only by hand.
   */
  agreeAfter: z
    .strictObject(
      {
        episodes: whole(1, 1_000_000).optional(),
        tasks: whole(1, 1_000_000).optional(),
        seconds: whole(30, 86_400).optional(),
      },
      { error: agreement },
    )
    .refine((rule) => Object.keys(rule).length > 0, { error: agreement })
    .optional(),
} as const;

export const engineSchema = z.strictObject(engineShape, { error: 'expected {"url": "http://…"}' });

/** The settings of one engine. Keys are described at `engineShape`. */
export type EngineSettings = z.infer<typeof engineSchema>;
/** How it is reached, without the address. */
export type EngineAccess = Omit<EngineSettings, "url" | "agreeAfter">;
export type AgreeAfter = EngineSettings["agreeAfter"];

/** One text per fault of several keys together, without the engine's name. */
export function engineFaults(engine: EngineSettings): string[] {
  return [...tokenFaults(engine), ...headerFaults(engine), ...certificateFaults(engine)];
}

function headerFaults({ header }: EngineSettings): string[] {
  if (header?.toLowerCase() === "authorization")
    return [
      "header: authorization carries the key of an episode in each model call, which goes through the same proxy, so a " +
        `token there would never arrive: take another header, such as ${DEFAULT_HEADER}, and let the proxy check that one`,
    ];
  return [];
}

function certificateFaults({ url, caCertificateFile }: EngineSettings): string[] {
  if (caCertificateFile === undefined) return [];
  const path = resolve(caCertificateFile);
  if (!existsSync(path))
    return [`caCertificateFile: expected a file at ${path}, found none: correct the path`];
  const faults = pemFaults(readFileSync(path, "utf8")).map((fault) => `caCertificateFile: ${fault}`);
  if (url.startsWith("http:"))
    faults.push(
      `url: expected https, because caCertificateFile is for TLS alone, found ${JSON.stringify(url)}`,
    );
  return faults;
}

/** What goes into a function's bundle must be certificates, and nothing secret. */
function pemFaults(pem: string): string[] {
  if (pem.includes("PRIVATE KEY"))
    return ["expected certificates alone, found a private key: take the key out of the file"];
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0)
    return [
      "expected at least one certificate in PEM (BEGIN CERTIFICATE), found none: convert it with openssl x509",
    ];
  return certificates.flatMap((text, index) => certificateFault(text, index + 1));
}

function certificateFault(text: string, number: number): string[] {
  try {
    const { validTo, subject } = new X509Certificate(text);
    if (Date.parse(validTo) > Date.now()) return [];
    return [`certificate ${number} (${subject}) expired on ${validTo}: ask for a new one`];
  } catch {
    return [`certificate ${number} cannot be read: expected base64 between its BEGIN and END lines`];
  }
}
