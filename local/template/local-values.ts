import { arn } from "../region.ts";
import type { Assembly, Resource } from "./assembly.ts";
import type { LocalValue, References } from "./intrinsics.ts";

export const queueType = "AWS::SQS::Queue";
export const functionType = "AWS::Lambda::Function";
// CDK's TableV2 makes a global table, its Table a plain one.
export const tableTypes = ["AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::Table"];

/** The resources of these types, by logical id. */
export function ofType(assembly: Assembly, types: readonly string[]): [string, Resource][] {
  return Object.entries(assembly.resources).filter(([, { Type }]) => types.includes(Type));
}

/** A resource's own name, or one as CloudFormation would make it. */
export function nameOf(assembly: Assembly, id: string, property: string): string {
  const name = assembly.resources[id]?.Properties?.[property];
  if (typeof name === "string") return name;
  return [assembly.stackName, id, assembly.uniquePart].filter((part) => part !== "").join("-");
}

/** What references within a template mean here; a queue has a `Ref` only where its address is known. */
export function referencesOf(assembly: Assembly, queueUrls: ReadonlyMap<string, string>): References {
  return {
    stackName: assembly.stackName,
    lookup: (id) => {
      const parameter = assembly.parameters[id];
      return parameter === undefined
        ? localValue(assembly, id, queueUrls.get(id))
        : { ref: parameter, attributes: {} };
    },
  };
}

function localValue(assembly: Assembly, id: string, queueUrl?: string): LocalValue | undefined {
  const type = assembly.resources[id]?.Type ?? "";
  if (type === queueType) {
    const name = nameOf(assembly, id, "QueueName");
    const attributes = { Arn: arn("sqs", name), QueueName: name };
    return queueUrl === undefined
      ? { attributes }
      : { ref: queueUrl, attributes: { ...attributes, QueueUrl: queueUrl } };
  }
  if (type === functionType) {
    const name = nameOf(assembly, id, "FunctionName");
    return { ref: name, attributes: { Arn: arn("lambda", `function:${name}`) } };
  }
  if (tableTypes.includes(type)) {
    const name = nameOf(assembly, id, "TableName");
    return { ref: name, attributes: { Arn: arn("dynamodb", `table/${name}`) } };
  }
  if (type === "AWS::Logs::LogGroup") return { ref: nameOf(assembly, id, "LogGroupName"), attributes: {} };
  return undefined;
}

/** Logical ids of queues and functions, by their ARN, functions by name too. */
export function idsByArn(assembly: Assembly): ReadonlyMap<string, string> {
  return new Map(
    ofType(assembly, [queueType, functionType]).flatMap(([id, { Type }]) => {
      const { ref = id, attributes } = localValue(assembly, id) ?? { attributes: {} };
      const { Arn = id } = attributes;
      return [[Arn, id] as const, ...(Type === functionType ? [[ref, id] as const] : [])];
    }),
  );
}
