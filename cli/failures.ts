/** What went wrong between here and AWS, in one line that says what to do. */
import { z } from "zod";
import { describeError } from "../functions/core/errors.ts";
import { type Call, callOf } from "./aws.ts";

/** A command could not do its work: the message is for the user, without a stack. Exit code 1. */
export class CommandFailure extends Error {
  override readonly name: string = "CommandFailure";
  constructor(message: string, cause?: unknown) {
    super(oneLine(message), { cause });
  }
}

/** Ctrl-C, where work was left undone. Exit code 130, as shells have it. */
export class Interrupted extends CommandFailure {
  override readonly name = "Interrupted";
}

/** What the command line said about the place. */
export interface Where {
  readonly stack?: string;
  readonly table?: string;
  readonly region?: string;
  readonly profile?: string;
  readonly endpointUrl?: string;
  readonly local?: boolean;
}

type Describe = (error: Error, where: Where, call: Call) => string;
interface Failure {
  readonly matches: (error: Error) => boolean;
  readonly describe: Describe;
}

const unreachableCodes =
  /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE)$/;
const refusedCredentials =
  /^(UnrecognizedClientException|InvalidSignatureException|InvalidClientTokenId|SignatureDoesNotMatch|ExpiredToken(Exception)?|IncompleteSignature(Exception)?|MissingAuthenticationToken(Exception)?)$/;

/** The first that matches counts. By name rather than class: several copies of the SDK's classes may be about. */
const failures: readonly Failure[] = [
  {
    matches: named(/^ResourceNotFoundException$/),
    describe: (_, where) =>
      `expected the table ${where.table ?? ""}, found none of that name${atWhere(where)}: check --table (the stack's output ` +
      "TableName), --region and --profile",
  },
  {
    matches: named(/(QueueDoesNotExist|NonExistentQueue)$/),
    describe: (_, where) =>
      `expected a queue, found none of that address${atWhere(where)}: check --queue-url or --stack, --region and --profile`,
  },
  {
    matches: ({ name, message }) => name === "ValidationError" && /does not exist/.test(message),
    describe: (_, where) =>
      `expected the stack ${where.stack ?? ""}, found none of that name${atWhere(where)}: check --stack, --region and ` +
      "--profile; give --table (and --queue-url) to do without; --local looks at a local run",
  },
  {
    matches: ({ message }) => /region is missing/i.test(message),
    describe: () =>
      "expected an AWS region, found none: give --region or set AWS_REGION; --local looks at a system on this machine",
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
    matches: named(/^(AccessDenied(Exception)?|AuthorizationError)$/),
    describe: (error, _, { service, action }) =>
      `these credentials may not do this (${sentence(error)}): ask for ${service.toLowerCase()}:${action}, or choose ` +
      "another --profile",
  },
  {
    matches: (error) => unreachableCodes.test(codeOf(error)) || error.name === "TimeoutError",
    describe: (error, where, { service }) =>
      `${service} cannot be reached${atWhere(where)} (${codeOf(error) || error.name}): check the network, --region and ` +
      "--endpoint-url",
  },
  {
    matches: (error) => error instanceof SyntaxError || /deserialization error/i.test(error.message),
    describe: (_, where, { service }) =>
      `expected ${service}${atWhere(where)}, found a server that answers something else: check --endpoint-url`,
  },
  {
    matches: (error) => error instanceof z.ZodError,
    describe: (error, where) =>
      `the item in the table ${where.table ?? ""} is not of the shape that this release reads (${faultsOf(error)}): use the ` +
      "sortie command of the release that is deployed",
  },
];

export function describeFailure(error: unknown, where: Where): string {
  if (!(error instanceof Error)) return describeError(error, 500);
  const known = failures.find(({ matches }) => matches(error));
  const call = callOf(error) ?? { service: "DynamoDB", action: "GetItem" };
  return known ? known.describe(error, where, call) : describeError(error, 500);
}

function named(pattern: RegExp): Failure["matches"] {
  return ({ name }) => pattern.test(name);
}

function atWhere({ endpointUrl, region, local }: Where): string {
  if (local) return " in the local run";
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
