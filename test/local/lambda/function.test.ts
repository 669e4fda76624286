import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { LambdaFunction, type LambdaFunctionOptions, loadLimitMs } from "../../../local/lambda/function.ts";
import type { InvocationResult } from "../../../local/lambda/invocation.ts";
import { listen } from "../helpers/listener.ts";

const handlers = `
  import { fork, spawn } from "node:child_process";
  import { writeFileSync } from "node:fs";
  import { Worker } from "node:worker_threads";
  import { connect } from "node:net";
  let count = 0;
  export const echo = async (event) => ({ event, count: ++count, pid: process.pid });
  export const nothing = async () => undefined;
  export const throws = async () => { throw new TypeError("no such tool"); };
  export const throwsText = async () => { throw "plain text"; };
  export const waits = () => new Promise(() => setInterval(() => {}, 1000));
  export const sleeps = (ms) => new Promise((resolve) => setTimeout(resolve, ms, process.pid));
  export const spins = async () => { for (;;); };
  export const exits = async (code) => process.exit(code);
  export const rejects = async () => { Promise.reject(new Error("nobody caught me")); await waits(); };
  export const withCallback = (event, context, callback) => callback(null, 1);
  export const environment = async () => process.env;
  export const context = async (_, context) => ({
    left: context.getRemainingTimeInMillis(), name: context.functionName, arn: context.invokedFunctionArn,
    id: context.awsRequestId, memory: context.memoryLimitInMB,
  });
  export const clocks = async (_, context) => {
    const tell = "process.send?.(Date.now()) ?? parentPort.postMessage(Date.now())";
    const script = "import { parentPort } from 'node:worker_threads';" + tell;
    writeFileSync("tell.mjs", script);
    const first = (child) => new Promise((resolve) => child.once("message", resolve));
    return {
      now: Date.now(), date: new Date().getTime(), given: new Date(5).getTime(), left: context.getRemainingTimeInMillis(),
      thread: await first(new Worker("./tell.mjs", { env: {}, execArgv: [] })),
      child: await first(fork("./tell.mjs", [], { env: {}, execArgv: [] })),
      isDate: new Date() instanceof Date,
    };
  };
  export const logs = async (text) => { process.stdout.write(text); process.stderr.write("to stderr\\n"); };
  export const consoleLog = async () => { console.log("hello", { a: 1 }); };
  export const opens = async (port) => {
    connect(port, "127.0.0.1").on("error", () => {});
    const script = "require('net').connect(" + port + ", '127.0.0.1'); setInterval(() => {}, 1000)";
    spawn(process.execPath, ["-e", script], { stdio: "ignore" });
    await waits();
  };
  export const connects = async (port) => { connect(port, "127.0.0.1").on("error", () => {}); await waits(); };
  export const fillsMemory = async () => { const all = []; for (;;) all.push(new Array(1e5).fill(Math.random())); };
  export const lateCrash = async () => { setImmediate(() => setImmediate(() => process.exit(9))); return "done"; };
  export const largeAnswer = async (size) => "x".repeat(size);
`;

let directory = "";
let running: LambdaFunction | undefined;
let lines: string[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "lambda-"));
  await writeFile(join(directory, "index.mjs"), handlers);
  await writeFile(join(directory, "broken.mjs"), 'throw new RangeError("cannot start");');
  await writeFile(join(directory, "syntax.mjs"), "export const handler = (;");
  await writeFile(join(directory, "hangs.mjs"), "setInterval(() => {}, 1000); await new Promise(() => {});");
});
afterEach(async () => {
  await running?.stop();
});
afterAll(() => rm(directory, { recursive: true }));

function lambda(handler: string, options: Partial<LambdaFunctionOptions> = {}): LambdaFunction {
  lines = [];
  running = new LambdaFunction({
    name: "example",
    handler: handler.includes(".") ? handler : `index.${handler}`,
    codeDirectory: directory,
    memoryMb: 256,
    timeoutMs: 20_000,
    environment: {},
    log: ({ line }) => lines.push(line),
    ...options,
  });
  return running;
}

function payloadOf(result: InvocationResult): unknown {
  if (result.status === "error") throw new Error(`${result.error.type}: ${result.error.message}`);
  return result.payload;
}

function errorOf(result: InvocationResult): { type: string; message: string } {
  if (result.status === "success") throw new Error(`expected an error: ${JSON.stringify(result.payload)}`);
  return { type: result.error.type, message: result.error.message };
}

describe("a handler's outcome", () => {
  it("is what it returns", async () => {
    const payload = payloadOf(await lambda("echo").invoke({ text: "zwölf 🎲" }));
    expect(payload).toMatchObject({ event: { text: "zwölf 🎲" }, count: 1 });
  });

  it("is null where it returns undefined", async () => {
    expect(payloadOf(await lambda("nothing").invoke({}))).toBeNull();
  });

  it("may be large", async () => {
    expect(payloadOf(await lambda("largeAnswer").invoke(3_000_000))).toBe("x".repeat(3_000_000));
  });

  it("is the error that it throws, and the process is used again", async () => {
    const fn = lambda("throws");
    const result = await fn.invoke({});
    expect(errorOf(result)).toEqual({ type: "TypeError", message: "no such tool" });
    const [before] = fn.processes();
    await fn.invoke({});
    expect(fn.processes()).toEqual([before]);
  });

  it("is an error with the type of what it throws, where that is no Error", async () => {
    expect(errorOf(await lambda("throwsText").invoke({}))).toEqual({ type: "string", message: "plain text" });
  });

  it("is a timeout when it waits too long", async () => {
    const error = errorOf(await lambda("waits", { timeoutMs: 300 }).invoke({}));
    expect(error).toEqual({ type: "Sandbox.Timedout", message: "Task timed out after 0.30 seconds" });
  });

  it("is a timeout when it never yields, and the next invocation gets a new process", async () => {
    const fn = lambda("spins", { timeoutMs: 300 });
    expect(errorOf(await fn.invoke({})).type).toBe("Sandbox.Timedout");
    const [first] = fn.processes();
    expect(errorOf(await fn.invoke({})).type).toBe("Sandbox.Timedout");
    expect(first).toBeUndefined();
  });

  it.each([
    [7, "Runtime exited with error: exit status 7"],
    [0, "Runtime exited without providing a reason"],
  ])("is Runtime.ExitError when it exits with %i", async (code, message) => {
    expect(errorOf(await lambda("exits").invoke(code))).toEqual({ type: "Runtime.ExitError", message });
  });

  it("is Runtime.ExitError after an unhandled rejection", async () => {
    const error = errorOf(await lambda("rejects").invoke({}));
    expect(error).toEqual({ type: "Runtime.ExitError", message: "Runtime exited with error: exit status 1" });
  });

  it("is Runtime.ExitError when it uses more memory than the function has", async () => {
    const error = errorOf(await lambda("fillsMemory", { memoryMb: 64 }).invoke({}));
    expect(error).toEqual({
      type: "Runtime.ExitError",
      message: "Runtime exited with error: signal: aborted",
    });
  });

  it("stands when the process dies after it was reported", async () => {
    expect(payloadOf(await lambda("lateCrash").invoke({}))).toBe("done");
  });
});

describe("a handler that cannot be loaded", () => {
  it.each([
    ["withCallback", "Runtime.CallbackHandlerDeprecated"],
    ["absent", "Runtime.HandlerNotFound"],
    ["nowhere.handler", "Runtime.ImportModuleError"],
    ["broken.handler", "RangeError"],
    ["syntax.handler", "Runtime.UserCodeSyntaxError"],
  ])("%s fails every invocation with %s", async (handler, type) => {
    const fn = lambda(handler);
    expect(errorOf(await fn.invoke({})).type).toBe(type);
    expect(errorOf(await fn.invoke({})).type).toBe(type);
  });

  it("has the invocation's time for loading as well, since Lambda begins it anew there", () => {
    expect(loadLimitMs({ timeoutMs: 3000 })).toBe(13_000);
  });

  it("is killed when loading takes longer than the init timeout", async () => {
    const error = errorOf(await lambda("hangs.handler", { initTimeoutMs: 400 }).invoke({}));
    expect(error).toEqual({ type: "Sandbox.Timedout", message: "Task timed out after 0.40 seconds" });
  });
});

describe("what a handler sees", () => {
  it("may have a clock that is off, the same in its threads and children, without a change to its time that is left", async () => {
    const environment = { SORTIE_LOCAL_CLOCK_MS: "-300000" };
    const result = payloadOf(await lambda("clocks", { environment, timeoutMs: 9_000 }).invoke({}));
    const { given, left, isDate, ...times } = result as Record<string, number>;
    const behind = Object.values(times).map((time) => Math.round((Date.now() - time) / 60_000));
    expect(behind).toEqual([5, 5, 5, 5]);
    expect({ given, isDate }).toEqual({ given: 5, isDate: true });
    expect(left).toBeLessThanOrEqual(9_000);
    expect(left).toBeGreaterThan(0);
  });

  it("knows itself and the time that is left", async () => {
    const result = await lambda("context", { timeoutMs: 9_000 }).invoke({});
    const { left, ...rest } = payloadOf(result) as { left: number };
    expect(rest).toEqual({
      name: "example",
      arn: "arn:aws:lambda:us-east-1:000000000000:function:example",
      id: result.requestId,
      memory: "256",
    });
    expect(left).toBeGreaterThan(7_000);
    expect(left).toBeLessThanOrEqual(9_000);
  });

  it("has Lambda's environment and its own, and nothing of the host's but PATH", async () => {
    vi.stubEnv("NODE_OPTIONS", "--no-warnings");
    const fn = lambda("environment", { environment: { SETTING: "1", AWS_REGION: "elsewhere" } });
    const environment = payloadOf(await fn.invoke({})) as Record<string, string>;
    vi.unstubAllEnvs();
    const { PATH } = process.env;
    expect(environment).toMatchObject({
      SETTING: "1",
      AWS_REGION: "us-east-1",
      AWS_LAMBDA_FUNCTION_NAME: "example",
      AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
      LAMBDA_TASK_ROOT: directory,
      PATH,
    });
    const known = /^(AWS_|LAMBDA_|_HANDLER$|_X_AMZN|PATH$|LANG$|TZ$|SETTING$|PWD$|SHLVL$|_$|__CF)/;
    expect(Object.keys(environment).filter((name) => !known.test(name))).toEqual([]);
  });
});

describe("logs", () => {
  it("arrive line by line, as they were written", async () => {
    await lambda("logs").invoke('{"level":"INFO","message":"a\\nb"}\nsecond\n');
    await expect
      .poll(() => lines.toSorted())
      .toEqual(["second", "to stderr", '{"level":"INFO","message":"a\\nb"}']);
  });

  it("are cut at line feeds alone, and end with the process", async () => {
    await lambda("logs").invoke("a\rb\u2028c\nno end");
    await expect.poll(() => lines).toContain("a\rb\u2028c");
    await running?.stop();
    await expect.poll(() => lines).toContain("no end");
  });

  it("of the console are JSON where the function says so", async () => {
    const result = await lambda("consoleLog", { logFormat: "JSON" }).invoke({});
    await expect.poll(() => lines.length).toBe(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "INFO",
      requestId: result.requestId,
      message: "hello { a: 1 }",
    });
  });

  it("tell how an invocation failed", async () => {
    const result = await lambda("waits", { timeoutMs: 200 }).invoke({});
    expect(JSON.parse(lines.at(-1) ?? "")).toEqual({
      type: "platform.runtimeDone",
      function: "example",
      requestId: result.requestId,
      status: "timeout",
      errorType: "Sandbox.Timedout",
      errorMessage: "Task timed out after 0.20 seconds",
    });
  });
});

describe("processes", () => {
  it("run one invocation each, and are used again", async () => {
    const fn = lambda("sleeps");
    const pids = (await Promise.all([fn.invoke(300), fn.invoke(300), fn.invoke(300)])).map(payloadOf);
    expect(new Set(pids).size).toBe(3);
    expect(pids).toContain(payloadOf(await fn.invoke(0)));
    expect(fn.processes().map(({ state }) => state)).toEqual(["idle", "idle", "idle"]);
  });

  it("never share one, however close the invocations are", async () => {
    const fn = lambda("sleeps");
    const pids = (await Promise.all(Array.from({ length: 6 }, () => fn.invoke(500)))).map(payloadOf);
    expect(new Set(pids).size).toBe(6);
    expect(fn.processes()).toHaveLength(6);
  });

  it("stay at one when invocations follow each other", async () => {
    const fn = lambda("echo");
    const counts: unknown[] = [];
    for (let i = 0; i < 20; i++) counts.push(payloadOf(await fn.invoke(i)));
    expect(counts.map((payload) => (payload as { count: number }).count)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  it("are refused beyond the reserved concurrency", async () => {
    const fn = lambda("sleeps", { reservedConcurrency: 1 });
    const [first, second] = await Promise.all([fn.invoke(200), fn.invoke(0)]);
    expect(payloadOf(first)).toBeTypeOf("number");
    expect(errorOf(second).type).toBe("TooManyRequestsException");
    expect(payloadOf(await fn.invoke(0))).toBe(payloadOf(first));
  });

  it("can be killed by pid in the middle of an invocation", async () => {
    const fn = lambda("waits");
    const result = fn.invoke({});
    await expect.poll(() => fn.processes().length).toBe(1);
    expect(fn.kill(fn.processes()[0]?.pid ?? 0)).toBe(true);
    expect(errorOf(await result)).toEqual({
      type: "Runtime.ExitError",
      message: "Runtime exited with error: signal: killed",
    });
    expect(fn.kill(1)).toBe(false);
  });

  it("end with stop, and what they started ends with them", async () => {
    const { port, connections, close } = await listen();
    const fn = lambda("opens");
    const result = fn.invoke(port);
    await expect.poll(() => connections(), { timeout: 5_000 }).toBe(2);
    await fn.stop();
    expect(errorOf(await result).type).toBe("Runtime.ExitError");
    await expect.poll(() => connections(), { timeout: 5_000 }).toBe(0);
    expect(errorOf(await fn.invoke(port)).type).toBe("Runtime.Stopped");
    expect(fn.processes()).toEqual([]);
    close();
  });

  it("do not outlive a host that is killed", async () => {
    const { port, connections, close } = await listen();
    const script = fileURLToPath(new URL("../helpers/host.ts", import.meta.url));
    const host = spawn(process.execPath, [script, directory, "index.connects", String(port)]);
    await expect.poll(connections, { timeout: 5_000 }).toBe(1);
    host.kill("SIGKILL");
    await expect.poll(connections, { timeout: 5_000 }).toBe(0);
    close();
  });
});
