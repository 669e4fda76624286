import { execFile } from "node:child_process";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { makePrivateCa } from "../support/private-ca.ts";

const ca = makePrivateCa();
afterAll(() => ca.remove());
const run = promisify(execFile);
const adapter = join(import.meta.dirname, "../../functions/adapters/engine/index.ts");

/** What a function's process sees of an engine behind TLS: Node.js reads the variable when it starts. */
async function statusOf(url: string, environment: Record<string, string>): Promise<unknown> {
  const script = `
    import { createEngine } from ${JSON.stringify(adapter)};
    const clock = { now: Date.now, sleep: async () => {} };
    console.log(JSON.stringify(await createEngine({ url: ${JSON.stringify(url)}, clock, getRetries: 0 }).status()));
    process.exit();`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script], {
    env: { PATH: process.env["PATH"], ...environment },
  });
  return JSON.parse(stdout);
}

test("an engine under a private authority is reached with its certificate, and not without", async () => {
  const status = { engine_status: "ENGINE.ROLLING", engine_status_detail: null, global_step: 3 };
  const server = createServer({ cert: ca.certificate, key: ca.key }, (_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(status)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await statusOf(url, { NODE_EXTRA_CA_CERTS: ca.file })).toEqual(status);
    expect(await statusOf(url, {})).toMatchObject({
      engine_status: "ENGINE.CANNOT_CONNECT",
      engine_status_detail: expect.stringContaining("self-signed certificate"),
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}, 30_000);
