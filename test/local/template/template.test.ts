import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duration, aws_sns as sns } from "aws-cdk-lib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTemplate, type Template, type Wiring, wire } from "../../../local/template/template.ts";
import { type Demo, type DemoOptions, synthesise } from "../helpers/demo-app.ts";

let directory = "";
let demo: Demo;
let template: Template;
let queueUrls: ReadonlyMap<string, string>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "template-"));
  await mkdir(join(directory, "code"));
  await writeFile(join(directory, "code", "index.mjs"), "export const worker = () => 1;");
  demo = synthesise({
    directory,
    code: join(directory, "code"),
    environment: (stack) => ({
      PLACE: `${stack.region}/${stack.account}/${stack.partition}`,
      SECRET_TOPIC: new sns.Topic(stack, "Topic").topicArn,
    }),
  });
  template = await readTemplate(demo.assemblyDir);
  queueUrls = new Map([
    [demo.queue, "http://127.0.0.1:1/000000000000/q"],
    [demo.deadLetters, "http://127.0.0.1:1/000000000000/d"],
  ]);
}, 30_000);
afterAll(() => rm(directory, { recursive: true }));

const environment = { SECRET_TOPIC: "local" };

describe("a template's resources", () => {
  it("queues have their redrive, visibility and retention, or CloudFormation's defaults", () => {
    const defaults = { delaySeconds: 0, waitSeconds: 0 };
    expect(Object.fromEntries(template.queues)).toEqual({
      [demo.queue]: {
        ...defaults,
        name: `Demo-${demo.queue}`,
        visibilitySeconds: 60,
        retentionSeconds: 345_600,
        redrive: {
          targetArn: `arn:aws:sqs:us-east-1:000000000000:Demo-${demo.deadLetters}`,
          maxReceiveCount: 2,
        },
      },
      [demo.deadLetters]: {
        ...defaults,
        name: `Demo-${demo.deadLetters}`,
        visibilitySeconds: 30,
        retentionSeconds: 1_209_600,
        redrive: undefined,
      },
    });
  });

  it("names that CloudFormation would make end in the deployment's own random part", async () => {
    const { queues, tables } = await readTemplate(demo.assemblyDir, "4F2A");
    const names = [queues.get(demo.queue)?.name, tables.get(demo.table)?.name];
    expect(names).toEqual([`Demo-${demo.queue}-4F2A`, `Demo-${demo.table}-4F2A`]);
  });

  it("tables have their keys and indexes", () => {
    const key = (AttributeName: string, KeyType: string) => ({ AttributeName, KeyType });
    expect(Object.fromEntries(template.tables)).toEqual({
      [demo.table]: {
        name: `Demo-${demo.table}`,
        keys: [key("pk", "HASH"), key("sk", "RANGE")],
        attributes: [
          { AttributeName: "pk", AttributeType: "S" },
          { AttributeName: "sk", AttributeType: "S" },
          { AttributeName: "open", AttributeType: "S" },
          { AttributeName: "expires", AttributeType: "N" },
        ],
        indexes: [
          {
            IndexName: "open",
            KeySchema: [key("open", "HASH"), key("expires", "RANGE")],
            Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["state"] },
          },
        ],
      },
    });
  });

  it("functions have their code, limits and environment with this machine's values", async () => {
    const { functions } = wire(template, { queueUrls, environment });
    const worker = functions.get(demo.worker);
    expect(worker).toEqual({
      id: demo.worker,
      name: `Demo-${demo.worker}`,
      runtime: "nodejs24.x",
      handler: "index.worker",
      codeDirectory: expect.stringContaining(join(demo.assemblyDir, "asset.")),
      memoryMb: 512,
      timeoutMs: 30_000,
      reservedConcurrency: undefined,
      logFormat: "JSON",
      logLevel: "WARN",
      environment: {
        TABLE: `Demo-${demo.table}`,
        QUEUE: "http://127.0.0.1:1/000000000000/q",
        PLACE: "us-east-1/000000000000/aws",
        SECRET_TOPIC: "local",
      },
    });
    expect(await readFile(join(worker?.codeDirectory ?? "", "index.mjs"), "utf8")).toContain("worker");
    expect(functions.get(demo.ticker)).toMatchObject({
      reservedConcurrency: 1,
      memoryMb: 128,
      timeoutMs: 3_000,
    });
    expect(functions.size).toBe(2);
  });

  it("event sources and schedules name what they read and invoke", () => {
    const { eventSources, schedules } = wire(template, { queueUrls, environment });
    expect(eventSources).toEqual([
      {
        id: expect.stringContaining("SqsEventSource"),
        queue: demo.queue,
        function: demo.worker,
        enabled: true,
        batchSize: 100,
        windowSeconds: 1,
        maximumConcurrency: 4,
        partialResponses: true,
      },
    ]);
    expect(schedules).toEqual([
      {
        id: expect.stringContaining("Tick"),
        function: demo.ticker,
        enabled: true,
        periodMs: 120_000,
        input: '{"kind":"tick"}',
      },
    ]);
  });

  it("a variable that has no value here is named, with what it refers to", () => {
    expect(() => wire(template, { queueUrls })).toThrow(
      /Worker.*cannot be run on this machine:\n {2}- Environment.Variables.SECRET_TOPIC: expected a value that exists.*found Ref Topic/,
    );
  });
});

describe("an event source that Lambda would refuse", () => {
  async function wired(name: string, options: Partial<DemoOptions>): Promise<Wiring> {
    const other = join(directory, name);
    const { assemblyDir, queue, deadLetters } = synthesise({
      directory: other,
      code: join(directory, "code"),
      ...options,
    });
    const urls = new Map([queue, deadLetters].map((id) => [id, "http://127.0.0.1:1/000000000000/q"]));
    return wire(await readTemplate(assemblyDir), { queueUrls: urls });
  }

  it("because a message would be visible again before the function's timeout", async () => {
    await expect(wired("visibility", { visibility: Duration.seconds(29) })).rejects.toThrow(
      /expected the visibility timeout of Queue\w+ to be at least the timeout of Worker\w+, 30 s, found 29 s/,
    );
  });

  it("because a large batch has no window", async () => {
    const eventSource = { batchSize: 11, maxBatchingWindow: Duration.seconds(0) };
    await expect(wired("window", { eventSource })).rejects.toThrow(
      "MaximumBatchingWindowInSeconds: expected at least 1 s with a batch size above 10, found 0",
    );
  });
});

describe("an assembly that cannot be read", () => {
  it("is missed where there is none", async () => {
    await expect(readTemplate(join(directory, "nowhere"))).rejects.toThrow("Run cdk synth first");
  });

  it.each([
    [0, "found none"],
    [2, "found Stack0, Stack1"],
  ])("is refused with %i stacks", async (count, found) => {
    const stacks = Array.from({ length: count }, (_, index) => [
      `Stack${index}`,
      { type: "aws:cloudformation:stack" },
    ]);
    const other = join(directory, `stacks-${count}`);
    await mkdir(other);
    await writeFile(join(other, "manifest.json"), JSON.stringify({ artifacts: Object.fromEntries(stacks) }));
    await expect(readTemplate(other)).rejects.toThrow(`expected one stack in the cloud assembly, ${found}`);
  });
});
