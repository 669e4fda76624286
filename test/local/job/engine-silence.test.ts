import { expect, test } from "vitest";
import { CANNOT_CONNECT } from "../../../functions/core/protocol.ts";
import { EngineSilence } from "../../../local/job/engine-silence.ts";
import { deadUrl, engineAt, engineThat } from "../../support/engine-that.ts";
import { sendText } from "../../support/http-server.ts";

const SECOND = 1000;

test("an engine that answers, or that has been silent for less than 5 s, is not worth a word", async () => {
  const silence = new EngineSilence(engineAt(await deadUrl()));
  expect(await silence.note("ENGINE.BOOTING", 0)).toBeUndefined();
  expect(await silence.note(CANNOT_CONNECT, SECOND)).toBeUndefined();
  expect(await silence.note(CANNOT_CONNECT, 5 * SECOND)).toBeUndefined();
  expect(await silence.note("ENGINE.ROLLING", 6 * SECOND)).toBeUndefined();
  expect(await silence.note(CANNOT_CONNECT, 7 * SECOND)).toBeUndefined();
});

test("after 5 s it is told that nobody listens there, and then once a minute", async () => {
  const url = await deadUrl();
  const silence = new EngineSilence(engineAt(url, { getRetries: 0 }));
  await silence.note(CANNOT_CONNECT, 0);
  const word = await silence.note(CANNOT_CONNECT, 5 * SECOND);
  expect(word).toContain(`${url} is no engine that answers, for 5 s now: EngineError: `);
  expect(word).toContain("ECONNREFUSED");
  expect(word).toMatch(/is the engine running, is engineUrl right\?\. Waiting; Ctrl-C stops\.$/);
  expect(await silence.note(CANNOT_CONNECT, 64 * SECOND)).toBeUndefined();
  expect(await silence.note(CANNOT_CONNECT, 65 * SECOND)).toContain("for 65 s now");
});

test("what is there but no engine is quoted", async () => {
  const page = await engineThat((_, response) => sendText(response, 200, "<html>hi</html>", "text/html"));
  const silence = new EngineSilence(page.engine);
  await silence.note(CANNOT_CONNECT, 0);
  const word = await silence.note(CANNOT_CONNECT, 5 * SECOND);
  expect(word).toContain(`expected the engine's JSON, found text/html: "<html>hi</html>"`);
});
