/** The stand-in can be made to misbehave, on the wire and as a whole. */
import { request } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { Fault } from "../../../local/engine/faults.ts";
import { settled } from "../../support/virtual-clock.ts";
import { Connection, send } from "./http.ts";
import { type StandIn, standIn } from "./stand-in.ts";

let at: StandIn | undefined;
afterEach(() => at?.engine.close());

const claim = JSON.stringify({ client_uuid: "c", episode_type: "train", discard_episode_timeout: 60 });

/** Every claim meets this fault. */
async function withFault(fault: Fault): Promise<StandIn> {
  at = await standIn({ faults: ({ path }) => (path === "/claim_episode" ? fault : undefined) });
  return at;
}

describe("a fault on a request", () => {
  test("close: broken before the engine acts", async () => {
    const { wire, engine } = await withFault({ kind: "close" });
    const sent = await wire.send("POST", "/claim_episode", claim);
    await expect(wire.answer(sent)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(engine.summary()).toMatchObject({ claimsGranted: 0, open: 0 });
  });

  test("act-then-close: broken after the engine acted", async () => {
    const { wire, engine } = await withFault({ kind: "act-then-close" });
    const sent = await wire.send("POST", "/claim_episode", claim);
    await expect(wire.answer(sent)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(engine.summary()).toMatchObject({ claimsGranted: 1, open: 1 });
  });

  test("answer: something else in place of acting", async () => {
    const { wire, engine } = await withFault({ kind: "answer", status: 502, text: "<h1>Bad Gateway</h1>" });
    const reply = await wire.answer(await wire.send("POST", "/claim_episode", claim));
    expect(reply).toMatchObject({ status: 502, text: "<h1>Bad Gateway</h1>", contentType: "text/html" });
    expect(engine.summary()).toMatchObject({ claimsGranted: 0 });
  });

  test("delay: acts at once, answers later", async () => {
    const { wire, engine } = await withFault({ kind: "delay", seconds: 40 });
    const sent = await wire.send("POST", "/claim_episode", claim);
    await settled();
    expect(engine.summary()).toMatchObject({ claimsGranted: 1 });
    expect((await wire.answer(sent)).status).toBe(200);
    expect((await sent.answeredAt) - sent.sentAt).toBe(40_000);
  });

  test("hang: no answer, ever, until the engine is closed", async () => {
    const { wire, engine, advance } = await withFault({ kind: "hang" });
    const sent = await wire.send("POST", "/claim_episode", claim);
    let settledAs = "waiting";
    const outcome = sent.reply.catch(() => {
      settledAs = "broken";
    });
    await advance(3600);
    expect(settledAs).toBe("waiting");
    await engine.close();
    await outcome;
    expect(settledAs).toBe("broken");
  });
});

describe("a restart", () => {
  test("with its state: episodes, step and port are the same", async () => {
    at = await standIn();
    const { engine, wire, worker } = at;
    const [url, uuid] = [engine.url, await worker.claim()];
    await engine.restart({ keepState: true });
    expect(engine.url).toBe(url);
    const body = { client_uuid: "client-a", episode_uuid: uuid };
    expect(await wire.call("/can_continue_episode", body)).toEqual({ can_continue: true });
  });

  test("without its state: nothing is known, the training boots anew", async () => {
    at = await standIn();
    const { engine, wire, worker, advance } = at;
    const uuid = await worker.claim();
    await engine.restart({ keepState: false });
    expect(await wire.call("/get_engine_status")).toMatchObject({
      engine_status: "ENGINE.BOOTING",
      global_step: null,
    });
    await advance(4);
    expect(await worker.end("client-a", uuid, "t", 1)).toEqual({ detail: `Episode ${uuid} not found.` });
    expect(engine.summary()).toMatchObject({ claimsGranted: 1, endsRefused: 1, starts: 2 });
  });

  test("leaves nobody listening for as long as it is told", async () => {
    at = await standIn();
    const { engine, clock, advance } = at;
    const back = engine.restart({ keepState: true, downSeconds: 30 });
    while (engine.ledger.of("restart").length === 0) await settled();
    await advance(29);
    await expect(send(engine.url, "GET", "/health", undefined, {})).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
    await clock.advance(1000);
    await back;
    expect((await send(engine.url, "GET", "/health", undefined, {})).status).toBe(200);
  });
});

test("an idle connection is closed by the server, which never said when", async () => {
  at = await standIn({ config: { idleConnectionSeconds: 0.02 } });
  const connection = await Connection.open(at.engine.url);
  const answered = await connection.post("/can_continue_episode", '{"client_uuid":"c","episode_uuid":"e"}');
  expect(answered).toContain('{"can_continue":false}');
  expect(answered).not.toMatch(/^(connection|keep-alive):/im);
  await connection.ended();
  expect(at.engine.inspect().answered).toBe(1);
  connection.close();
});

test("a client that goes away in the middle of a stream harms nobody", async () => {
  at = await standIn({ config: { chatRoute: "newer" } });
  const { engine, worker, advance } = at;
  const uuid = await worker.claim();
  const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: "30" }] });
  await new Promise<void>((resolve) => {
    const headers = { "content-type": "application/json", ...worker.headersOf(uuid) };
    const streaming = request(`${engine.url}/v1/chat/completions`, { method: "POST", headers }, (answer) => {
      answer.once("data", () => streaming.destroy());
      answer.once("error", () => resolve());
    });
    streaming.on("error", () => resolve());
    streaming.end(body);
  });
  await advance(60);
  expect(engine.inspect()).toMatchObject({ status: "ENGINE.ROLLING", open: 1, arrived: 2, answered: 2 });
  expect(engine.ledger.of("internal-error")).toEqual([]);
});
