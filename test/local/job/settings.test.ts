/** What of cdk.json a local run takes over. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import cdkJson from "../../../cdk.json" with { type: "json" };
import { decodeSettings } from "../../../lib/settings.ts";
import { readOptions } from "../../../local/job/options.ts";
import { settings, settingsNote, type Written, writtenSettings } from "../../../local/job/settings.ts";

const url = "http://127.0.0.1:4711";
const options = (...words: string[]) => readOptions(["node", "start.ts", ...words]);
/** As the CDK app reads them. */
const decoded = (written: Written, ...words: string[]) =>
  decodeSettings(settings(options(...words), url, written));

test("without settings of its own it runs the math agent with few processes", () => {
  const { engines, fleets, deployment } = decoded({});
  expect(engines).toEqual({ main: { url } });
  expect(fleets["main"]).toMatchObject({ agent: "math", maxEpisodes: 30, episodesPerInvocation: 10 });
  expect(deployment.retain).toBe(false);
});

test("budgets, deadlines and stalls are those of cdk.json", () => {
  const written = {
    engineUrl: "http://engine.internal:10086",
    agent: "calculator",
    maxEpisodes: 12,
    budget: { usdPerDay: 0.5 },
    timeoutSeconds: 90,
    minEpisodeSeconds: 5,
    discardEpisodeTimeoutSeconds: 20,
    stalledMinutes: 5,
    restartWhenStalled: true,
    retain: true,
    "@aws-cdk/core:checkSecretUsage": true,
  };
  const { engines, fleets, deployment } = decoded(written);
  expect(engines).toEqual({ main: { url } });
  expect(fleets["main"]).toMatchObject({
    agent: "calculator",
    maxEpisodes: 12,
    budget: { usdPerDay: 0.5 },
    timeoutSeconds: 90,
    minEpisodeSeconds: 5,
    discardEpisodeTimeoutSeconds: 20,
  });
  expect(deployment).toMatchObject({ stalledMinutes: 5, restartWhenStalled: true, retain: false });
  expect(settingsNote(written)).toMatch(/^from cdk\.json: agent, maxEpisodes, budget, .*restartWhenStalled/);
});

test("what exists only in an account is left out, and said", () => {
  const written = { network: { vpcId: "vpc-1" }, alarmEmail: "ops@example.com", maxAttempts: 2 };
  expect(decoded(written)).not.toHaveProperty("network");
  expect(decoded(written)).not.toHaveProperty("alarmEmail");
  expect(settingsNote(written)).toBe("from cdk.json: maxAttempts; only in an account: network, alarmEmail");
  expect(settingsNote({ engineUrl: "http://e:1", "@aws-cdk/x": true })).toBeUndefined();
});

test("every engine is the one of the run, and fleets keep their own settings", () => {
  const arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:t-AbCdEf";
  const written = {
    engines: { a: { url: "https://a.example", tokenSecretArn: arn }, b: { url: "http://b.example" } },
    fleets: { one: { engine: "a", maxAttempts: 7 }, two: { engine: "b", agent: "calculator" } },
  };
  const { engines, fleets } = decoded(written);
  expect(engines).toEqual({ a: { url }, b: { url } });
  expect(fleets).toMatchObject({
    one: { engine: "a", maxAttempts: 7, agent: "math" },
    two: { engine: "b", agent: "calculator" },
  });
  expect(decoded(written, "--agent", "math").fleets["two"]?.agent).toBe("math");
});

test("--agent is every fleet's, also one whose name is a shipped agent's", () => {
  const agents = (...words: string[]) =>
    Object.values(decoded({}, "--fleets", "math=0.4,calculator=0.3,code=0.3", ...words).fleets).map(
      ({ agent }) => agent,
    );
  expect(agents()).toEqual(["math", "calculator", "math"]);
  expect(agents("--agent", "calculator")).toEqual(["calculator", "calculator", "calculator"]);
});

test("a file that is no cdk.json is refused by its name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sortie-settings-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = (text: string) => {
    const path = join(folder, "settings.json");
    writeFileSync(path, text);
    return path;
  };
  expect(await writtenSettings(file('{"app": "x", "context": {"maxEpisodes": 3}}'))).toEqual({
    maxEpisodes: 3,
  });
  expect(await writtenSettings(file("{}"))).toEqual({});
  await expect(writtenSettings(file("maxEpisodes: 3"))).rejects.toThrow(/settings\.json: expected JSON/);
  await expect(writtenSettings(join(folder, "none.json"))).rejects.toThrow(/none\.json: .+ENOENT/);
});

test("the project's own cdk.json is what is read without a name", async () => {
  expect(await writtenSettings()).toEqual(cdkJson.context);
});
