import { App, Validations } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { AwsSolutionsChecks } from "cdk-nag";
import { expect, test } from "vitest";
import { decodeSettings } from "../../lib/settings.ts";
import { SortieStack } from "../../lib/stack.ts";
import { engineUrl, withoutBundling } from "./synthesise.ts";

const secret = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:engine-token-AbCdEf";
/** Everything that can be had. */
const everything = {
  engines: { main: { url: "https://engine.example/prefix", tokenSecretArn: secret } },
  network: {
    vpcId: "vpc-0123456789abcdef0",
    subnetIds: ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    availabilityZones: ["eu-west-1a", "eu-west-1b"],
    routeTableIds: ["rtb-0123456789abcdef0", "rtb-0123456789abcdef1"],
    endpoints: ["dynamodb", "sqs", "logs", "secretsmanager"],
  },
  fleets: { math: {}, hard: { throttle: { batchSize: 8, repeats: 4 }, budget: { usdPerDay: 10 } } },
  tracing: true,
  alarmEmail: "team@example.com",
};

interface Acknowledged {
  readonly path: string;
  readonly id: string;
  readonly reason: string;
}

/** What the pack finds, and what the constructs acknowledge. */
function check(settings: Record<string, unknown>): { findings: string[]; acknowledged: Acknowledged[] } {
  const app = new App({ context: withoutBundling });
  new SortieStack(app, "Sortie", { settings: decodeSettings(settings) });
  const pack = new AwsSolutionsChecks(app);
  // Registered as an app would: a finding would stop the synthesis.
  Validations.of(app).addPlugins(pack);
  app.synth();
  const { violations } = pack.validateScope(app);
  const acknowledged = app.node
    .findAll()
    .flatMap(({ node }) =>
      node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .flatMap(({ data }) => acknowledgements(node.path, data)),
    );
  return { findings: violations.map(({ ruleName }) => ruleName), acknowledged };
}

function acknowledgements(path: string, data: unknown): Acknowledged[] {
  const found: Record<string, unknown> = typeof data === "object" && data !== null ? { ...data } : {};
  return Object.entries(found).map(([id, reason]) => ({ path, id, reason: JSON.stringify(reason) }));
}

test("AwsSolutions finds nothing in a plain stack, and nothing had to be acknowledged", {
  timeout: 60_000,
}, () => {
  expect(check({ engineUrl })).toEqual({ findings: [], acknowledged: [] });
});

test("AwsSolutions finds nothing in a stack with everything, and each acknowledgement has its reason", {
  timeout: 60_000,
}, () => {
  const { findings, acknowledged } = check(everything);
  expect(findings).toEqual([]);
  const iam = "Annotation::AwsSolutions-IAM5[Resource::*]";
  const roles = ["Fleet-math/Rollout/Role", "Fleet-hard/Rollout/Role", "Engine-main/Lifecycle/Role"];
  expect(acknowledged.map(({ path, id }) => [path, id])).toEqual(
    // Once for the network, once for X-Ray.
    roles.flatMap((role) => [
      [`Sortie/${role}`, iam],
      [`Sortie/${role}`, iam],
    ]),
  );
  expect(acknowledged.filter(({ reason }) => reason.length < 40)).toEqual([]);
});

test("the check is none that passes whatever it is given", { timeout: 60_000 }, () => {
  const app = new App({ context: withoutBundling });
  const stack = new SortieStack(app, "Sortie", { settings: decodeSettings({ engineUrl }) });
  const [fleet] = stack.fleets;
  fleet?.rollout.role.addToPolicy(new PolicyStatement({ actions: ["s3:*"], resources: ["*"] }));
  const { violations } = new AwsSolutionsChecks(app).validateScope(app);
  expect(violations.map(({ ruleName }) => ruleName)).toEqual([
    "AwsSolutions-IAM5[Action::s3:*]",
    "AwsSolutions-IAM5[Resource::*]",
  ]);
});
