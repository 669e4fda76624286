/** What a function gets so that it can pass the proxy in front of its engine. */
import { resolve } from "node:path";
import { Token } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { rolloutVariables as variables } from "../functions/contract/environment-names.ts";
import { SettingsError } from "../functions/contract/settings-error.ts";
import { type EngineAccess, engineFaults } from "./engine-settings.ts";
import type { SortieFunction } from "./function-defaults.ts";
import { DEFAULT_HEADER } from "./token-settings.ts";

/** A function's code lies there, and this file beside it. */
const CODE_FOLDER = "/var/task";
export const CA_FILE = "engine-ca.pem";

/**
 * Variables of a function. A certificate goes into the bundle rather than into a variable: all variables together hold
 * 4 KB, and Node.js itself adds the file to what it trusts.
 */
export function accessEnvironment(access: EngineAccess): Record<string, string> {
  const { tokenSecretArn, header = DEFAULT_HEADER, caCertificateFile } = access;
  return {
    ...(tokenSecretArn === undefined
      ? {}
      : { [variables.engineSecretArn]: tokenSecretArn, [variables.engineHeader]: header.toLowerCase() }),
    ...(caCertificateFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: `${CODE_FOLDER}/${CA_FILE}` }),
  };
}

/** By its name in the bundle. */
export function bundledFiles({ caCertificateFile }: EngineAccess): Record<string, string> {
  return caCertificateFile === undefined ? {} : { [CA_FILE]: resolve(caCertificateFile) };
}

/** Lets a function read the engine's token, and nothing where there is none. */
export function grantAccess(
  { role }: SortieFunction,
  { tokenSecretArn, tokenSecretKeyArn }: EngineAccess,
): void {
  if (tokenSecretArn !== undefined)
    role.addToPolicy(
      new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources: [tokenSecretArn] }),
    );
  if (tokenSecretKeyArn !== undefined)
    role.addToPolicy(new PolicyStatement({ actions: ["kms:Decrypt"], resources: [tokenSecretKeyArn] }));
}

/** @throws SettingsError for a construct that is used by itself */
export function checkAccess(engine: string, url: string, access: EngineAccess): void {
  const faults = engineFaults({
    ...access,
    url: Token.isUnresolved(url) ? "https://known-at-deployment" : url,
  });
  if (faults.length > 0) throw new SettingsError(faults.map((fault) => `engines.${engine}.${fault}`));
}
