/** Runs `sortie` as a user does: a process of its own, with the environment that the test gives and no other. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);
const node = fileURLToPath(new URL("node_modules/.bin/node", root));
const script = fileURLToPath(new URL("cli/sortie.ts", root));

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Neither this machine's AWS settings nor an instance's credentials. */
const isolated = {
  PATH: process.env["PATH"],
  AWS_CONFIG_FILE: "/nowhere/config",
  AWS_SHARED_CREDENTIALS_FILE: "/nowhere/credentials",
  AWS_EC2_METADATA_DISABLED: "true",
};
export const local = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
};

export async function sortie(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = local,
  input = "",
): Promise<Ran> {
  const child = spawn(node, [script, ...args], {
    env: { ...isolated, ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined).end(input);
  const [out, err, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve)),
  ]);
  return { code, out, err };
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += String(chunk);
  return text;
}
