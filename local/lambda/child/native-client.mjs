/**
 * Stands in for `rapid-client.node` of aws-lambda-ric: `next`, `done` and `error` of the Lambda runtime API.
 * The native ones block until the host has the answer; these let `next` wait for it instead.
 */
import { Agent, request } from "node:http";
import { offsetMs } from "./clock.mjs";

const DEADLINE = "lambda-runtime-deadline-ms";

const [hostname, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let reported = Promise.resolve();

function call(method, path, body = "", headers = {}) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const options = { hostname, port, agent, method, path: `/2018-06-01/runtime/invocation/${path}`, headers };
  request(options, (response) => {
    let bodyJson = "";
    response.setEncoding("utf8");
    response.on("data", (chunk) => {
      bodyJson += chunk;
    });
    response.on("error", reject);
    response.on("end", () => resolve({ bodyJson, headers: response.headers }));
  })
    .on("error", reject)
    .end(body);
  return promise;
}

function report(path, body) {
  reported = call("POST", path, body, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
}

/** Waits until the last result has been taken, then for the next event. */
export async function next() {
  await reported;
  const { bodyJson, headers } = await call("GET", "next");
  // Lambda tells the time by the machine's clock, as the process does.
  const deadline = Number(headers[DEADLINE]) + offsetMs;
  return { bodyJson, headers: { ...headers, [DEADLINE]: String(deadline) } };
}

/** Reports what the handler returned, as JSON. */
export function done(requestId, body) {
  report(`${requestId}/response`, body);
}

/** Reports what the handler threw, as JSON with `errorType`, `errorMessage` and `trace`. */
export function error(requestId, body) {
  report(`${requestId}/error`, body);
}
