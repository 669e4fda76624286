import { afterAll, beforeAll, expect, test } from "vitest";
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { sortie } from "./here.ts";

let deployed: Deployed;
let now = 1_777_888_800_000;
const here = async (...args: string[]) =>
  await sortie(args, { environment: deployed.environment, now: () => now });
const paused = async (fleet: string) => (await createGateStore(deployed.table).read(fleet)).paused;

beforeAll(async () => {
  deployed = await startDeployment(["main", "math"]);
});
afterAll(async () => await deployed[Symbol.asyncDispose]());

test("pauses one fleet with its reason, and lets it go on", async () => {
  const ran = await here("pause", "--fleet", "math", "--why", "a new\u0007 judge");
  expect(ran).toMatchObject({ code: 0, err: "", out: "Fleet math is paused: a new\ufffd judge\n" });
  expect(await paused("math")).toEqual({ at: now, why: "a new\u0007 judge" });
  expect(await paused("main")).toBeUndefined();
  now += 125_000;
  expect((await here("resume", "--fleet", "math")).out).toBe("Fleet math goes on, after 2 min 5 s.\n");
  expect(await paused("math")).toBeUndefined();
});

test("pauses and resumes all fleets where none is named", async () => {
  const ran = await here("pause", "--json");
  expect(ran.json()).toEqual([
    { fleet: "main", paused: true, why: expect.stringMatching(/^paused by \S+, who gave no reason$/) },
    { fleet: "math", paused: true, why: expect.stringMatching(/^paused by/) },
  ]);
  await here("resume");
  expect(await paused("main")).toBeUndefined();
  expect(await paused("math")).toBeUndefined();
});

test("resuming a fleet that is not paused says so, and keeps its circuit", async () => {
  const gates = createGateStore(deployed.table);
  await gates.trip("main", now, now + 15_000);
  expect((await here("resume", "--fleet", "main")).out).toBe(
    `Fleet main was not paused.\nFleet main slows down since ${new Date(now).toISOString()}, because attempts failed one after another.\n`,
  );
  expect((await gates.read("main")).tripped_at).toBe(now);
});

test("resuming a fleet that its budget paused says that it comes back", async () => {
  await createGateStore(deployed.table).setPaused("math", { at: now, why: "spent", by: "budget" });
  expect((await here("resume", "--fleet", "math")).out).toContain(
    "Its budget had paused it, and does so again",
  );
});

test("a fleet that is not there is named", async () => {
  const { code, err } = await here("pause", "--fleet", "maths");
  expect(code).toBe(1);
  expect(err).toBe('sortie: expected one of the fleets (main, math), found "maths"\n');
});

test("with the table alone, the fleet is taken at its word", async () => {
  await here("pause", "--table", deployed.table.table, "--fleet", "lone", "--why", "x");
  expect(await paused("lone")).toEqual({ at: now, why: "x" });
});
