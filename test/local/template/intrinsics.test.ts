// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Fn::Sub is written like this
import { describe, expect, it } from "vitest";
import { type References, resolve, Unresolved } from "../../../local/template/intrinsics.ts";

const references: References = {
  stackName: "Demo",
  lookup: (id) =>
    ({
      Queue: { ref: "http://queue", attributes: { Arn: "arn:queue", "Nested.Name": "deep" } },
      Level: { ref: "3", attributes: {} },
    })[id],
};

describe("a value with intrinsic functions", () => {
  it.each<[string, unknown, unknown]>([
    ["Ref of a resource", { Ref: "Queue" }, "http://queue"],
    ["Ref of a pseudo parameter", { Ref: "AWS::Region" }, "us-east-1"],
    ["Ref of the stack", { Ref: "AWS::StackName" }, "Demo"],
    ["GetAtt as a list", { "Fn::GetAtt": ["Queue", "Arn"] }, "arn:queue"],
    ["GetAtt as a text", { "Fn::GetAtt": "Queue.Nested.Name" }, "deep"],
    ["Join", { "Fn::Join": ["-", ["a", { Ref: "Level" }, { "Fn::Sub": "${AWS::Partition}" }]] }, "a-3-aws"],
    [
      "Sub",
      { "Fn::Sub": "${Queue}|${Queue.Arn}|${!Literal}|${AWS::AccountId}" },
      "http://queue|arn:queue|${Literal}|000000000000",
    ],
    [
      "Sub with its own names",
      { "Fn::Sub": ["${Mine}/${Queue}", { Mine: { Ref: "Level" } }] },
      "3/http://queue",
    ],
    [
      "Select from Split",
      { "Fn::Select": [1, { "Fn::Split": [":", { "Fn::GetAtt": ["Queue", "Arn"] }] }] },
      "queue",
    ],
    ["nested in lists and objects", { a: [{ b: { Ref: "Level" } }], Ref: 1 }, { a: [{ b: "3" }], Ref: 1 }],
    [
      "NoValue, which is left out",
      { a: { Ref: "AWS::NoValue" }, b: [{ Ref: "AWS::NoValue" }, 1] },
      { b: [1] },
    ],
    ["none at all", { a: 1, b: null, c: "x" }, { a: 1, b: null, c: "x" }],
  ])("%s", (_, value, expected) => {
    expect(resolve(value, references)).toEqual(expected);
  });

  it.each<[string, unknown, string]>([
    ["an unknown resource", { Ref: "Topic" }, "found Ref Topic"],
    ["an unknown attribute", { "Fn::GetAtt": ["Queue", "Color"] }, "found Fn::GetAtt Queue.Color"],
    ["an unknown function", { "Fn::If": ["Yes", 1, 2] }, 'found Fn::If ["Yes",1,2]'],
    ["an unknown part of a text", { "Fn::Join": ["", ["a", { Ref: "Topic" }]] }, "found Ref Topic"],
    ["an unknown name in a text", { "Fn::Sub": "${Topic.Arn}" }, "found Fn::GetAtt Topic.Arn"],
  ])("%s has no value, and says why", (_, value, found) => {
    const { a, b } = resolve({ a: value, b: 1 }, references) as { a: unknown; b: unknown };
    expect(b).toBe(1);
    expect(a).toBeInstanceOf(Unresolved);
    expect((a as Unresolved).message).toContain(found);
  });
});
