/** `docs/state.md` knows every item, attribute, index and access of the code, and nothing else. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { fleetAdmissionSchema } from "../../functions/core/admission/admission-item.ts";
import { desiredSchema, observedSchema } from "../../functions/core/engine-lifecycle/engine-state.ts";
import { leaseSchema } from "../../functions/core/engine-lifecycle/lease.ts";
import { snapshotSchema } from "../../functions/core/housekeeping/snapshot.ts";
import { SETTLED_MS } from "../../functions/core/housekeeping/take-snapshot.ts";
import { fleetTotalsSchema } from "../../functions/core/housekeeping/totals.ts";
import { batchSeenSchema } from "../../functions/core/rollout/batch-seen.ts";
import { rolloutItemSchema, rolloutStates } from "../../functions/core/rollout/item.ts";
import { trainingSeenSchema } from "../../functions/core/rollout/training-seen.ts";
import { stateTable } from "../functions/adapters/table/servers.ts";
import { page, quoted, tableAfter } from "./state-page.ts";

const folder = new URL("../../functions/adapters/table/", import.meta.url);
const adapters = readdirSync(folder).map((name) => ({
  name,
  code: readFileSync(new URL(name, folder), "utf8"),
}));

/** Names of items' attributes; what stands inside of a record is the user's. */
function attributesOf(schema: z.ZodType): string[] {
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    for (const name of Object.keys((part as { properties?: object }).properties ?? {})) names.add(name);
    for (const value of Object.values(part)) visit(value);
  };
  visit(z.toJSONSchema(schema, { unrepresentable: "any" }));
  return [...names];
}

describe("items", () => {
  const rows = tableAfter("## Items");
  /** The constant part of a sort key: `SNAPSHOT#` for `SNAPSHOT#<at>`. */
  const constant = (key: string) => key.replace(/<.*|\$\{.*/, "");

  test("the page lists the sort keys that the code writes, and no other", () => {
    const inCode = adapters.flatMap(({ code }) =>
      [...code.matchAll(/\bsk: ["`]([^"`]+)["`]/g)].map(([, key = ""]) => constant(key)),
    );
    const onPage = rows.map(([, , sk = ""]) => constant(quoted(sk)[0] ?? ""));
    // The usage of all time is under the same constant part as a day's.
    expect(new Set(onPage.filter((key) => key !== "USAGE#TOTAL"))).toEqual(new Set(inCode));
    expect(onPage).toContain("USAGE#TOTAL");
  });

  test("each item of the list has its section", () => {
    for (const [item = ""] of rows) {
      const anchor = /\(#(.+)\)/.exec(item)?.[1] ?? "";
      expect(page.toLowerCase()).toContain(`\n### ${anchor.replaceAll("-", " ")}\n`);
    }
  });

  test.each([
    ["rollout", rolloutItemSchema],
    ["totals", fleetTotalsSchema],
    ["admission", fleetAdmissionSchema],
    ["batch", batchSeenSchema],
    ["training", trainingSeenSchema],
    ["desired state", desiredSchema],
    ["observed state", observedSchema],
    ["lease", leaseSchema],
    // The pool is in the engine's own words.
    ["snapshot", snapshotSchema.omit({ pool: true })],
  ])("every attribute of the %s is on the page", (_, schema) => {
    const names = attributesOf(schema);
    expect(names.length).toBeGreaterThan(2);
    expect(names.filter((name) => !new RegExp(`["\`.]${name}[\\\\"\`]`).test(page))).toEqual([]);
  });
});

describe("indexes", () => {
  test("keys and attributes are those of the table", () => {
    const rows = tableAfter("## Indexes").map(([index = "", partition = "", sort = "", , shows = ""]) => ({
      name: quoted(index)[0],
      keys: [quoted(partition)[0], quoted(sort)[0]],
      shows: quoted(shows),
    }));
    const table = stateTable.indexes.map(({ IndexName, KeySchema, Projection }) => ({
      name: IndexName,
      keys: KeySchema.map(({ AttributeName }) => AttributeName),
      shows: Projection.NonKeyAttributes,
    }));
    expect(rows).toEqual(table);
  });
});

describe("who reads and writes what", () => {
  const rows = tableAfter("## Who reads and writes what").map(([, , code = ""]) => quoted(code));
  const paths = rows.flat().filter((name) => name.includes("/"));
  const named = rows.flat().filter((name) => !name.includes("/"));
  const sources = paths
    .map((path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"))
    .join("\n");

  test("each function and method that is named is there", () => {
    const words = named.flatMap((name) => name.match(/\w+/g) ?? []);
    expect(words.length).toBeGreaterThan(30);
    for (const word of words) expect(sources).toMatch(new RegExp(`\\b${word}\\b`));
  });

  test("each store, and each function that sends a command by itself, is named", () => {
    const exported = adapters.flatMap(({ code }) =>
      [...code.matchAll(/export (?:async )?function ((?:create\w+Store|set|read|recent)\w*)\(/g)].map(
        ([, name = ""]) => name,
      ),
    );
    expect(exported.length).toBeGreaterThan(10);
    const known = new Set(named.map((name) => name.replace(/\(.*/, "")));
    expect(exported.filter((name) => !known.has(name))).toEqual([]);
  });

  test("nothing scans the table, as the page says", () => {
    expect(page).toContain("Nothing scans the table.");
    for (const { code } of adapters) expect(code).not.toMatch(/ScanCommand|paginateScan/);
  });
});

test("the totals stay behind the clock for as long as the page says", () => {
  expect(page.replaceAll("\n", " ")).toContain(`\`as_of\` stays ${SETTLED_MS / 1000} s behind the clock`);
});

test("the diagram knows each state of a rollout, and no other", () => {
  const diagram = /```mermaid\n(.*?)```/s.exec(page)?.[1] ?? "";
  const names = [...diagram.matchAll(/(\w+) --> (\w+|\[\*\])/g)].flatMap(([, from = "", to = ""]) => [
    from,
    to,
  ]);
  expect([...new Set(names)].filter((name) => name !== "[*]").toSorted()).toEqual(rolloutStates.toSorted());
});
