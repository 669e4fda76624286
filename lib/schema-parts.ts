/** What the schemas of settings are made of. */
import * as z from "zod";

export { atLeast, whole } from "../functions/contract/numbers.ts";

export const moreThanZero = z
  .number({ error: "expected a number above 0" })
  .positive({ error: "expected a number above 0" });

export const yesOrNo = z.boolean({ error: "expected true or false" });

export function matching(pattern: RegExp, error: string) {
  return z.string({ error }).regex(pattern, { error });
}

/** Of a fleet or an engine. */
export const name = matching(
  /^[a-z0-9-]{1,32}$/,
  "expected a name of 1 to 32 characters from a-z, 0-9 and -; rename it",
);

/** The id of a resource in EC2, as `vpc-0a1b2c3d`. */
export function idOf(kind: "vpc" | "subnet" | "sg" | "rtb") {
  return matching(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), `expected an id such as ${kind}-0123456789abcdef0`);
}

/** The name of a resource in AWS's own notation, of one service. */
export function arnOf(service: string, rest: RegExp, example: string) {
  const pattern = new RegExp(String.raw`^arn:aws[\w-]*:${service}:[a-z0-9-]+:\d{12}:${rest.source}$`);
  return matching(pattern, `expected an ARN such as arn:aws:${service}:eu-west-1:111122223333:${example}`);
}
