/** Groups of rollouts: the tasks of a run, each as often as it was asked for. */
import { expect, test } from "vitest";
import { unevenGroups } from "../../../local/job/tasks.ts";

test.each([
  [128, 4, undefined],
  [4, 4, undefined],
  [
    10,
    4,
    "--rollouts 10 is no multiple of --repeats 4: the last task has 2 of its 4 rollouts. For whole groups, use 8 or 12",
  ],
  [
    3,
    8,
    "--rollouts 3 is no multiple of --repeats 8: the last task has 3 of its 8 rollouts. For whole groups, use 8",
  ],
])("%d rollouts of %d repeats", (rollouts, repeats, said) => {
  expect(unevenGroups({ rollouts, repeats })).toBe(said);
});
