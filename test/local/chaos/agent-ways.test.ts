/** Chaos with agents that are somewhere else: which faults can strike them, and the agent behind the contract. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerTo } from "../../../local/chaos/agent-answer.ts";
import { AgentService, freePort, kindsFor } from "../../../local/chaos/agent-ways.ts";
import { allKinds } from "../../../local/chaos/kinds.ts";

/** An invocation whose agent does this and calls no model. */
function invocation(always: "no-call" | "throw") {
  const task = { task_id: "t", main_query: "1 + 1", metadata: { rollout: "r", seed: 1, rates: [], always } };
  const sortie = {
    version: 1,
    attempt: "i.1",
    rollout: "r",
    deadline: Date.now() / 1000 + 60,
    episode_uuid: "e",
    global_step: 1,
    episode_type: "train",
  };
  const given = {
    base_url: "http://127.0.0.1:1/v1",
    api_key: "k",
    model_id: "m",
    input_id: "t",
    sampling_params: {},
  };
  return { prompt: "1 + 1", task, ...task.metadata, _rollout: { ...given, sortie } };
}

test("each way has its own faults, and none that would only harm neighbours", () => {
  const none = allKinds.filter((kind) => !kindsFor("module", allKinds).includes(kind));
  expect(none).toEqual(["agent-service-killed", "agent-service-hang", "agent-function-killed"]);
  const [http, lambda] = [kindsFor("http", allKinds), kindsFor("lambda", allKinds)];
  expect(http).toContain("agent-service-killed");
  expect(lambda).toContain("agent-function-killed");
  for (const kinds of [http, lambda]) {
    expect(kinds).toEqual(expect.arrayContaining(["agent-throw", "kill-random", "engine-crash"]));
    expect(kinds).not.toContain("agent-exit");
  }
});

test("the chaos agent answers by the contract, with a reward or its error", async () => {
  const { signal } = new AbortController();
  expect(await answerTo(invocation("no-call"), signal)).toMatchObject({
    reward: expect.any(Number),
    metadata: { rollout: "r", ailment: "no-call" },
  });
  expect(await answerTo(invocation("throw"), signal)).toEqual({
    status_code: 500,
    error: expect.stringContaining("injected: the agent throws"),
  });
});

describe("the service", () => {
  let service: AgentService;
  let url = "";
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}/invocations`;
    service = new AgentService(port);
    await service.start();
  });
  afterAll(() => service.close());
  const ask = async () => {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(invocation("no-call")) });
    return ((await answer.json()) as { metadata?: { rollout?: string } }).metadata?.rollout;
  };

  test("answers, and again after it was killed", { timeout: 60_000 }, async () => {
    expect(await ask()).toBe("r");
    service.kill();
    await expect.poll(() => ask().catch(() => "down"), { timeout: 50_000 }).toBe("down");
    await expect.poll(() => ask().catch(() => "down"), { timeout: 50_000 }).toBe("r");
  });
});
