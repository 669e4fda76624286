import { Aws, Token } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { EngineLifecycle, RolloutFleet, SettingsError, StateTable } from "../../lib/index.ts";
import { engineUrl, otherStack, plain, resource } from "./synthesise.ts";

// The first synthesis of a process loads much of the CDK.
describe("from another CDK app", { timeout: 60_000 }, () => {
  test("a fleet and its engine take two lines", () => {
    const stack = otherStack();
    const fleet = new RolloutFleet(stack, "Fleet", { engineUrl });
    new EngineLifecycle(stack, "Engine", { engineUrl, state: fleet.state, fleets: [fleet] });

    const template = Template.fromStack(stack);
    template.resourceCountIs("AWS::DynamoDB::GlobalTable", 1);
    template.resourceCountIs("AWS::SQS::Queue", 2);
    template.resourceCountIs("AWS::Lambda::Function", 2);
    template.resourceCountIs("AWS::Scheduler::Schedule", 1);
    expect(fleet.settings).toMatchObject({ agent: "math", timeoutSeconds: 900 });
  });

  test("fleets share a table where they are given one", () => {
    const stack = otherStack();
    const state = new StateTable(stack, "State", { retain: false });
    new RolloutFleet(stack, "A", { engineUrl, state, fleetName: "a", memoryMb: 256 });
    new RolloutFleet(stack, "B", { engineUrl, state, fleetName: "b", memoryMb: 1024 });

    const template = Template.fromStack(stack);
    template.resourceCountIs("AWS::DynamoDB::GlobalTable", 1);
    const memory = (id: string) => resource(template, "AWS::Lambda::Function", id).Properties["MemorySize"];
    expect([memory("ARollout"), memory("BRollout")]).toEqual([256, 1024]);
  });

  test("an address that is known only at deployment is taken as it is", () => {
    const stack = otherStack();
    new RolloutFleet(stack, "Fleet", { engineUrl: `http://engine.${Aws.URL_SUFFIX}:10086` });
    const rollout = resource(Template.fromStack(stack), "AWS::Lambda::Function");
    expect(plain(rollout.Properties["Environment"])).toMatchObject({
      Variables: { SORTIE_ENGINE_URL: "http://engine.<AWS::URLSuffix>:10086" },
    });
  });

  test("the resources underneath can be reached and changed", () => {
    const stack = otherStack();
    const fleet = new RolloutFleet(stack, "Fleet", { engineUrl });
    const lifecycle = new EngineLifecycle(stack, "Engine", {
      engineUrl,
      state: fleet.state,
      fleets: [fleet],
    });
    lifecycle.lifecycle.function.addEnvironment("NODE_ENV", "production");
    const names = [
      fleet.queue.queueUrl,
      fleet.deadLetterQueue.queueUrl,
      fleet.state.table.tableName,
      fleet.rollout.function.functionName,
      fleet.rollout.logGroup.logGroupName,
      fleet.eventSource.eventSourceMappingId,
      lifecycle.schedule.scheduleName,
    ];
    expect(names.map((name) => Token.isUnresolved(name))).toEqual(names.map(() => true));
    const { Environment } = resource(Template.fromStack(stack), "AWS::Lambda::Function", "EngineLifecycle")
      .Properties as { Environment: unknown };
    expect(Environment).toMatchObject({ Variables: { NODE_ENV: "production" } });
  });
});

describe("props are checked as settings are", () => {
  test("every fault at once", () => {
    const create = () =>
      new RolloutFleet(otherStack(), "Fleet", {
        engineUrl: "engine",
        fleetName: "Main",
        timeoutSeconds: 901,
        maxReceiveCount: 0,
      });
    expect(create).toThrow(SettingsError);
    expect(create).toThrow(/timeoutSeconds.*\n.*maxReceiveCount.*\n.*engines\.main\.url.*\n.*fleets\.Main/);
  });

  test("a fleet of another engine or another table is no fleet of this lifecycle", () => {
    const stack = otherStack();
    const fleet = new RolloutFleet(stack, "Fleet", { engineUrl, engine: "a" });
    const state = new StateTable(stack, "Elsewhere");
    const create = () =>
      new EngineLifecycle(stack, "Engine", { engine: "b", engineUrl, state, fleets: [fleet] });
    expect(create).toThrow(
      "The settings need a change:\n" +
        "  - fleet main: expected engine b, found a: give both the same\n" +
        "  - fleet main: expected the table of this engine, found another: pass fleet.state",
    );
  });
});
