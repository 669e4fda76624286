/** The stand-in does what the real engine was recorded doing: every situation of `engine-traces.json`. */
import { afterEach, describe, expect, test } from "vitest";
import { Connection } from "./http.ts";
import { Replay } from "./replay.ts";
import { situations } from "./traces.ts";

/** Situations that are not replayed step by step, and why. */
const otherwise: Readonly<Record<string, string>> = {
  connection_after_500: "needs one kept-alive connection; replayed below on a raw socket",
};

let replay: Replay | undefined;
afterEach(async () => {
  await replay?.engine.close();
  replay = undefined;
});

describe("the stand-in answers as the real engine", () => {
  test.each(situations.filter(({ name }) => otherwise[name] === undefined))("$name", async (situation) => {
    replay = await Replay.begin(situation);
    await replay.run();
  });

  test("every recorded situation is replayed", () => {
    expect(situations).toHaveLength(128);
    expect(situations.flatMap(({ steps }) => steps)).toHaveLength(602);
    const names = situations.map(({ name }) => name);
    expect(Object.keys(otherwise).filter((name) => !names.includes(name))).toEqual([]);
  });
});

test("connection_after_500: the kept-alive connection is dropped, and nothing says so", async () => {
  const recorded = situations.find(({ name }) => name === "connection_after_500");
  if (recorded === undefined) throw new Error("expected the recorded situation, found none");
  replay = await Replay.begin(recorded);
  replay.bindUnknown("<episode-1>");
  const connection = await Connection.open(replay.engine.url);
  const [first, second, third] = recorded.steps.map(({ path, body }) => ({
    path,
    body: replay?.fill(JSON.stringify(body)) ?? "",
  }));

  const answered = await connection.post(first?.path ?? "", first?.body ?? "");
  expect(answered).toMatch(/^HTTP\/1\.1 200 /);
  expect(answered).toContain('{"can_continue":false}');
  expect(answered).toMatch(/^content-type: application\/json\r$/m);
  expect(answered).not.toMatch(/^(connection|keep-alive):/im);

  const refused = await connection.post(second?.path ?? "", second?.body ?? "");
  expect(refused).toMatch(/^HTTP\/1\.1 500 /);
  expect(refused).toMatch(/^content-type: text\/plain; charset=utf-8\r$/m);
  expect(refused).not.toMatch(/^connection:/im);

  await connection.ended();
  expect(await connection.post(third?.path ?? "", third?.body ?? "")).toBeUndefined();
  expect(replay.engine.inspect().arrived).toBe(2);
  connection.close();
});
