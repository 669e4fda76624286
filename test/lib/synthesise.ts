/** What `cdk synth` makes of settings, without bundling and without a process of its own. */
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import cdkJson from "../../cdk.json" with { type: "json" };
import { decodeSettings } from "../../lib/settings.ts";
import { SortieStack } from "../../lib/stack.ts";

/** The context of `cdk.json`, which has no settings of its own. */
export const withoutBundling = { ...cdkJson.context, "aws:cdk:bundling-stacks": [] };
export const engineUrl = "http://10.0.0.7:10086";

/** The template of the stack that these settings ask for. */
export function synthesise(settings: Record<string, unknown> = { engineUrl }): Template {
  const app = new App({ context: withoutBundling });
  const decoded = decodeSettings(settings);
  return Template.fromStack(new SortieStack(app, decoded.stackName, { settings: decoded }));
}

/** An empty stack, as another CDK app has it. */
export function otherStack(): Stack {
  return new Stack(new App({ context: withoutBundling }), "Other");
}

interface Resource {
  readonly Properties: Record<string, unknown>;
  readonly [attribute: string]: unknown;
}
/** The one resource of a type whose logical id starts with a prefix. */
export function resource(template: Template, type: string, prefix = ""): Resource {
  const found = Object.entries(template.findResources(type)).filter(([id]) => id.startsWith(prefix));
  const [only] = found;
  if (found.length !== 1 || only === undefined) {
    throw new Error(`expected one ${type} with id ${prefix}*, found ${found.map(([id]) => id).join(", ")}`);
  }
  return only[1] as Resource;
}

/** A literal text for a value with intrinsic functions in it: `<Id>`, `<Id.Attribute>`; ids lose their hashes. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const { Ref: ref, "Fn::GetAtt": attribute, "Fn::Join": join } = value as Record<string, unknown>;
  if (typeof ref === "string") return `<${shortId(ref)}>`;
  if (Array.isArray(attribute)) return `<${shortId(String(attribute[0]))}.${String(attribute[1])}>`;
  if (Array.isArray(join)) return (plain(join[1]) as unknown[]).join(String(join[0]));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

function shortId(id: string): string {
  return id.replace(/(?<=[a-z\d])[0-9A-F]{8}$/, "");
}
