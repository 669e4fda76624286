/** What a stack has for an agent that is not compiled in: one variable, one permission, and the function where it makes one. */
import { describe, expect, test } from "vitest";
import { rolloutVariables } from "../../functions/contract/environment-names.ts";
import { engineUrl, resource, synthesise } from "./synthesise.ts";

const arn = "arn:aws:lambda:eu-west-1:111122223333:function:my-agent";
const runtime = "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/my_agent-AbCdEf1234";
const secret = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:agent-AbCdEf";

/** Of the rollout function's role: what no compiled-in agent needs. */
function statements(agent: unknown) {
  const of = (context: Record<string, unknown>) => {
    const text = JSON.stringify(synthesise({ engineUrl, ...context }).toJSON());
    const template = JSON.parse(text) as { Resources: Record<string, { Type: string; Properties: never }> };
    const policies = Object.entries(template.Resources).filter(
      ([id, { Type }]) => Type === "AWS::IAM::Policy" && id.startsWith("FleetmainRollout"),
    );
    return policies.flatMap(
      ([, { Properties }]) =>
        (Properties as { PolicyDocument: { Statement: unknown[] } }).PolicyDocument.Statement,
    );
  };
  const usual = of({}).map((one) => JSON.stringify(one));
  return of({ agent }).filter((one) => !usual.includes(JSON.stringify(one)));
}

describe("an agent elsewhere", () => {
  test.each([
    [{ http: { url: "http://a.example" } }, { kind: "http", urls: ["http://a.example"] }],
    [
      { http: { url: ["https://a.example", "https://b.example"], tokenSecretArn: secret, header: "X-Key" } },
      { kind: "http", urls: ["https://a.example", "https://b.example"], secretArn: secret, header: "X-Key" },
    ],
    [{ lambda: { arn } }, { kind: "lambda", functionName: arn }],
    [
      { agentcore: { arn: runtime, qualifier: "live" } },
      { kind: "agentcore", arn: runtime, qualifier: "live" },
    ],
  ])("%j is named to the rollout function", (agent, variable) => {
    const template = synthesise({ engineUrl, agent });
    const { Properties } = resource(template, "AWS::Lambda::Function", "FleetmainRollout");
    const { Variables: variables } = Properties["Environment"] as { Variables: Record<string, string> };
    expect(JSON.parse(variables[rolloutVariables.agent] ?? "")).toEqual(variable);
  });

  test.each([
    [{ http: { url: "http://a.example" } }, []],
    [
      { http: { url: "https://a.example", tokenSecretArn: secret } },
      [{ Action: "secretsmanager:GetSecretValue", Effect: "Allow", Resource: secret }],
    ],
    [{ lambda: { arn } }, [{ Action: "lambda:InvokeFunction", Effect: "Allow", Resource: arn }]],
    [
      { agentcore: { arn: runtime } },
      [
        {
          Action: ["bedrock-agentcore:InvokeAgentRuntime", "bedrock-agentcore:StopRuntimeSession"],
          Effect: "Allow",
          Resource: [runtime, `${runtime}/runtime-endpoint/DEFAULT`],
        },
      ],
    ],
  ])("%j may be called, and nothing else", (agent, expected) => {
    expect(statements(agent)).toEqual(expected);
  });

  test("in a folder becomes a function with a role of its own", () => {
    const agent = { lambda: { folder: "agents/python", handler: "my_agent.handler", memoryMb: 2048 } };
    const template = synthesise({ engineUrl, agent, timeoutSeconds: 600 });
    expect(resource(template, "AWS::Lambda::Function", "FleetmainAgent").Properties).toMatchObject({
      Handler: "my_agent.handler",
      Runtime: "python3.13",
      MemorySize: 2048,
      Timeout: 600,
    });
    expect(statements(agent)).toMatchObject([{ Action: "lambda:InvokeFunction", Effect: "Allow" }]);
  });

  test("in an image becomes one, too", () => {
    const imageUri = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/my/agent:v1";
    const template = synthesise({ engineUrl, agent: { lambda: { imageUri } } });
    const { Properties } = resource(template, "AWS::Lambda::Function", "FleetmainAgent");
    expect(Properties).toMatchObject({ PackageType: "Image", MemorySize: 512, Timeout: 900 });
    expect(JSON.stringify(Properties)).toContain("/my/agent:v1");
  });
});
