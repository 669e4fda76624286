/** The CDK app: `cdk.json` names it. Settings come from context, as `cdk deploy -c engineUrl=http://10.0.0.7:10086`. */
import { App } from "aws-cdk-lib";
import { decodeSettings } from "./settings.ts";
import { SettingsError } from "./settings-error.ts";
import { SortieStack } from "./stack.ts";

// Without the usage analytics that the CDK would write into the template.
const app = new App({ analyticsReporting: false });
try {
  const settings = decodeSettings(app.node.getAllContext());
  new SortieStack(app, settings.stackName, { settings });
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  // At once, so that no empty template is written.
  process.exit(1);
}
