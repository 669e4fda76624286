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
  ["", "http://engine:1", ""],
  ["http://inside/v1", "http://engine/$&", "http://engine/$&/v1"],
] as const)("the grant's %s is reached at %s as %s", ([granted, address, reached]) => {
  expect(rewriteBaseUrl(granted, address)).toBe(reached);
});
