/** Does to its thread or process what its task's `env_type` says. */
import { execSync } from "node:child_process";
import { exit } from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import type { Agent } from "../../../../functions/contract/agent.ts";

const deeds: Record<string, () => unknown> = {
  exit: () => process.exit(3),
  "exit by its name": () => exit(4),
  abort: () => process.abort(),
  "kill itself": () => process.kill(process.pid, "SIGKILL"),
  "throw later": async () => {
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 1);
    await delay(60_000);
  },
  "reject later": async () => {
    for (let count = 0; count < 100; count += 1) void Promise.reject(new Error("nobody handles this"));
    await delay(20);
  },
  spin: () => spinForever(),
  // In native code, where no debugger interrupts it.
  "wait for good": () => execSync("sleep 60"),
  bloat: async () => {
    const hoard: number[][] = [];
    for (;;) {
      hoard.push(Array.from({ length: 500_000 }, Math.random));
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
  // As a fault in an addon would.
  crash: () => execSync(`kill -SEGV ${process.pid}`),
  "take its time": () => delay(60_000),
};

function spinForever(): never {
  for (;;) JSON.stringify({ spin: true });
}

const agent: Agent = async (task, episode) => {
  episode.log("begun");
  await delay(20);
  if (task.env_type === "ask") await episode.chat({ messages: [{ role: "user", content: "2+2?" }] });
  await deeds[task.env_type]?.();
  return {
    reward: 1,
    metadata: { env: { ...process.env }, thread: task.env_type, deadline: episode.deadline },
  };
};
export default agent;
