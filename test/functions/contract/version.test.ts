import { expect, test } from "vitest";
import { VERSION } from "../../../functions/contract/version.ts";
import manifest from "../../../package.json" with { type: "json" };

test("the version in the bundles is the package's", () => expect(VERSION).toBe(manifest.version));
