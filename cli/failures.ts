/** What went wrong between here and the table, in one line that says what to do. */
import { z } from "zod";
import { describeError } from "../functions/core/errors.ts";
import type { ConnectionOptions } from "./connection.ts";

/** A command could not do its work: the message is for the user, without a stack. Exit code 1. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  constructor(message: string, cause?: unknown) {
    super(oneLine(message), { cause });
  }
}

type Describe = (error: Error, where: ConnectionOptions) => string;
interface Failure {
  readonly matches: (error: Error) => boolean;
  readonly describe: Describe;
}

const unreachableCodes =
  /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE)$/;
const refusedCredentials =
  /^(UnrecognizedClientException|InvalidSignatureException|InvalidClientTokenId|ExpiredToken(Exception)?|IncompleteSignature(Exception)?|MissingAuthenticationToken(Exception)?)$/;

/** The first that matches counts. By name rather than class: several copies of the SDK's classes may be about. */
const failures: readonly Failure[] = [
  {
    matches: named(/^ResourceNotFoundException$/),
    describe: (_, where) =>
      `expected the table ${where.table}, found none of that name${atWhere(where)}: check --table (the stack's output ` +
      "TableName), --region and --profile",
  },
  {
    matches: ({ message }) => /region is missing/i.test(message),
    describe: () => "expected an AWS region, found none: give --region, or set AWS_REGION",
  },
  {
    matches: ({ name, message }) =>
      /^(CredentialsProviderError|TokenProviderError)$/.test(name) ||
      /resolved credential object/i.test(message),
    describe: (error, { profile }) =>
      `expected AWS credentials, found none that work${profile ? ` in the profile ${profile}` : ""} (${sentence(error)}): log in (aws sso login, aws configure), or ` +
      "choose another --profile",
  },
  {
    matches: named(refusedCredentials),
    describe: (error, where) =>
      `AWS does not accept these credentials${atWhere(where)} (${sentence(error)}): log in again, or choose another --profile`,
  },
  {
    matches: named(/^AccessDeniedException$/),
    describe: (error, where) =>
      `these credentials may not read the table ${where.table} (${sentence(error)}): ask for dynamodb:GetItem on it, or ` +
      "choose another --profile",
  },
  {
    matches: (error) => unreachableCodes.test(codeOf(error)) || error.name === "TimeoutError",
    describe: (error, where) =>
      `DynamoDB cannot be reached${atWhere(where)} (${codeOf(error) || error.name}): check the network, --region and ` +
      "--endpoint-url",
  },
  {
    matches: (error) => error instanceof SyntaxError || /deserialization error/i.test(error.message),
    describe: (_, where) =>
      `expected DynamoDB${atWhere(where)}, found a server that answers something else: check --endpoint-url`,
  },
  {
    matches: (error) => error instanceof z.ZodError,
    describe: (error, where) =>
      `the item in the table ${where.table} is not of the shape that this release reads (${faultsOf(error)}): use the ` +
      "sortie command of the release that is deployed",
  },
];

export function describeFailure(error: unknown, where: ConnectionOptions): string {
  if (!(error instanceof Error)) return describeError(error, 500);
  const known = failures.find(({ matches }) => matches(error));
  return known ? known.describe(error, where) : describeError(error, 500);
}

function named(pattern: RegExp): Failure["matches"] {
  return ({ name }) => pattern.test(name);
}

function atWhere({ endpointUrl, region }: ConnectionOptions): string {
  if (endpointUrl !== undefined) return ` at ${endpointUrl}`;
  return region === undefined ? "" : ` in ${region}`;
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

function sentence(error: Error): string {
  return describeError(error, 200).replace(/\.$/, "");
}

function faultsOf(error: Error): string {
  if (!(error instanceof z.ZodError)) return "";
  return error.issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.join(".")}: ${message}`)
    .join("; ");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
