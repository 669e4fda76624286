/**
 * `docs/agent-contract.schema.json` is the schema of the code; `UPDATE=1 npx vitest run test/docs/agent-contract.test.ts`
 * writes it anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentContractSchema } from "../../functions/contract/agent-invocation.ts";

const file = join(import.meta.dirname, "../../docs/agent-contract.schema.json");

test("docs/agent-contract.schema.json is what the code holds agents to", () => {
  const schema = agentContractSchema();
  if (process.env["UPDATE"] === "1") writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(schema);
});
