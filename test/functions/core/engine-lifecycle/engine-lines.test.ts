/** The lines of an engine's terminal, over HTTP, with a real table. */
import { describe, expect, test } from "vitest";
import { createEngineLinesStore } from "../../../../functions/adapters/table/engine-lines.ts";
import {
  LinesExchange,
  messagesToEngine,
  tellingEngine,
} from "../../../../functions/core/engine-lifecycle/engine-lines.ts";
import type { Log } from "../../../../functions/core/log.ts";
import type { Faults } from "../../../../local/engine/faults.ts";
import { useTable } from "../../adapters/table/engine-table.ts";
import { Lab } from "./lab.ts";

const options = useTable();
const quiet: Log = () => undefined;

function exchangeOf(lab: Lab) {
  const lines = new LinesExchange(lab.name);
  const store = createEngineLinesStore(options());
  const ports = { clock: lab.clock, log: quiet, engine: lab.client, store };
  /** All that one sweep brings about. */
  const exchange = async () => {
    lines.begin(ports);
    await lines.end({ clock: { now: lab.clock.now, sleep: () => new Promise(() => undefined) } });
  };
  const kept = async () =>
    (await store.read(lab.name))?.lines.map(({ tag, message }) => `${tag}: ${message}`);
  return { lines, ports, exchange, kept, store };
}

describe("a newer engine", () => {
  test("gets Sortie's lines, at most one in ten seconds; those between stand in the next one", async () => {
    const lab = await Lab.open(options());
    const { lines, exchange, kept } = exchangeOf(lab);
    lines.say("starts the engine: wanted running");
    await exchange();
    lines.say("swept: 2 settled");
    lines.say("alarm stalled: nothing moves");
    await lab.pass(9);
    await exchange();
    expect(await kept()).toEqual(["sortie: starts the engine: wanted running"]);
    await lab.pass(1);
    await exchange();
    expect(await kept()).toEqual([
      "sortie: starts the engine: wanted running",
      "sortie: swept: 2 settled; alarm stalled: nothing moves",
    ]);
  });

  test("shows others' lines too; each is kept once, without keys", async () => {
    const lab = await Lab.open(options());
    const { exchange, kept } = exchangeOf(lab);
    await lab.client.pushLog({ tag: "trainer", message: "key sk-ajet-abcdefghijklmnop" });
    await exchange();
    await lab.pass(5);
    await exchange();
    const shown = await kept();
    expect(shown).toHaveLength(1);
    expect(shown?.[0]).toMatch(/^trainer: key /);
    expect(shown?.[0]).not.toContain("abcdefghijklmnop");
  });

  test("that is slow holds nothing up", async () => {
    const faults: Faults = ({ path }) => (path === "/get_verbose_logs" ? { kind: "hang" } : undefined);
    const lab = await Lab.open(options(), faults);
    const { lines, ports } = exchangeOf(lab);
    lines.begin(ports);
    let ended = false;
    const end = lines.end(ports).then(() => {
      ended = true;
    });
    await lab.clock.advance(1999);
    expect(ended).toBe(false);
    await lab.clock.advance(1);
    await end;
    expect(ended).toBe(true);
  });
});

test("an older engine is asked once in ten minutes, and the table says that it offers none", async () => {
  const asked: string[] = [];
  const faults: Faults = ({ path }) => void (path.includes("verbose_log") && asked.push(path));
  const lab = await Lab.open(options(), faults, "older");
  const { lines, exchange, store } = exchangeOf(lab);
  lines.say("swept: 1 settled");
  await exchange();
  await lab.pass(599);
  await exchange();
  expect(asked).toEqual(["/push_verbose_log"]);
  expect(await store.read(lab.name)).toMatchObject({ offered: false, lines: [] });
  await lab.pass(1);
  await exchange();
  expect(asked).toEqual(["/push_verbose_log", "/get_verbose_logs"]);
});

test("starts, stops, alarms and sweeps are said; everything is logged as before", async () => {
  const said: string[] = [];
  const logged: string[] = [];
  const log = tellingEngine((_, message) => logged.push(message), { say: (text) => void said.push(text) });
  log("info", messagesToEngine.starting, { why: "wanted running", config: "abc" });
  log("info", messagesToEngine.stopping, { why: "wanted stopped" });
  log("warn", messagesToEngine.attention, { alarm: "stalled", text: "nothing moves" });
  log("info", messagesToEngine.swept, { settled: 2, orphans: 0, confirmed: 3 });
  log("info", "message not released", { rollout: "r" });
  expect(said).toEqual([
    "starts the engine: wanted running",
    "stops the engine: wanted stopped",
    "alarm stalled: nothing moves",
    "swept: 2 settled, 3 confirmed",
  ]);
  expect(logged).toHaveLength(5);
});
