import { expect, test } from "vitest";
import { convergence } from "../../../../cli/engine-convergence.ts";
import type { Desired } from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import { running, Story, stopped } from "./story.ts";

/** After these looks, with a start sent wherever one is decided. */
function holdsAfter(desired: Desired, looks: readonly string[], step: number | null = 1): string {
  const story = new Story(desired, { startAttempts: 1 });
  for (const status of looks) if (story.look(status, { step }).kind === "start") story.starts();
  return convergence(desired, story.observed);
}

test.for([
  ["running", running(), ["ENGINE.OFFLINE", "ENGINE.BOOTING"], "not-yet"],
  ["running", running(), ["ENGINE.OFFLINE", "ENGINE.BOOTING", "ENGINE.ROLLING"], "yes"],
  ["running", running(), ["ENGINE.WEIGHT_SYNCING"], "yes"],
  ["running", running(), ["ENGINE.ROLLING", "ENGINE.CANNOT_CONNECT"], "not-yet"],
  ["running", running(), ["ENGINE.OFFLINE", "ENGINE.OFFLINE"], "failed"],
  ["restarted", running(1, { restart: "r-1" }), ["ENGINE.ROLLING"], "not-yet"],
  [
    "restarted",
    running(1, { restart: "r-1" }),
    ["ENGINE.ROLLING", "ENGINE.OFFLINE", "ENGINE.ROLLING"],
    "yes",
  ],
  ["stopped", stopped(), ["ENGINE.ROLLING"], "not-yet"],
  ["stopped", stopped(), ["ENGINE.ROLLING", "ENGINE.OFFLINE"], "yes"],
  ["stopped", stopped(), [], "not-yet"],
] as const)("wanted %s, after %s %s: %s", ([, desired, looks, expected]) => {
  expect(holdsAfter(desired, looks)).toBe(expected);
});

test("a wish that no tick has seen yet does not hold, whatever stands there", () => {
  const story = new Story(running(1));
  story.look("ENGINE.ROLLING");
  expect(convergence(running(2), story.observed)).toBe("not-yet");
});

test("stopped does not hold while a start may still arrive", () => {
  const story = new Story(running(1));
  story.look("ENGINE.OFFLINE");
  story.starts("dies");
  story.desired = stopped(2);
  story.look("ENGINE.OFFLINE");
  expect(convergence(stopped(2), story.observed)).toBe("not-yet");
});

test("a training that has run its last step is finished, not failed", () => {
  const story = new Story(running(1, { total_steps: 8 }));
  story.look("ENGINE.ROLLING", { step: 7 });
  story.look("ENGINE.ROLLING", { step: 8 });
  story.look("ENGINE.OFFLINE", { step: 0 });
  expect(convergence(running(), story.observed)).toBe("finished");
});
