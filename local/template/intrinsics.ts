import { accountId, region } from "../region.ts";

/** What a reference to a resource means on this machine: its `Ref` and its attributes. */
export interface LocalValue {
  readonly ref?: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface References {
  readonly stackName: string;
  /** By logical id: resources that exist on this machine, and parameters with a default. */
  lookup(logicalId: string): LocalValue | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const noValue = Symbol("AWS::NoValue");

/** Stands where an intrinsic function has no meaning on this machine: an error only where somebody needs the value. */
export class Unresolved extends Error {
  constructor(what: string) {
    super(
      `expected a value that exists on this machine (a queue, a table, a function, the region), found ${what}`,
    );
  }
}

/** A value of a template with its intrinsic functions replaced by what they mean on this machine, or `Unresolved`. */
export function resolve(value: unknown, references: References): unknown {
  return resolveValue(value, { references, nested: false });
}

interface Context {
  readonly references: References;
  /** Inside another intrinsic function, which has no value either where this one has none. */
  readonly nested: boolean;
}

function resolveValue(value: unknown, context: Context): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => resolveValue(item, context)).filter((item) => item !== noValue);
  }
  if (typeof value !== "object" || value === null) return value;
  const [[name, argument] = ["", undefined], ...others] = Object.entries(value);
  if (others.length === 0 && (name === "Ref" || name.startsWith("Fn::"))) {
    return resolveIntrinsic(name, argument, context);
  }
  return resolveFields(value as Fields, context);
}

function resolveFields(fields: Fields, context: Context): Fields {
  const entries = Object.entries(fields).map(([key, item]) => [key, resolveValue(item, context)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== noValue));
}

function resolveIntrinsic(name: string, argument: unknown, context: Context): unknown {
  try {
    const intrinsic = intrinsics[name];
    if (!intrinsic) throw new Unresolved(`${name} ${JSON.stringify(argument)}`);
    return intrinsic(argument, { ...context, nested: true });
  } catch (error) {
    if (error instanceof Unresolved && !context.nested) return error;
    throw error;
  }
}

const intrinsics: Readonly<Record<string, (argument: unknown, context: Context) => unknown>> = {
  Ref: (id, context) => reference(String(id), context),
  "Fn::GetAtt": (path, context) => {
    const [id = "", ...attribute] = Array.isArray(path) ? path.map(String) : String(path).split(".");
    return attributeOf(id, attribute.join("."), context);
  },
  "Fn::Join": (argument, context) => {
    const [separator, parts] = list(argument, context);
    return list(parts, context).map(String).join(String(separator));
  },
  "Fn::Select": (argument, context) => {
    const [index, items] = list(argument, context);
    return list(items, context)[Number(index)];
  },
  "Fn::Split": (argument, context) => {
    const [separator, text] = list(argument, context);
    return String(text).split(String(separator));
  },
  "Fn::Sub": (argument, context) => {
    const [text, own] = Array.isArray(argument) ? argument : [argument, {}];
    return substitute(String(text), resolveFields((own ?? {}) as Fields, context), context);
  },
};

function list(value: unknown, context: Context): unknown[] {
  const resolved = resolveValue(value, context);
  if (!Array.isArray(resolved)) throw new Unresolved(JSON.stringify(value));
  return resolved;
}

function substitute(text: string, own: Fields, context: Context): string {
  return text.replace(/\$\{(!?)([^}]+)\}/g, (_, literal: string, name: string) => {
    if (literal) return `\${${name}}`;
    if (name in own) return String(own[name]);
    const [id = "", ...attribute] = name.split(".");
    return String(
      attribute.length > 0 ? attributeOf(id, attribute.join("."), context) : reference(id, context),
    );
  });
}

function reference(id: string, context: Context): unknown {
  const value = pseudoParameters(context)[id] ?? context.references.lookup(id)?.ref;
  if (value === undefined) throw new Unresolved(`Ref ${id}`);
  return value;
}

function attributeOf(id: string, attribute: string, context: Context): string {
  const value = context.references.lookup(id)?.attributes[attribute];
  if (value === undefined) throw new Unresolved(`Fn::GetAtt ${id}.${attribute}`);
  return value;
}

function pseudoParameters(context: Context): Readonly<Record<string, unknown>> {
  return {
    "AWS::Region": region,
    "AWS::AccountId": accountId,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": context.references.stackName,
    "AWS::StackId": `arn:aws:cloudformation:${region}:${accountId}:stack/${context.references.stackName}/local`,
    "AWS::NoValue": noValue,
  };
}
