/** MiniStack: AWS as other people understand it, on one loopback port. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { delimiter, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export interface MiniStack {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** With the Node.js of this process first, whatever the machine has: the functions and the app run on it. */
export function searchPath(): string {
  return [dirname(process.execPath), process.env["PATH"]].join(delimiter);
}

/** Where its own clients and the CDK find it. Everything it takes is as good as any other. */
export function awsEnvironment(endpoint: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: "us-east-1",
    AWS_DEFAULT_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    // A profile of the user's must not get in.
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
  };
}

/** @param command the `ministack` of a Python environment; @param folder for its files; @param log gets its lines */
export async function startMiniStack(
  command: string,
  folder: string,
  log: (text: string) => void,
): Promise<MiniStack> {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const server = spawn(command, [], {
    cwd: folder,
    env: {
      PATH: searchPath(),
      HOME: folder,
      TMPDIR: folder,
      S3_DATA_DIR: `${folder}/s3`,
      BIND_HOST: "127.0.0.1",
      GATEWAY_PORT: String(port),
      // Functions as processes of this machine, without Docker.
      LAMBDA_EXECUTOR: "local",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [server.stdout, server.stderr]) stream.setEncoding("utf8").on("data", log);
  const gone = new Promise<void>((resolve) => server.once("close", () => resolve()));
  const close = async () => {
    server.kill("SIGTERM");
    await Promise.race([gone, delay(10_000).then(() => server.kill("SIGKILL"))]);
  };
  try {
    await answers(endpoint, () => server.exitCode === null);
  } catch (error) {
    await close();
    throw error;
  }
  return { endpoint, close };
}

async function answers(endpoint: string, alive: () => boolean): Promise<void> {
  for (let tries = 0; tries < 120 && alive(); tries += 1) {
    const answer = await fetch(`${endpoint}/_ministack/health`).catch(() => undefined);
    if (answer?.ok) return;
    await delay(500);
  }
  throw new Error(`expected MiniStack to answer at ${endpoint} within a minute, found nothing: see its log`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("expected a free port, found none");
  return address.port;
}
