import fc from "fast-check";
import { expect, test } from "vitest";
import { engineAddress, rewriteBaseUrl } from "../../../../functions/adapters/engine/address.ts";

test.for([
  ["http://engine:10086", "http://engine:10086"],
  ["http://engine:10086/", "http://engine:10086"],
  [" https://host/prefix// ", "https://host/prefix"],
  ["http://[::1]:10086", "http://[::1]:10086"],
] as const)("the setting %j is used as %s", ([setting, address]) => {
  expect(engineAddress(setting)).toBe(address);
});

test.for([
  ["engine:10086", 'expected http or https, found "engine:"'],
  ["", 'expected a URL such as https://host/prefix, found ""'],
  ["ftp://engine", 'expected http or https, found "ftp:"'],
  ["http://engine?x=1", "expected nothing after the path"],
] as const)("the setting %j is refused", ([setting, fault]) => {
  expect(() => engineAddress(setting)).toThrow(fault);
});

test("every fault of the setting is named at once, and the password is not repeated", () => {
  const refused = () => engineAddress("ftp://user:hunter2@engine/x#y");
  expect(refused).toThrow(/found "ftp:"\n.*no user name or password.*\n.*nothing after the path/);
  expect(refused).not.toThrow(/hunter2/);
});

test.for([
  ["http://localhost:10086/v1", "http://engine:10086", "http://engine:10086/v1"],
  ["http://10.0.0.5:27788/v1", "https://gpu.example/gw", "https://gpu.example/gw/v1"],
  ["HTTPS://inside/v1", "http://engine:1", "http://engine:1/v1"],
  ["http://inside", "http://engine:1", "http://engine:1"],
  ["http://inside/", "http://engine:1", "http://engine:1/"],
  ["http://inside/a/../v1", "http://engine:1", "http://engine:1/v1"],
  ["http://inside/v1", "http://engine/$&", "http://engine/$&/v1"],
] as const)("the grant's %s is reached at %s as %s", ([granted, address, reached]) => {
  expect(rewriteBaseUrl(granted, address)).toBe(reached);
});

test.for([
  "",
  "http:///other/v1",
  "http:/other/v1",
  "http:other/v1",
  "https:other",
  "http:\\\\other\\v1",
  "http://inside\\@other/v1",
  " http://other/v1",
  "\thttp://other/v1",
  "http://ot\nher/v1",
  "//other/v1",
  "/v1",
  "ftp://inside/v1",
  "javascript:alert(1)",
  "http://user:secret@inside/v1",
  "http://@inside/v1",
  "http://inside/v1?to=other",
  "http://inside/v1#x",
  "http://[inside/v1",
  "http://",
] as const)("the grant's %j is no address to send prompts to", (granted) => {
  expect(rewriteBaseUrl(granted, "http://engine:1")).toBeUndefined();
});

test.for(["http:///engine", "http:/engine", "http:\\\\engine", "https:engine"] as const)(
  "the setting %j, which a parser would forgive, is refused",
  (setting) => {
    expect(() => engineAddress(setting)).toThrow("expected a URL such as https://host/prefix");
  },
);

test("whatever the engine says, a usable address is at the client's own origin and prefix", () => {
  const address = "https://gpu.example/gw";
  const pieces = fc.constantFrom(
    "http:",
    "https:",
    "/",
    "//",
    "\\",
    "@",
    "?",
    "#",
    " ",
    "other",
    ":8",
    "..",
    "\t",
    "%2f",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const url = rewriteBaseUrl(parts.join(""), address);
      if (url === undefined) return;
      expect(new URL(url).origin).toBe("https://gpu.example");
      expect(new URL(url).pathname.startsWith("/gw")).toBe(true);
      expect(new URL(url).username).toBe("");
    }),
  );
});
