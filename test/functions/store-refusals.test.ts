/** What becomes of a rollout that the table will never write down, or not while the deployment is wrong. */
import { expect, onTestFinished, test, vi } from "vitest";
import { type FleetFixtureOptions, fleetFixtures } from "../support/fleet-fixture.ts";
import { type Refusal, refusingTable } from "../support/refusing-table.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();

/** A house whose table refuses rollout items in one state. */
async function refusing(state: string, refusal: Refusal, options: FleetFixtureOptions = {}) {
  const writes = { refused: 0 };
  const url = await refusingTable(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", ({ action, body }) => {
    if (action !== "PutItem" || !body.includes(`"state":{"S":"${state}"}`)) return undefined;
    writes.refused += 1;
    return refusal;
  });
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", url);
  onTestFinished(() => void vi.unstubAllEnvs());
  const house = await open({ limits: { maxAttempts: 1 }, ...options });
  await house.push(aRollout());
  return { house, writes };
}

const tooLarge = {
  name: "ValidationException",
  message: "Item size has exceeded the maximum allowed size",
};
const denied = { name: "AccessDeniedException", message: "not authorized to perform: dynamodb:PutItem" };

test("a result that cannot be stored is the agent's fault, and is written once", async () => {
  const { house, writes } = await refusing("reporting", tooLarge);
  expect((await house.deliver()).back).toEqual([]);
  expect(writes.refused).toBe(1);
  const item = await house.item(keyOf());
  expect(item).toMatchObject({ state: "dead", letter: "sent", history: [{ reason: "invalid-output" }] });
  expect(item?.history[0]?.detail).toBe(
    "the table refused PutItem: ValidationException: Item size has exceeded the maximum allowed size",
  );
  expect(await house.letters()).toMatchObject([{ body: aRollout(), facts: { reason: "invalid-output" } }]);
  expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, endsAccepted: 0, aborts: 1, open: 0 });
});

test("a rollout that cannot be stored is a dead letter, and its episode is given back", async () => {
  const { house, writes } = await refusing("running", tooLarge);
  expect((await house.deliver()).back).toEqual([]);
  expect(writes.refused).toBe(1);
  expect(await house.letters()).toMatchObject([{ body: aRollout(), facts: { reason: "invalid-message" } }]);
  expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, modelCalls: 0, aborts: 1, open: 0 });
});

test("a permission that is missing is waited for, but not until the function's time is up", async () => {
  const { house, writes } = await refusing("reporting", denied);
  const { records, back } = await house.deliver();
  expect(back).toEqual(records.map(({ messageId }) => messageId));
  // In the function's 900 s there would be more than sixty.
  expect(writes.refused).toBeLessThanOrEqual(7);
  expect(await house.item(keyOf())).toMatchObject({ state: "running" });
});
