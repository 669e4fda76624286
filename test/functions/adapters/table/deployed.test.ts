import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { expect, test } from "vitest";
import { StateTable } from "../../../../lib/state-table.ts";
import { tableSchema } from "../../../../local/template/specs.ts";
import { stateTable } from "./servers.ts";

test("the table that the adapter is tested on is the one that is deployed", () => {
  const stack = new Stack(new App(), "Test");
  new StateTable(stack, "State");
  const [found] = Object.values(Template.fromStack(stack).findResources("AWS::DynamoDB::GlobalTable"));
  expect({ ...tableSchema.parse(found?.["Properties"]), name: "state" }).toEqual(stateTable);
}, 30_000);
