/** The stack, deployed by the CDK's own command line to wherever the environment points. */
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { synthesise } from "../../local/synth.ts";
import { searchPath } from "./ministack.ts";

const projectRoot = join(import.meta.dirname, "../..");

export interface Deployer {
  readonly environment: Readonly<Record<string, string>>;
  /** For assemblies. */
  readonly folder: string;
  readonly log: (text: string) => void;
}

export interface Outcome {
  readonly code: number | null;
  readonly words: string;
}

export async function bootstrap(deployer: Deployer): Promise<void> {
  // It runs the app as well, which wants an address.
  const engine = "engineUrl=http://127.0.0.1:1";
  const outcome = await cdk(deployer, ["bootstrap", "aws://000000000000/us-east-1", "-c", engine]);
  if (outcome.code !== 0) throw new Error(`cdk bootstrap failed:\n${outcome.words.slice(-3000)}`);
}

/** Synthesises with these settings, and deploys. Whether that went well is for the caller to see. */
export async function deploy(
  deployer: Deployer,
  name: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<Outcome> {
  const assembly = join(deployer.folder, name);
  await mkdir(assembly, { recursive: true });
  await synthesise(assembly, settings);
  await leaveOutWhatIsUnknown(join(assembly, "Sortie.template.json"));
  return await cdk(deployer, ["deploy", "--app", assembly, "--require-approval", "never"]);
}

interface Template {
  readonly Resources: Record<string, { Type: string; Properties?: Record<string, unknown> }>;
}

/** MiniStack refuses alarms on metric math, which the dashboard names; the template's own tests look at both. */
async function leaveOutWhatIsUnknown(path: string): Promise<void> {
  const template = JSON.parse(await readFile(path, "utf8")) as Template;
  for (const [id, { Type, Properties }] of Object.entries(template.Resources)) {
    const isMath = Type === "AWS::CloudWatch::Alarm" && Properties?.["Metrics"] !== undefined;
    if (isMath || Type === "AWS::CloudWatch::Dashboard") delete template.Resources[id];
  }
  await writeFile(path, JSON.stringify(template));
}

async function cdk({ environment, log }: Deployer, args: readonly string[]): Promise<Outcome> {
  const command = join(projectRoot, "node_modules/aws-cdk/bin/cdk");
  const child = spawn(process.execPath, [command, ...args], {
    cwd: projectRoot,
    env: { PATH: searchPath(), HOME: process.env["HOME"], CI: "true", NO_COLOR: "1", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let words = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      words += text;
      log(text);
    });
  const code = await new Promise<number | null>((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  return { code, words };
}
