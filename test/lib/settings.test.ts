import { describe, expect, test } from "vitest";
import { SettingsError } from "../../functions/contract/settings-error.ts";
import { decodeSettings } from "../../lib/settings.ts";

const engineUrl = "http://10.0.0.7:10086";

function faultsOf(context: Record<string, unknown>): readonly string[] {
  try {
    decodeSettings(context);
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
  return [];
}

describe("defaults", () => {
  test("an engine's address is enough", () => {
    expect(decodeSettings({ engineUrl })).toEqual({
      stackName: "Sortie",
      engines: { main: { url: engineUrl } },
      fleets: {
        main: {
          engine: "main",
          agent: "math",
          maxEpisodes: 50,
          episodesPerInvocation: 10,
          maxAttempts: 3,
          maxDiscards: 10,
          discardEpisodeTimeoutSeconds: 240,
          timeoutSeconds: 900,
          memoryMb: 512,
          claimWaitSeconds: 120,
          minEpisodeSeconds: 30,
          settleMarginSeconds: 20,
          allowUnusualRewards: false,
          batchWindowSeconds: 0,
          keepPlacesFull: true,
          transcripts: "none",
        },
      },
      deployment: {
        retain: true,
        logRetentionDays: 30,
        snapshotTtlDays: 30,
        transcriptDays: 14,
        rolloutTtlDays: 30,
        scheduleMinutes: 1,
        messageRetentionDays: 14,
        visibilityMarginSeconds: 60,
        maxReceiveCount: 1000,
        maxMessageBytes: 1_048_576,
        tracing: false,
        oldestMessageMinutes: 60,
        noEndedEpisodeMinutes: 30,
        startAttempts: 3,
        startPauseSeconds: 60,
        bootMinutes: 30,
        stalledMinutes: 30,
        restartWhenStalled: false,
      },
      retiredFleets: [],
    });
  });

  test("a fleet's key at the top level is the default of all fleets, and a fleet's own key wins", () => {
    const { fleets } = decodeSettings({
      engineUrl,
      timeoutSeconds: 300,
      memoryMb: 1024,
      fleets: { plain: {}, big: { memoryMb: 2048 } },
    });
    expect(fleets["plain"]).toMatchObject({ timeoutSeconds: 300, memoryMb: 1024 });
    expect(fleets["big"]).toMatchObject({ timeoutSeconds: 300, memoryMb: 2048 });
  });

  test("a fleet without an engine works on the only one", () => {
    const { fleets } = decodeSettings({ engines: { gpu7: { url: engineUrl } } });
    expect(fleets["main"]?.engine).toBe("gpu7");
  });

  test("a throttle's ratio is the reference's 1.5", () => {
    const { fleets } = decodeSettings({ engineUrl, throttle: { batchSize: 8, repeats: 4 } });
    expect(fleets["main"]?.throttle).toEqual({ ratio: 1.5, batchSize: 8, repeats: 4 });
  });
});

describe("from the command line", () => {
  test("numbers, booleans and objects come as text", () => {
    const settings = decodeSettings({
      engineUrl,
      timeoutSeconds: "300",
      retain: "false",
      fleets: '{"hard": {"maxEpisodes": 20}}',
    });
    expect(settings.deployment.retain).toBe(false);
    expect(settings.fleets["hard"]).toMatchObject({ timeoutSeconds: 300, maxEpisodes: 20 });
  });

  test("a number of another kind of text is refused", () => {
    expect(faultsOf({ engineUrl, timeoutSeconds: "5 min" })).toEqual([
      `timeoutSeconds: expected a whole number from 1 to 900 (Lambda's limit), found "5 min"`,
    ]);
  });

  test("JSON that is broken is shown", () => {
    expect(faultsOf({ engineUrl, fleets: "{main: {}}" })).toEqual([
      `fleets: expected an object of fleets by name, found "{main: {}}"`,
    ]);
  });

  test("a stack's name may look like anything but a number", () => {
    expect(decodeSettings({ engineUrl, stackName: "null" }).stackName).toBe("null");
    expect(faultsOf({ engineUrl, stackName: "7" })).toEqual([
      `stackName: expected a letter, then up to 127 letters, digits and hyphens, found "7"`,
    ]);
  });

  test("what the CDK keeps in the context is none of our settings", () => {
    const cdk = {
      "@aws-cdk/core:target-partitions": ["aws"],
      "aws:cdk:enable-path-metadata": true,
      "availability-zones:account=1:region=eu-west-1": ["a"],
      "acknowledged-issue-numbers": [1],
      "cli-telemetry": false,
      "tree-metadata": false,
    };
    expect(faultsOf({ engineUrl, ...cdk })).toEqual([]);
  });
});

describe("faults", () => {
  test("every one is reported at once, those of several keys together included", () => {
    const faults = faultsOf({
      engineUlr: engineUrl,
      memoryMb: 64,
      messageRetentionDays: 15,
      fleets: { main: { maxEpisode: 5, timeoutSeconds: 40 }, "Hard Ones": {} },
    });
    expect(faults).toEqual([
      `memoryMb: expected a whole number from 128 to 10240 (Lambda's limits), found 64`,
      `messageRetentionDays: expected a whole number from 1 to 14 (SQS's limit), found 15`,
      "fleets.main.maxEpisode: there is no such setting; did you mean maxEpisodes?",
      `fleets.Hard Ones: expected a name of 1 to 32 characters from a-z, 0-9 and -; rename it, found "Hard Ones"`,
      "engineUlr: there is no such setting; did you mean engineUrl?",
      "engineUrl: expected the engine's address, found nothing: add -c engineUrl=http://<host>:10086, " +
        "or write it into cdk.json under context",
      "fleets.main.timeoutSeconds: expected more than minEpisodeSeconds + settleMarginSeconds (50), " +
        "or no episode is ever claimed, found 40: raise it or lower those",
    ]);
  });

  test("the message has one line per fault", () => {
    const decode = () => decodeSettings({ engineUrl, memoryMb: 1, maxAttempts: 0 });
    expect(decode).toThrow(
      "The settings need a change:\n" +
        "  - maxAttempts: expected a whole number from 1 to 100, found 0\n" +
        "  - memoryMb: expected a whole number from 128 to 10240 (Lambda's limits), found 1",
    );
  });

  test("an unknown key without a likeness gets the list", () => {
    expect(faultsOf({ engines: { main: { url: engineUrl, zone: "a" } } })).toEqual([
      "engines.main.zone: there is no such setting; expected one of agreeAfter, caCertificateFile, header, " +
        "tokenSecretArn, tokenSecretKeyArn, url",
    ]);
  });

  test("a deployment's key in a fleet is sent to the top level", () => {
    expect(faultsOf({ engineUrl, fleets: { main: { retain: false } } })).toEqual([
      "fleets.main.retain: this setting is for all fleets: move it to the top level",
    ]);
  });

  test("a throttle needs its batch and repeats", () => {
    expect(faultsOf({ engineUrl, throttle: { ratio: -1, repeats: 4 } })).toEqual([
      "throttle.ratio: expected a number of at least 0, found -1",
      "throttle.batchSize: expected a whole number from 1 to 1000000, found nothing",
    ]);
  });

  test("no fleet at all is none", () => {
    expect(faultsOf({ engineUrl, fleets: {} })).toEqual(["fleets: expected at least one fleet, found {}"]);
  });

  test("only periods that CloudWatch has", () => {
    const [fault] = faultsOf({ engineUrl, logRetentionDays: 31 });
    expect(fault).toMatch(
      /^logRetentionDays: expected one of CloudWatch's periods \(1, 3, 5, .*\), found 31$/,
    );
  });
});

describe("engines", () => {
  test.each(["10.0.0.7:10086", "ftp://10.0.0.7", "engine"])("%s is no address", (url) => {
    expect(faultsOf({ engineUrl: url })).toEqual([
      `engineUrl: expected a URL such as http://10.0.0.7:10086, found "${url}"`,
    ]);
  });

  test("a password in the address is refused and not repeated", () => {
    expect(faultsOf({ engineUrl: "http://me:hunter2@10.0.0.7" })).toEqual([
      "engineUrl: expected a URL without a user name or password, which everybody could read in the template, " +
        `found "http://***@10.0.0.7"`,
    ]);
  });

  test("the short form and the list exclude each other", () => {
    expect(faultsOf({ engineUrl, engines: { main: { url: engineUrl } } })).toEqual([
      "engineUrl: this is short for engines.main.url, and there are engines too: move it there",
    ]);
  });

  test("of several engines a fleet names one that there is", () => {
    const engines = { a: { url: engineUrl }, b: { url: engineUrl } };
    expect(faultsOf({ engines, fleets: { x: { engine: "b" }, y: { engine: "c" }, z: {} } })).toEqual([
      `fleets.y.engine: expected one of the engines (a, b), found "c"`,
      `fleets.z.engine: expected one of the engines (a, b), found "main"`,
    ]);
  });
});

describe("limits", () => {
  test("more than 1000 invocations at once", () => {
    expect(faultsOf({ engineUrl, maxEpisodes: 20_001 })).toEqual([
      "maxEpisodes: 20001 at 10 per invocation need 2001 invocations at once, and an event source has 1000 at most: " +
        "raise episodesPerInvocation to 21 or lower maxEpisodes to 10000",
    ]);
  });

  test("a batch above 10 needs a window", () => {
    expect(faultsOf({ engineUrl, episodesPerInvocation: 25 })).toEqual([
      "batchWindowSeconds: expected at least 1, because a batch of 25 is larger than 10, found 0: " +
        "set it to 1 or lower episodesPerInvocation to 10",
    ]);
    expect(faultsOf({ engineUrl, episodesPerInvocation: 25, batchWindowSeconds: 1 })).toEqual([]);
  });

  test("a message is hidden until its batch is gathered and the function has ended", () => {
    expect(faultsOf({ engineUrl, batchWindowSeconds: 300 })).toEqual([
      "batchWindowSeconds: a message is hidden for timeoutSeconds + visibilityMarginSeconds (960 s), and may take " +
        "batchWindowSeconds + timeoutSeconds + 30 (1230 s), or it runs twice at once: " +
        "raise visibilityMarginSeconds to 330 or lower batchWindowSeconds, found 300",
    ]);
    expect(faultsOf({ engineUrl, batchWindowSeconds: 300, visibilityMarginSeconds: 330 })).toEqual([]);
    expect(faultsOf({ engineUrl, batchWindowSeconds: 31 })).toHaveLength(1);
    expect(faultsOf({ engineUrl, batchWindowSeconds: 30 })).toEqual([]);
    const fleets = { slow: { batchWindowSeconds: 300, timeoutSeconds: 60 }, main: {} };
    expect(faultsOf({ engineUrl, fleets })).toEqual([
      expect.stringMatching(/^fleets\.slow\.batchWindowSeconds: .*\(120 s\).*\(390 s\)/),
    ]);
  });

  test("concurrency that is reserved is enough for all invocations", () => {
    expect(faultsOf({ engineUrl, maxEpisodes: 100, reservedConcurrency: 9 })).toEqual([
      "reservedConcurrency: expected at least the 10 invocations that maxEpisodes and episodesPerInvocation ask for, " +
        "found 9: raise it to 10 or lower maxEpisodes",
    ]);
    expect(faultsOf({ engineUrl, maxEpisodes: 100, reservedConcurrency: 10 })).toEqual([]);
  });

  test("as many fleets on one engine as its function's environment holds", () => {
    const fleets = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`fleet-${index}`, {}]));
    expect(faultsOf({ engineUrl, fleets: fleets(8) })).toEqual([]);
    expect(faultsOf({ engineUrl, fleets: fleets(9) })).toEqual([
      "fleets: expected at most 8 on engine main, because a function's environment holds 4 KB, found 9: put some into " +
        "another deployment (another stackName)",
    ]);
  });

  test.each([
    { timeoutSeconds: 901 },
    { timeoutSeconds: 0 },
    { messageRetentionDays: 15 },
    { maxMessageBytes: 1_048_577 },
    { maxMessageBytes: 1023 },
    { batchWindowSeconds: 301 },
    { episodesPerInvocation: 10_001 },
    { maxEpisodes: 1 },
    { visibilityMarginSeconds: 0 },
    { maxReceiveCount: 1001 },
    { memoryMb: 10_241 },
  ])("%o is beyond what AWS takes", (setting) => {
    const [key, value] = Object.entries(setting)[0] ?? [];
    const [fault] = faultsOf({ engineUrl, ...setting });
    expect(fault).toMatch(
      new RegExp(`^${key}: expected a whole number from \\d+ to \\d+.*, found ${value}$`),
    );
  });

  test("a message never outlives what is known about its rollout", () => {
    expect(faultsOf({ engineUrl, rolloutTtlDays: 14 })).toEqual([
      "rolloutTtlDays: expected more than messageRetentionDays (14), or a message outlives what is known about its " +
        "rollout and runs again, found 14: raise it to 15",
    ]);
  });
});

describe("deliveries", () => {
  test("must last as long as SQS keeps a message: the fault shows the arithmetic", () => {
    expect(faultsOf({ engineUrl, maxReceiveCount: 435 })).toEqual([
      "maxReceiveCount: expected at least 436, since waiting uses up deliveries: one an hour for messageRetentionDays " +
        "(14 × 24 = 336) and 100 with shorter waits, found 435: raise it to 436 or shorten messageRetentionDays",
    ]);
    expect(faultsOf({ engineUrl, maxReceiveCount: 436 })).toEqual([]);
    expect(faultsOf({ engineUrl, maxReceiveCount: 124, messageRetentionDays: 1 })).toEqual([]);
  });
});

describe("agents", () => {
  test("a name that no shipped agent has", () => {
    const [fault] = faultsOf({ engineUrl, agent: "maths" });
    expect(fault).toMatch(
      /^agent: expected a shipped agent \(.*\bmath\b.*\) or the path of a file such as .*, found "maths"$/,
    );
  });

  test("a path from the current directory", () => {
    expect(faultsOf({ engineUrl, agent: "./agents/math.ts" })).toEqual([]);
    const [fault] = faultsOf({ engineUrl, agent: "./agents/nowhere.ts" });
    expect(fault).toMatch(/^agent: expected a file at .*nowhere\.ts, found none: correct the path$/);
  });

  test.each([
    [{ module: "math" }],
    [{ http: { url: "http://127.0.0.1:8080" } }],
    [{ http: { url: ["https://a.example", "https://b.example"] } }],
    [{ lambda: { arn: "arn:aws:lambda:eu-west-1:111122223333:function:my-agent:live" } }],
    [{ lambda: { folder: "agents/python", handler: "my_agent.handler" } }],
    [{ lambda: { imageUri: "111122223333.dkr.ecr.eu-west-1.amazonaws.com/my/agent:v1", memoryMb: 2048 } }],
    [{ agentcore: { arn: "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/my_agent-AbCdEf1234" } }],
  ])("%j is a way to run one", (agent) => {
    expect(faultsOf({ engineUrl, agent })).toEqual([]);
    expect(faultsOf({ engineUrl, fleets: { main: { agent } } })).toEqual([]);
  });

  test("an object may be written as text, as -c hands it over", () => {
    const agent = '{"http": {"url": "http://127.0.0.1:8080"}}';
    expect(decodeSettings({ engineUrl, agent }).fleets["main"]?.agent).toEqual(JSON.parse(agent));
    expect(faultsOf({ engineUrl, agent: '{"http"' })[0]).toMatch(/^agent: expected a name or the path/);
  });

  const kinds =
    "expected an agent's name, the path of its file, or an object with one of module, http, lambda, agentcore";
  test.each([
    [7, `agent: ${kinds}, found 7`],
    [{}, `agent: ${kinds}, found {}`],
    [
      { http: { url: "http://a" }, module: "math" },
      `agent: ${kinds}, found {"http":{"url":"http://a"},"module":"math"}`,
    ],
    [{ htp: {} }, "agent.htp: there is no such setting; did you mean http?"],
    [{ http: { url: "ftp://a" } }, /^agent\.http\.url: expected a URL such as .*, found "ftp:\/\/a"$/],
    [{ http: { url: "http://a", header: "x-t" } }, /^agent\.http\.header: .*: add tokenSecretArn$/],
    [
      {
        http: {
          url: "http://a",
          tokenSecretArn: "arn:aws:secretsmanager:eu-west-1:111122223333:secret:agent-AbCdEf",
        },
      },
      /^agent\.http\.url: expected https/,
    ],
    [
      {
        http: {
          url: "https://a",
          tokenSecretArn: "arn:aws:secretsmanager:eu-west-1:111122223333:secret:agent-AbCdEf",
          header: "Content-Type",
        },
      },
      "agent.http.header: content-type belongs to HTTP itself: take another header, such as x-sortie-token",
    ],
    [{ lambda: {} }, "agent.lambda: expected one of arn, folder and imageUri, found 0"],
    [
      { lambda: { folder: "nowhere", handler: "a.handler" } },
      /^agent\.lambda\.folder: expected a folder at .*nowhere, found none: correct the path$/,
    ],
    [{ lambda: { folder: "agents" } }, /^agent\.lambda\.handler: expected the function in the folder/],
    [
      {
        lambda: { arn: "arn:aws:lambda:eu-west-1:111122223333:function:a", memoryMb: 512 },
      },
      /^agent\.lambda\.memoryMb: this is decided elsewhere/,
    ],
    [
      { lambda: { folder: "agents", handler: "a.b", timeoutSeconds: 60 } },
      /^agent\.lambda\.timeoutSeconds: expected at least timeoutSeconds - settleMarginSeconds \(880\)/,
    ],
    [{ agentcore: { arn: "my_agent" } }, /^agent\.agentcore\.arn: expected an ARN such as /],
  ])("%j has a fault", (agent, fault) => {
    expect(faultsOf({ engineUrl, agent })).toEqual([
      typeof fault === "string" ? fault : expect.stringMatching(fault),
    ]);
  });

  test("a file of another language", () => {
    expect(faultsOf({ engineUrl, agent: "./agent.py" })).toEqual([
      `agent: expected a name or the path of a .ts or .js file, found "./agent.py": a Python agent runs as a service ` +
        `({"http": {"url": …}}) or as a Lambda function ({"lambda": {"folder": …, "handler": …}}), see docs/agents.md`,
    ]);
  });
});
