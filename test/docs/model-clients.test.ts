/** The page's agents with clients of their own, as they are deployed, against an engine: each call is seen and counted. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { AgentHosts } from "../../functions/adapters/agents/index.ts";
import { createEngine } from "../../functions/adapters/engine/index.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { entries } from "../../functions/entries.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { bundle } from "../../local/bundle.ts";
import { type EngineHandle, startEngine } from "../../local/engine/start.ts";

let folder = "";
let engine: EngineHandle;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sortie-clients-"));
  engine = await startEngine({
    clock,
    seed: 1,
    model: () => ({
      message: { role: "assistant", content: "yes" },
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
    config: { engineVersion: "newer", bootSeconds: 0, registerSeconds: 0, modelSeconds: () => 0 },
  });
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

async function hostsOf(sample: string): Promise<AgentHosts> {
  const outfile = join(folder, `${sample}.mjs`);
  const agent = join(import.meta.dirname, "../agents/samples", `${sample}.ts`);
  await bundle(entries.rollout, outfile, { agent });
  const hosts = new AgentHosts({
    entry: outfile,
    hosted: { engineUrl: engine.url, guarded: false },
    environment: {},
    memoryMb: 384,
    blockSeconds: 20,
    log: () => undefined,
  });
  onTestFinished(() => hosts.close());
  return hosts;
}

test.each([["own-client"], ["openai-client"], ["openai-responses"], ["anthropic-messages"]])(
  "%s",
  async (sample) => {
    const client = createEngine({ url: engine.url, clock });
    await expect.poll(async () => (await client.status()).engine_status).toBe("ENGINE.ROLLING");
    const grant = await client.claim({
      client_uuid: `main/${sample}.1`,
      episode_type: "train",
      discard_episode_timeout: 240,
      throttle_policy: null,
    });
    const hosts = await hostsOf(sample);
    const running = hosts.start({
      rollout: decodeMessage(JSON.stringify({ task_id: "t", main_query: "Is it so?" }), "m"),
      grant,
      signal: new AbortController().signal,
      deadline: Date.now() + 60_000,
      allowUnusualRewards: false,
      alone: false,
      log: () => undefined,
    });
    expect(await running.outcome).toMatchObject({ kind: "output", output: { reward: 1 } });
    expect(running.calls()).toBe(1);
  },
);
