import { ConditionalCheckFailedException, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { type Attributes, fromAttributes, type Key, type TableOptions, toAttributes } from "./client.ts";

export interface Condition {
  readonly expression: string;
  readonly names?: Record<string, string>;
  readonly values?: Record<string, unknown>;
}

/** Puts the whole item if the condition holds; otherwise resolves to what stands there instead. */
export async function conditionalPut(
  { client, table }: TableOptions,
  item: Key & object,
  condition: Condition,
): Promise<{ put: true } | { put: false; found: Record<string, unknown> | undefined }> {
  try {
    await client.send(
      new PutItemCommand({
        TableName: table,
        Item: toAttributes(item),
        ConditionExpression: condition.expression,
        ...(condition.names ? { ExpressionAttributeNames: condition.names } : {}),
        ...(condition.values ? { ExpressionAttributeValues: toAttributes(condition.values) } : {}),
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
    return { put: true };
  } catch (error) {
    if (!isConditionFailure(error)) throw error;
    // Not every server returns the old item.
    const found = error.Item ?? (await getAttributes({ client, table }, item));
    return { put: false, found: found && fromAttributes(found) };
  }
}

/** That the version stands from which the next one was made; `undefined`: that there is no item yet. */
export function versionStands(previous: { readonly version: number } | undefined): Condition {
  if (previous === undefined) return { expression: "attribute_not_exists(pk)" };
  return {
    expression: "#version = :version",
    names: { "#version": "version" },
    values: { ":version": previous.version },
  };
}

/** Puts the whole item where the version stands that was read; false where somebody else has written since. */
export async function versionedPut(
  options: TableOptions,
  item: Key & object,
  previous: { readonly version: number } | undefined,
): Promise<boolean> {
  return (await conditionalPut(options, item, versionStands(previous))).put;
}

/** By name: an error that another copy of the SDK's classes made is no instance of ours. */
export function isConditionFailure(error: unknown): error is ConditionalCheckFailedException {
  return (
    error instanceof ConditionalCheckFailedException ||
    (error instanceof Error && error.name === "ConditionalCheckFailedException")
  );
}

/** A consistent read. */
export async function getAttributes(
  { client, table }: TableOptions,
  { pk, sk }: Key,
): Promise<Attributes | undefined> {
  const answer = await client.send(
    new GetItemCommand({ TableName: table, Key: toAttributes({ pk, sk }), ConsistentRead: true }),
  );
  return answer.Item;
}

export async function getItem(options: TableOptions, key: Key): Promise<Record<string, unknown> | undefined> {
  const attributes = await getAttributes(options, key);
  return attributes && fromAttributes(attributes);
}
