/** What CloudFormation makes of the template when a stack goes, by the policies and protections of its resources. */
import { expect, test } from "vitest";
import { engineUrl, synthesise } from "./synthesise.ts";

interface Resource {
  readonly Type: string;
  readonly DeletionPolicy?: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}
type Event = "creation fails" | "stack is destroyed";
type Fate = "goes" | "stays" | "refuses to go";

/** https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html */
function fateOf(resource: Resource, event: Event): Fate {
  const policy = resource.DeletionPolicy ?? "Delete";
  if (policy === "Retain" || (policy === "RetainExceptOnCreate" && event === "stack is destroyed"))
    return "stays";
  return isProtected(resource.Properties) ? "refuses to go" : "goes";
}

/** As a table has it in each replica, a log group or a user pool in itself. */
function isProtected(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, inner]) =>
    /^(Deletion|Termination)Protection/i.test(name)
      ? inner !== false && inner !== "INACTIVE"
      : isProtected(inner),
  );
}

function fates(retain: boolean, event: Event): Record<Fate, string[]> {
  const stack = synthesise({ engineUrl, retain, alarmEmail: "ops@example.com" });
  const resources = Object.values(stack.toJSON()["Resources"] as Record<string, Resource>);
  const typesThat = (fate: Fate) =>
    [
      ...new Set(resources.filter((found) => fateOf(found, event) === fate).map(({ Type }) => Type)),
    ].toSorted();
  return { goes: typesThat("goes"), stays: typesThat("stays"), "refuses to go": typesThat("refuses to go") };
}

test("a protection is found wherever a resource has it", () => {
  const table = (on: boolean) => ({
    Type: "AWS::DynamoDB::GlobalTable",
    DeletionPolicy: "RetainExceptOnCreate",
    Properties: { Replicas: [{ DeletionProtectionEnabled: on }] },
  });
  expect(fateOf(table(true), "creation fails")).toBe("refuses to go");
  expect(fateOf(table(false), "creation fails")).toBe("goes");
  expect(fateOf(table(true), "stack is destroyed")).toBe("stays");
});

// What stayed would stand in the way of the next try, or be paid for unseen.
// The first synthesis of a process loads much of the CDK.
test.each([true, false])(
  "of a first deployment that fails nothing stays (retain: %s)",
  { timeout: 60_000 },
  (retain) => {
    expect(fates(retain, "creation fails")).toMatchObject({ stays: [], "refuses to go": [] });
  },
);

test("of a stack that is destroyed, table, queues and logs stay", () => {
  expect(fates(true, "stack is destroyed")).toMatchObject({
    stays: ["AWS::DynamoDB::GlobalTable", "AWS::Logs::LogGroup", "AWS::SQS::Queue"],
    "refuses to go": [],
  });
});

test("of a throw-away stack that is destroyed nothing stays", () => {
  expect(fates(false, "stack is destroyed")).toMatchObject({ stays: [], "refuses to go": [] });
});
