import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Aws } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { afterAll, describe, expect, test } from "vitest";
import { SettingsError } from "../../functions/contract/settings-error.ts";
import { RolloutFleet } from "../../lib/rollout-fleet.ts";
import { decodeSettings } from "../../lib/settings.ts";
import { SortieStack } from "../../lib/stack.ts";
import { makePrivateCa } from "../support/private-ca.ts";
import { otherStack, plain, resource, synthesise } from "./synthesise.ts";

const ca = makePrivateCa();
const folder = mkdtempSync(join(tmpdir(), "sortie-access-"));
afterAll(() => {
  ca.remove();
  rmSync(folder, { recursive: true });
});

const url = "https://engine.example/train";
const tokenSecretArn = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:engine-token-AbCdEf";
const tokenSecretKeyArn = "arn:aws:kms:eu-west-1:111122223333:key/0123abcd-01ab-01ab-01ab-0123456789ab";

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("a proxy's token", { timeout: 60_000 }, () => {
  const template = synthesise({ engines: { main: { url, tokenSecretArn, tokenSecretKeyArn } } });

  test.each(["FleetmainRollout", "EnginemainLifecycle"])("%s knows where it is and may read it", (id) => {
    const { Environment } = plain(resource(template, "AWS::Lambda::Function", id).Properties) as {
      Environment: { Variables: object };
    };
    expect(Environment.Variables).toMatchObject({
      SORTIE_ENGINE_SECRET_ARN: tokenSecretArn,
      SORTIE_ENGINE_HEADER: "x-sortie-token",
    });
    const { PolicyDocument } = plain(resource(template, "AWS::IAM::Policy", `${id}Role`).Properties) as {
      PolicyDocument: { Statement: unknown[] };
    };
    const allow = { Effect: "Allow" };
    expect(PolicyDocument.Statement).toEqual(
      expect.arrayContaining([
        { ...allow, Action: "secretsmanager:GetSecretValue", Resource: tokenSecretArn },
        { ...allow, Action: "kms:Decrypt", Resource: tokenSecretKeyArn },
      ]),
    );
  });

  test("an engine without one has neither", () => {
    const text = JSON.stringify(synthesise().toJSON());
    expect(text).not.toMatch(/secretsmanager|kms:Decrypt|SORTIE_ENGINE_SECRET|NODE_EXTRA_CA/);
  });

  test("of several engines each fleet gets its own", () => {
    const engines = { a: { url, tokenSecretArn, header: "X-A" }, b: { url: "http://b:1" } };
    const stack = synthesise({ engines, fleets: { x: { engine: "a" }, y: { engine: "b" } } });
    const header = (id: string) =>
      (resource(stack, "AWS::Lambda::Function", id).Properties["Environment"] as { Variables: object })
        .Variables;
    expect(header("FleetxRollout")).toMatchObject({ SORTIE_ENGINE_HEADER: "x-a" });
    expect(Object.keys(header("FleetyRollout"))).not.toContain("SORTIE_ENGINE_HEADER");
  });

  test("a construct by itself takes it too, for an address that is known only at deployment", () => {
    const stack = otherStack();
    new RolloutFleet(stack, "Fleet", {
      engineUrl: `https://engine.${Aws.URL_SUFFIX}`,
      engineAccess: { tokenSecretArn },
    });
    Template.fromStack(stack).hasResourceProperties("AWS::Lambda::Function", {});
    const create = () =>
      new RolloutFleet(otherStack(), "Fleet", {
        engineUrl: "http://engine",
        engineAccess: { tokenSecretArn },
      });
    expect(create).toThrow(/engines\.main\.url: expected https/);
  });
});

test("a private authority's certificate is in the bundles, and Node.js is told", { timeout: 120_000 }, () => {
  const app = new App({ outdir: join(folder, "out") });
  const settings = decodeSettings({ engines: { main: { url, caCertificateFile: ca.file } } });
  const stack = new SortieStack(app, "Sortie", { settings });
  app.synth();
  const template = Template.fromStack(stack);
  for (const id of ["FleetmainRollout", "EnginemainLifecycle"]) {
    const { Code, Environment } = resource(template, "AWS::Lambda::Function", id).Properties as {
      Code: { S3Key: string };
      Environment: { Variables: Record<string, string> };
    };
    expect(Environment.Variables["NODE_EXTRA_CA_CERTS"]).toBe("/var/task/engine-ca.pem");
    const bundled = join(folder, "out", `asset.${Code.S3Key.replace(".zip", "")}`, "engine-ca.pem");
    expect(readFileSync(bundled, "utf8")).toBe(ca.certificate);
  }
});

describe("faults", () => {
  const expired = `-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n`;
  test.each<[string, Record<string, unknown>, string]>([
    [
      "the header of the episode's key",
      { url, tokenSecretArn, header: "Authorization" },
      "engines.main.header: authorization carries the key of an episode in each model call, which goes through the same " +
        "proxy, so a token there would never arrive: take another header, such as x-sortie-token, and let the proxy check that one",
    ],
    [
      "a header of HTTP itself",
      { url, tokenSecretArn, header: "Host" },
      "engines.main.header: host belongs to HTTP itself: take another header, such as x-sortie-token",
    ],
    [
      "a token in plain text",
      { url: "http://engine", tokenSecretArn },
      'engines.main.url: expected https, because a token in plain text can be read on the way, found "http://engine"',
    ],
    [
      "a header without a token",
      { url, header: "x-token" },
      "engines.main.header: this is the header of a token, and there is none: add tokenSecretArn",
    ],
    [
      "a key without a secret",
      { url, tokenSecretKeyArn },
      "engines.main.tokenSecretKeyArn: this is the key of a secret, and there is none: add tokenSecretArn",
    ],
    [
      "the token itself in place of its secret",
      { url, tokenSecretArn: "engine-token" },
      "engines.main.tokenSecretArn: expected an ARN such as " +
        'arn:aws:secretsmanager:eu-west-1:111122223333:secret:engine-token-AbCdEf, found "engine-token"',
    ],
    [
      "a certificate for plain HTTP",
      { url: "http://engine", caCertificateFile: ca.file },
      'engines.main.url: expected https, because caCertificateFile is for TLS alone, found "http://engine"',
    ],
    [
      "a file that is not there",
      { url, caCertificateFile: join(folder, "none.pem") },
      `engines.main.caCertificateFile: expected a file at ${join(folder, "none.pem")}, found none: correct the path`,
    ],
    [
      "a file with a private key in it",
      { url, caCertificateFile: file("both.pem", ca.certificate + ca.key) },
      "engines.main.caCertificateFile: expected certificates alone, found a private key: take the key out of the file",
    ],
    [
      "a file that is no PEM",
      { url, caCertificateFile: file("der.pem", "0\u0082") },
      "engines.main.caCertificateFile: expected at least one certificate in PEM (BEGIN CERTIFICATE), found none: convert " +
        "it with openssl x509",
    ],
    [
      "a certificate that is cut off",
      { url, caCertificateFile: file("cut.pem", expired) },
      "engines.main.caCertificateFile: certificate 1 cannot be read: expected base64 between its BEGIN and END lines",
    ],
  ])("%s", (_, engine, fault) => {
    expect(() => decodeSettings({ engines: { main: engine } })).toThrow(new SettingsError([fault]));
  });
});
