/** The CDK app: `cdk.json` names it. Settings come from context, as `cdk deploy -c engineUrl=http://10.0.0.7:10086`. */
import { dirname } from "node:path";
import { Annotations, App } from "aws-cdk-lib";
import { VALIDATE_AGAINST_DEFAULT_RULES } from "aws-cdk-lib/cx-api";
import { SettingsError } from "../functions/contract/settings-error.ts";
import { agentsFolder } from "../functions/entries.ts";
import { agentWay } from "./agent-settings.ts";
import { typeFaults, typeText } from "./agent-types.ts";
import { needsLookup } from "./network-settings.ts";
import { decodeSettings, type Settings } from "./settings.ts";
import { SortieStack } from "./stack.ts";

// Without the usage analytics that the CDK would write into the template.
const app = new App({ analyticsReporting: false });
try {
  const settings = decodeSettings(app.node.getAllContext());
  toleratePlaceholders(settings);
  // Beside the bundling, which takes longer.
  const faults = typeFaults(ownAgents(settings));
  const stack = new SortieStack(app, settings.stackName, { settings, ...environmentOf(settings) });
  tellTypes(stack, await faults);
} catch (error) {
  // What is wrong with a bundle has been said by its own tools.
  const words = error instanceof SettingsError ? error.message : bundlingFailure(error);
  if (words === undefined) throw error;
  console.error(words);
  // At once, so that no empty template is written.
  process.exit(1);
}

/** The files of agents that did not come with this package. */
function ownAgents({ fleets }: Settings): string[] {
  return Object.values(fleets)
    .map(({ agent }) => agentWay(agent))
    .flatMap((way) => (way.kind === "module" && dirname(way.entry) !== agentsFolder ? [way.entry] : []));
}

function tellTypes(stack: SortieStack, faults: readonly string[]): void {
  if (faults.length === 0) return;
  const words = typeText(faults);
  if (process.env["SORTIE_STRICT_TYPES"] === "1") {
    console.error(words);
    process.exit(1);
  }
  Annotations.of(stack).addWarningV2("sortie:types", words);
}

/** Before a VPC has been looked up, placeholders stand for its subnets, and the CDK's own checks would refuse those. */
function toleratePlaceholders({ network }: Settings): void {
  const isKnown = Object.keys(app.node.getAllContext()).some((key) => key.startsWith("vpc-provider:"));
  if (needsLookup(network) && !isKnown) app.node.setContext(VALIDATE_AGAINST_DEFAULT_RULES, false);
}

/** A VPC can only be looked up in an account and a region; without one, the template fits any. */
function environmentOf({ network }: Settings): { env?: { account: string; region: string } } {
  if (!needsLookup(network)) return {};
  const { CDK_DEFAULT_ACCOUNT: account, CDK_DEFAULT_REGION: region } = process.env;
  if (account && region) return { env: { account, region } };
  throw new SettingsError([
    "network: a VPC that is given by its id alone is looked up in your account, and there are no credentials for it: " +
      "sign in (aws sts get-caller-identity has to answer), or add subnetIds and availabilityZones",
  ]);
}

function bundlingFailure(error: unknown): string | undefined {
  const [first = ""] = String(error).split("\n");
  const [, construct] = /Failed to bundle asset (\S+?),/.exec(first) ?? [];
  return construct && `Nothing was made, since the code of ${construct} could not be bundled: see above.`;
}
