import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const tests = fileURLToPath(new URL("python/test_sortie_agent.py", import.meta.url));

test("the Python kit passes its own tests", () => {
  const { status, stderr } = spawnSync("python3", ["-W", "ignore", tests], {
    encoding: "utf8",
    timeout: 120_000,
  });
  expect({ status, last: stderr.trim().split("\n").at(-1) }).toEqual({ status: 0, last: "OK" });
  expect(Number(/Ran (\d+) tests/.exec(stderr)?.[1])).toBeGreaterThan(20);
}, 120_000);
