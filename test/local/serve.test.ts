import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { localRunSchema } from "../../cli/local-run.ts";
import { sortie } from "../cli/command.ts";
import { npmStart, type Started } from "../support/start-command.ts";

const folder = mkdtempSync(join(tmpdir(), "serve-"));
const SORTIE_LOCAL_RUN = join(folder, "run.json");
beforeAll(() => void vi.stubEnv("SORTIE_LOCAL_RUN", SORTIE_LOCAL_RUN));
afterAll(() => rmSync(folder, { recursive: true }));

const local = async (...args: string[]) => await sortie([...args, "--local"], { SORTIE_LOCAL_RUN });
const json = async (...args: string[]) => JSON.parse((await local(...args, "--json")).out);

async function untilServed(started: Started): Promise<void> {
  await expect
    .poll(started.errors, { timeout: 60_000 })
    .toContain("Sortie runs on this machine, until Ctrl-C.");
}

test("npm start -- --serve runs what sortie … --local works with, and takes everything away at its end", async () => {
  const started = npmStart("--serve", "--offline", "--rollouts", "8", "--repeats", "2");
  await untilServed(started);
  const run = localRunSchema.parse(JSON.parse(readFileSync(SORTIE_LOCAL_RUN, "utf8")));
  expect(run.fleets.map(({ name }) => name)).toEqual(["main"]);

  const pushed = await json("push", join(folder, "tasks.jsonl"), "--repeats", "2", "--run", "served");
  expect(pushed).toMatchObject({ tasks: 4, pushed: 8 });
  await local("pause", "--why", "a test");
  await local("resume");
  const stillOffline = await json("stats");
  expect(stillOffline).toMatchObject({ status: { engine_status: "ENGINE.OFFLINE" } });

  const config = join(folder, "train.yaml");
  writeFileSync(config, "ajet:\n  backbone: verl\n");
  const up = await local("engine", "start", "--config", config, "--wait", "--timeout", "60s");
  expect(up).toMatchObject({ code: 0 });
  const ended = async () => (await json("episodes", "--state", "ended")).length;
  await expect.poll(ended, { timeout: 60_000, interval: 1000 }).toBe(8);
  const again = await json("push", join(folder, "tasks.jsonl"), "--repeats", "2", "--run", "served");
  expect(again).toMatchObject({ pushed: 0, skipped: { ended: 8 } });
  expect((await local("doctor")).code).toBe(0);
  const down = await local("engine", "stop", "--wait", "--timeout", "60s");
  expect(down).toMatchObject({ code: 0 });

  started.interrupt();
  expect((await started.done).code).toBe(0);
  expect(existsSync(SORTIE_LOCAL_RUN)).toBe(false);
  expect(started.leftovers()).toEqual([]);
  expect((await local("stats")).err).toContain("found none running");
}, 180_000);
