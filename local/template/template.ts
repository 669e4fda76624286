import * as z from "zod";
import { rolloutVariables } from "../../functions/contract/environment-names.ts";
import { type Assembly, type Resource, readAssembly } from "./assembly.ts";
import { type References, resolve, Unresolved } from "./intrinsics.ts";
import {
  functionType,
  idsByArn,
  nameOf,
  ofType,
  queueType,
  referencesOf,
  tableTypes,
} from "./local-values.ts";
import {
  type EventSourceSpec,
  eventSourceSchema,
  type FunctionSpec,
  functionSchema,
  type QueueSpec,
  queueSchema,
  type ScheduleSpec,
  scheduleSchema,
  type TableSpec,
  tableSchema,
} from "./specs.ts";

/** What the template says that needs no address of a local server. */
export interface Template {
  readonly assembly: Assembly;
  /** By logical id. */
  readonly queues: ReadonlyMap<string, QueueSpec>;
  /** By logical id. */
  readonly tables: ReadonlyMap<string, TableSpec>;
}

/** What the template says once the servers have their addresses. */
export interface Wiring {
  /** By logical id: the functions that a queue, a schedule, or another one as its agent invokes. */
  readonly functions: ReadonlyMap<string, FunctionSpec>;
  readonly eventSources: readonly EventSourceSpec[];
  readonly schedules: readonly ScheduleSpec[];
}

export interface LocalSettings {
  /** By logical id of the queue. */
  readonly queueUrls: ReadonlyMap<string, string>;
  /** Variables of every function; they take the place of the template's. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** First pass: reads the template of a cloud assembly; queues and tables can be created from the result. `uniquePart` ends the names that it makes. */
export async function readTemplate(assemblyDir: string, uniquePart = ""): Promise<Template> {
  const assembly = await readAssembly(assemblyDir, uniquePart);
  const references = referencesOf(assembly, new Map());
  const queues = ofType(assembly, [queueType]).map(([id, resource]) => {
    const properties = decode(resource, id, references, queueSchema);
    return [id, { name: nameOf(assembly, id, "QueueName"), ...properties }] as const;
  });
  const tables = ofType(assembly, tableTypes).map(([id, resource]) => {
    const properties = decode(resource, id, references, tableSchema);
    return [id, { name: nameOf(assembly, id, "TableName"), ...properties }] as const;
  });
  return { assembly, queues: new Map(queues), tables: new Map(tables) };
}

/** Second pass: the functions and what invokes them. Throws on anything in them that has no meaning here. */
export function wire(template: Template, local: LocalSettings): Wiring {
  const { assembly } = template;
  const references = referencesOf(assembly, local.queueUrls);
  const ids = idsByArn(assembly);
  const eventSources = ofType(assembly, ["AWS::Lambda::EventSourceMapping"]).map(([id, resource]) => {
    const { queueArn, function: target, ...rest } = decode(resource, id, references, eventSourceSchema);
    return { id, queue: idOf(ids, queueArn, id), function: idOf(ids, target, id), ...rest };
  });
  const schedules = ofType(assembly, ["AWS::Scheduler::Schedule"]).map(([id, resource]) => {
    const { function: target, ...rest } = decode(resource, id, references, scheduleSchema);
    return { id, function: idOf(ids, target, id), ...rest };
  });
  const invoked = new Set([...eventSources, ...schedules].map((source) => source.function));
  const functions = [...invoked].map(
    (id) => [id, functionOf(assembly, id, references, local.environment ?? {})] as const,
  );
  const agents = functions.flatMap(([, { environment }]) => agentOf(environment, ids));
  const called = agents.map((id) => [id, functionOf(assembly, id, references, {})] as const);
  const wiring = { functions: new Map([...functions, ...called]), eventSources, schedules };
  for (const source of eventSources) checkVisibility(source, template, wiring.functions);
  return wiring;
}

const agentSchema = z.object({ kind: z.literal("lambda"), functionName: z.string() });

/** The function of this stack that a rollout function calls as its agent; one of another stack is not here. */
function agentOf(environment: Readonly<Record<string, string>>, ids: ReadonlyMap<string, string>): string[] {
  const agent = agentSchema.safeParse(JSON.parse(environment[rolloutVariables.agent] ?? "null"));
  const id = agent.success ? ids.get(agent.data.functionName) : undefined;
  return id === undefined ? [] : [id];
}

/** Lambda refuses such a mapping when it is created; synthesis only warns. */
function checkVisibility(
  source: EventSourceSpec,
  { queues }: Template,
  functions: ReadonlyMap<string, FunctionSpec>,
): void {
  const visibilityMs = (queues.get(source.queue)?.visibilitySeconds ?? 0) * 1000;
  const timeoutMs = functions.get(source.function)?.timeoutMs ?? 0;
  if (visibilityMs >= timeoutMs) return;
  throw new Error(
    `${source.id}: expected the visibility timeout of ${source.queue} to be at least the timeout of ` +
      `${source.function}, ${timeoutMs / 1000} s, found ${visibilityMs / 1000} s.`,
  );
}

function functionOf(
  assembly: Assembly,
  id: string,
  references: References,
  environment: Readonly<Record<string, string>>,
): FunctionSpec {
  const resource = assembly.resources[id];
  const properties = resource?.Properties ?? {};
  const { codeKey, ...spec } = decode(
    { Type: functionType, Properties: { ...properties, Environment: overridden(properties, environment) } },
    id,
    references,
    functionSchema,
  );
  const codeDirectory = assembly.assets.get(codeKey);
  if (codeDirectory === undefined) {
    throw new Error(`${id}: expected the function's code as a directory of the assembly, found ${codeKey}.`);
  }
  return { id, name: nameOf(assembly, id, "FunctionName"), codeDirectory, ...spec };
}

/** Before anything is resolved, so that an override can stand for what has no value on this machine. */
function overridden(
  properties: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string>>,
): unknown {
  const { Environment } = properties;
  const own = z.object({ Variables: z.record(z.string(), z.unknown()) }).safeParse(Environment);
  return { Variables: { ...(own.success ? own.data.Variables : {}), ...environment } };
}

function decode<T>(resource: Resource, id: string, references: References, schema: z.ZodType<T>): T {
  const properties = resolve(resource.Properties ?? {}, references);
  const parsed = schema.safeParse(properties);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => {
    const found = path.reduce((value: unknown, key) => Object(value)[key], properties);
    return `\n  - ${path.join(".")}: ${found instanceof Unresolved ? found.message : message}`;
  });
  throw new Error(`${id} (${resource.Type}) cannot be run on this machine:${faults.join("")}`);
}

function idOf(ids: ReadonlyMap<string, string>, target: string, where: string): string {
  const id = ids.get(target);
  if (id === undefined) {
    throw new Error(`${where}: expected the ARN of a queue or function of this stack, found ${target}.`);
  }
  return id;
}
