import { expect, test } from "vitest";
import { SettingsError } from "../../functions/contract/settings-error.ts";
import { decodeSettings } from "../../lib/settings.ts";
import { engineUrl, plain, resource, synthesise } from "./synthesise.ts";

const template = synthesise({ engineUrl, fleets: { math: {}, hard: {} }, retiredFleets: ["old"] });

test("the names of the fleets are a resource that CloudFormation compares with the last deployment's", () => {
  expect(plain(resource(template, "Custom::SortieFleetNames").Properties)).toEqual({
    ServiceToken: "<FleetNamesCheckFunction.Arn>",
    ServiceTimeout: "120",
    Fleets: "math,hard",
    RetiredFleets: "old",
  });
});

test("nothing of a fleet is made before its name has passed", () => {
  const [names = ""] = Object.keys(template.findResources("Custom::SortieFleetNames"));
  const late = ["AWS::SQS::Queue", "AWS::Lambda::EventSourceMapping"].flatMap((type) =>
    Object.values(template.findResources(type)).filter(
      ({ DependsOn }) => ![DependsOn].flat().includes(names),
    ),
  );
  expect(late).toEqual([]);
});

test("a fleet cannot be given up and kept", () => {
  const decode = () => decodeSettings({ engineUrl, fleets: { math: {} }, retiredFleets: ["math"] });
  expect(decode).toThrow(
    new SettingsError(["retiredFleets: fleet math is given up, and there is one: remove either"]),
  );
});
