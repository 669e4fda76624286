/** Which failures of the table stay, however often a call is repeated. Everything else passes: throttling, 5xx, time-outs. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describeError, StoreRefusedError } from "../../core/errors.ts";

/** What is wrong with the call itself: an item over 400 KB, a number out of range, a key over 2,048 bytes. */
const itemFaults =
  /^(ValidationException|SerializationException|ItemCollectionSizeLimitExceededException|RequestEntityTooLargeException)$/;
/** What is wrong with the deployment: no table of that name, a role or key policy without a permission. */
const accessFaults =
  /^(AccessDenied(Exception)?|ResourceNotFoundException|UnrecognizedClientException|InaccessibleEncryptionCredentialsException|KMS\w*Exception)$/;

/** Makes every call of the client throw `StoreRefusedError` for a refusal that stays. */
export function namesRefusals(client: DynamoDBClient): DynamoDBClient {
  client.middlewareStack.add(
    (next, { commandName = "the call" }) =>
      async (args) => {
        try {
          return await next(args);
        } catch (error) {
          throw asRefusal(error, commandName.replace(/Command$/, ""));
        }
      },
    { step: "initialize", name: "namesRefusals", priority: "high" },
  );
  return client;
}

/** By name: an error that another copy of the SDK's classes made is no instance of ours. */
export function asRefusal(error: unknown, call: string): unknown {
  const { name } = error instanceof Error ? error : { name: "" };
  const fault = itemFaults.test(name) ? "item" : accessFaults.test(name) ? "access" : undefined;
  if (fault === undefined) return error;
  return new StoreRefusedError(fault, `the table refused ${call}: ${describeError(error, 300)}`, error);
}
