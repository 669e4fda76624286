import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { EventSource } from "./event-source/event-source.ts";
import { Schedule } from "./event-source/schedule.ts";
import { LambdaFunction } from "./lambda/function.ts";
import type { LogEntry, LogSink } from "./lambda/invocation.ts";
import { startInvokeApi } from "./lambda/invoke-api.ts";
import { isPython, lambdaPython } from "./lambda/python.ts";
import { type LogFile, openLogFile } from "./log-file.ts";
import { arn } from "./region.ts";
import { uniquePart } from "./servers/keep-name.ts";
import { type Servers, startServers } from "./servers/servers.ts";
import type { EventSourceSpec, ScheduleSpec } from "./template/specs.ts";
import { readTemplate, type Template, type Wiring, wire } from "./template/template.ts";

export interface SystemOptions {
  /** The cloud assembly that `cdk synth` wrote. */
  readonly assemblyDir: string;
  /** Keeps queues and tables here across runs; nothing is kept where it is left out. */
  readonly keepDir?: string | undefined;
  /** Period of every schedule, in s, in place of the template's. */
  readonly tickSeconds?: number | undefined;
  /** Gets the lines of all functions. */
  readonly logFile: string;
  /** Told of each of them as well. */
  readonly onLog?: LogSink | undefined;
  /** Makes the environment in which functions in Python run. Default: python3. */
  readonly python?: string | undefined;
  /** Variables of every function, in place of the template's and of the servers' addresses. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** The template's resources, running on this machine. Keys are logical ids. */
export interface System {
  readonly template: Template;
  readonly wiring: Wiring;
  readonly endpoints: { readonly sqs: string; readonly dynamodb: string };
  readonly sqs: SQSClient;
  readonly dynamodb: DynamoDBClient;
  readonly queueUrls: ReadonlyMap<string, string>;
  readonly tableNames: ReadonlyMap<string, string>;
  readonly functions: ReadonlyMap<string, LambdaFunction>;
  readonly eventSources: ReadonlyMap<string, EventSource>;
  readonly schedules: ReadonlyMap<string, Schedule>;
  /** Stops everything: invocations under way get `graceMs` (none by default) before they are killed. */
  close(graceMs?: number): Promise<void>;
}

/** Runs a synthesised template on this machine: servers, functions, event sources and schedules, started. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const template = await readTemplate(options.assemblyDir, await uniquePart(options.keepDir));
  const servers = await startServers(template, options.keepDir);
  try {
    return await runTemplate(options, template, servers);
  } catch (error) {
    await servers.close();
    throw error;
  }
}

async function runTemplate(options: SystemOptions, template: Template, servers: Servers): Promise<System> {
  const { queueUrls } = servers;
  const invokeApi = await startInvokeApi();
  const environment = {
    ...servers.environment,
    AWS_ENDPOINT_URL_LAMBDA: invokeApi.endpoint,
    ...options.environment,
  };
  const wiring = wire(template, { queueUrls, environment });
  const inPython = [...wiring.functions.values()].some(({ runtime }) => isPython(runtime));
  const python = inPython ? await lambdaPython(options.python ?? "python3") : undefined;
  const log = await openLogFile(options.logFile);
  const told = (entry: LogEntry) => {
    log.write(entry);
    options.onLog?.(entry);
  };
  const functions = byId(
    wiring.functions.values(),
    (spec) => new LambdaFunction({ ...spec, python, log: told }),
  );
  invokeApi.offer(functions.values());
  const eventSources = byId(wiring.eventSources, (spec) =>
    eventSourceOf(spec, template, servers, need(functions, spec.function), log),
  );
  const schedules = byId(wiring.schedules, (spec) =>
    scheduleOf(spec, need(functions, spec.function), options.tickSeconds),
  );
  for (const { id } of wiring.eventSources.filter(isEnabled)) need(eventSources, id).start();
  for (const { id } of wiring.schedules.filter(isEnabled)) need(schedules, id).start();
  const parts = { functions, eventSources, schedules };
  return {
    template,
    wiring,
    endpoints: { sqs: servers.queues.endpoint, dynamodb: servers.tables.endpoint },
    sqs: servers.queues.client,
    dynamodb: servers.tables.client,
    queueUrls,
    tableNames: new Map([...template.tables].map(([id, { name }]) => [id, name])),
    ...parts,
    close: async (graceMs = 0) => {
      await stopAll(parts, graceMs);
      await invokeApi.close();
      await servers.close();
      await log.close();
    },
  };
}

/** Whoever invokes first, then the functions. */
async function stopAll(
  { functions, eventSources, schedules }: Pick<System, "functions" | "eventSources" | "schedules">,
  graceMs: number,
): Promise<void> {
  const invokers = [...schedules.values(), ...eventSources.values()];
  await Promise.all(invokers.map((invoker) => invoker.stop(graceMs)));
  await Promise.all([...functions.values()].map((lambda) => lambda.stop()));
  // An event source has yet to learn what became of the invocations that were just killed.
  await Promise.all(invokers.map((invoker) => invoker.stop(1_000)));
}

function byId<Spec extends { readonly id: string }, T>(
  specs: Iterable<Spec>,
  make: (spec: Spec) => T,
): ReadonlyMap<string, T> {
  return new Map([...specs].map((spec) => [spec.id, make(spec)] as const));
}

function isEnabled({ enabled }: { readonly enabled: boolean }): boolean {
  return enabled;
}

function eventSourceOf(
  spec: EventSourceSpec,
  template: Template,
  servers: Servers,
  target: LambdaFunction,
  log: LogFile,
): EventSource {
  return new EventSource({
    ...spec,
    client: servers.queues.client,
    queueUrl: need(servers.queueUrls, spec.queue),
    queueArn: arn("sqs", need(template.queues, spec.queue).name),
    invoke: (event) => target.invoke(event),
    log: (message) => log.note(spec.id, message),
  });
}

function scheduleOf(spec: ScheduleSpec, target: LambdaFunction, tickSeconds: number | undefined): Schedule {
  return new Schedule({
    name: spec.id,
    periodMs: tickSeconds === undefined ? spec.periodMs : tickSeconds * 1000,
    input: spec.input,
    invoke: (event) => target.invoke(event),
  });
}

function need<T>(map: ReadonlyMap<string, T>, id: string): T {
  const value = map.get(id);
  if (value === undefined) throw new Error(`Expected ${id} among the template's resources, found none.`);
  return value;
}
