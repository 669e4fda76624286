/** `docs/reasons.md` and the code know the same reasons. */
import { describe, expect, test } from "vitest";
import { letterReasons } from "../../cli/dead/letter.ts";
import { type Reason, reasons, usesUpAnAttempt } from "../../functions/core/reasons.ts";
import { isDone } from "../../functions/core/rollout/item.ts";
import { closed } from "../../functions/core/rollout/transitions.ts";
import { decodeSettings } from "../../lib/settings.ts";
import { anOpenItem } from "../functions/core/items.ts";
import { engineUrl } from "../lib/synthesise.ts";
import { readPage } from "./blocks.ts";

const page = readPage("docs/reasons.md");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, code = "", meaning = "", penalty = "", advice = ""]) => ({
    code: code.replaceAll("`", "") as Reason,
    meaning,
    penalty,
    advice,
  }));

describe("docs/reasons.md", () => {
  test("has each reason once, in the code's order and words", () => {
    expect(rows.map(({ code, meaning }) => [code, meaning])).toEqual(Object.entries(reasons));
  });

  test.each(rows)("says of $code what it costs: $penalty", ({ code, penalty }) => {
    const after = closed(anOpenItem(), { reason: code, now: 1, maxAttempts: 3 });
    if (penalty === "final") expect(code === "invalid-message" || isDone(after)).toBe(true);
    else if (code === "ended") expect([penalty, after.state, after.attempts]).toEqual(["no", "ended", 0]);
    else {
      expect(after).toMatchObject({ state: "waiting", attempts: penalty === "yes" ? 1 : 0 });
      expect(usesUpAnAttempt(code)).toBe(penalty === "yes");
    }
  });

  test.each(rows)("says what to do about $code, with settings that there are", ({ advice }) => {
    expect(advice.length).toBeGreaterThan(5);
    const settings = JSON.stringify(
      decodeSettings({ engineUrl, fleets: { main: { stragglerGraceSeconds: 60 } } }),
    );
    const named = [...advice.matchAll(/`([a-z]+[A-Z]\w+)`/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !settings.includes(`"${name}"`))).toEqual([]);
  });

  test("has the reasons that a dead letter can have besides", () => {
    const others = letterReasons.filter((reason) => !Object.hasOwn(reasons, reason));
    expect(others).toHaveLength(1);
    for (const reason of others) expect(page).toContain(`\`${reason}\``);
  });

  test.each([
    ["README.md", "When things fail", "docs/reasons.md"],
    ["docs/sortie.md", "Dead letters", "reasons.md"],
  ])("is linked from %s, in its part %s", (from, heading, link) => {
    const [, part = ""] = readPage(from).split(`\n## ${heading}\n`);
    expect(part.split("\n## ")[0]).toContain(`(${link})`);
  });
});
