/** `npm start` that is stopped, or that cannot go on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { lockDirectory } from "../../local/servers/keep-lock.ts";
import { deadUrl } from "../support/engine-that.ts";
import { isAlive, npmStart } from "../support/start-command.ts";

const timeout = 60_000;

describe("Ctrl-C", () => {
  test.skipIf(process.platform !== "linux")(
    "stops everything that was started, and leaves nothing behind",
    { timeout },
    async () => {
      const started = npmStart("--rollouts", "200");
      // Three processes of the rollout function and one of the lifecycle function.
      const functions = () => started.descendants("aws-lambda-ric");
      await expect.poll(() => functions().length, { timeout: 30_000 }).toBe(4);
      const processes = functions();
      started.interrupt();
      const { code, err } = await started.done;
      expect(code).toBe(1);
      expect(err).toContain("\nstopping everything …\n");
      expect(err).toMatch(/\nstopped: \d+ of 200 rollouts had ended, \d+ were left\n/);
      expect(err).not.toContain("not accounted for");
      expect(processes.filter(isAlive)).toEqual([]);
      expect(started.leftovers()).toEqual([]);
    },
  );

  test("before anything runs is heard as well", { timeout }, async () => {
    const started = npmStart();
    await expect.poll(() => started.leftovers().length, { timeout: 30_000 }).toBeGreaterThan(0);
    started.interrupt();
    const { code, err } = await started.done;
    expect(code).toBe(1);
    expect(err).toMatch(/\nstopping everything …\nstopped by SIGINT\n$/);
    expect(started.leftovers()).toEqual([]);
  });
});

describe("an engine that is not there", () => {
  test("is named after seconds, while the run waits for it until Ctrl-C", { timeout }, async () => {
    const url = await deadUrl();
    const started = npmStart("--engine", url, "--rollouts", "4");
    await expect.poll(() => started.errors(), { timeout: 40_000, interval: 200 }).toContain("Ctrl-C stops.");
    started.interrupt();
    const { code, err } = await started.done;
    expect(code).toBe(1);
    expect(err).toContain(`${url} is no engine that answers, for `);
    expect(err).toContain("is the engine running, is engineUrl right?");
  });
});

describe("a folder to keep state in", () => {
  test("that another run uses is refused in one line", { timeout }, async () => {
    const keep = mkdtempSync(join(tmpdir(), "sortie-keep-"));
    const lock = lockDirectory(keep);
    onTestFinished(() => {
      lock.release();
      rmSync(keep, { recursive: true });
    });
    const { code, out, err } = await npmStart("--keep", keep).done;
    expect({ code, out }).toEqual({ code: 1, out: "" });
    const refusal = `Expected ${keep} to be free, found it in use by another run. Stop that run, or keep this one elsewhere.`;
    expect(err).toBe(`128 rollouts on this machine; the functions are being built …\n${refusal}\n`);
  });
});
