/** The README's tables of settings are what the schema says. */
import { describe, expect, test } from "vitest";
import { decodeSettings } from "../../lib/settings.ts";
import { fleetShape, settingsSchema } from "../../lib/settings-schema.ts";
import { blocks, readPage } from "./blocks.ts";
import { settingsInReadme, settingsSections } from "./settings-table.ts";

const readme = readPage("README.md");

describe("settings", () => {
  /** Rows of all tables between the marks, cell by cell. */
  const rows = settingsInReadme()
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );

  test("the tables are what the schema says; `npx node test/docs/settings-table.ts` makes them anew", () => {
    const expected = settingsSections().flatMap((section) => section.rows);
    expect(rows).toEqual(
      expected.map(({ key, meaning, fallback, bounds }) => [`\`${key}\``, meaning, fallback, bounds]),
    );
  });

  test("each key of the schema has a row", () => {
    const keys = rows.map(([key = ""]) => key.replaceAll("`", ""));
    expect(keys).toEqual(expect.arrayContaining(Object.keys(settingsSchema.shape)));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("defaults are those that a deployment without settings gets", () => {
    const { stackName, fleets, deployment } = decodeSettings({ engineUrl: "http://10.0.0.7:10086" });
    const { engine: _, ...fleet } = fleets["main"] ?? {};
    const inUse = Object.entries({ stackName, ...fleet, ...deployment }).map(([key, value]) => [
      `\`${key}\``,
      `\`${value}\``,
    ]);
    const shown = new Map(rows.map(([key, , fallback]) => [key, fallback]));
    expect(inUse.length).toBeGreaterThan(20);
    expect(inUse.map(([key]) => [key, shown.get(key)])).toEqual(inUse);
  });

  test.each(blocks(readme, "json").filter((block) => /"(fleets|budget)"/.test(block)))(
    "example %# is taken",
    (block) => {
      const written = JSON.parse(block.replace("./my-agent.ts", "test/agents/samples/readme.ts"));
      const context = { engineUrl: "http://10.0.0.7:10086", ...written };
      expect(Object.keys(decodeSettings(context).fleets)).toEqual(
        Object.keys(written.fleets ?? { main: {} }),
      );
    },
  );

  test("those that it names elsewhere are there", () => {
    const elsewhere = readme.replace(settingsInReadme(), "");
    const named = ["claimWaitSeconds", "maxAttempts", "startAttempts", "throttle", "budget"];
    for (const key of named) expect(elsewhere).toContain(`\`${key}\``);
    for (const key of named) expect({ ...fleetShape, ...settingsSchema.shape }).toHaveProperty(key);
  });
});
