/** Agents of the settings that are in an account: what `npm start` says of them. */
import { expect, test } from "vitest";
import { elsewhereFaults } from "../../../local/job/agents-elsewhere.ts";

const agentcore = { arn: "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/my_agent-AbCdEf1234" };
const asked = (runtime?: string) => ({ agent: undefined, ...(runtime !== undefined && { runtime }) });

test("what runs on this machine has no fault", () => {
  for (const agent of ["math", { module: "math" }, { http: { url: "http://127.0.0.1:1" } }])
    expect(elsewhereFaults({ agent }, asked())).toEqual([]);
  expect(elsewhereFaults({ agent: { lambda: { folder: ".", handler: "a.b" } } }, asked())).toEqual([]);
  expect(elsewhereFaults({ fleets: { a: { agent: { agentcore } } } }, asked("agent.py"))).toEqual([]);
});

test("what is in an account is named with what to do, for each fleet", () => {
  const settings = {
    agent: { lambda: { arn: "arn:aws:lambda:eu-west-1:111122223333:function:mine" } },
    fleets: {
      runtime: { agent: { agentcore } },
      image: { agent: { lambda: { imageUri: "x" } } },
      math: { agent: "math" },
    },
  };
  expect(elsewhereFaults(settings, asked())).toEqual([
    expect.stringMatching(/^agent\.lambda\.arn: .* run its code here by \{"lambda": \{"folder"/),
    expect.stringMatching(/^fleets\.runtime\.agent\.agentcore: .* by --runtime/),
    expect.stringMatching(/^fleets\.image\.agent\.lambda\.imageUri: /),
  ]);
});

test("--runtime without a runtime to stand for is told", () => {
  expect(elsewhereFaults({ agent: "math" }, asked("agent.py"))).toEqual([
    "--runtime agent.py: this stands for a runtime of AgentCore, and no fleet of the settings has one",
  ]);
});
