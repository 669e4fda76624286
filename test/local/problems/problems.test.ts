import { describe, expect, test } from "vitest";
import { referenceAnswer } from "../../../agents/support/answers.ts";
import { evaluate } from "../../../agents/support/arithmetic.ts";
import { toDecimal } from "../../../agents/support/rational.ts";
import { taskSchema } from "../../../functions/core/protocol.ts";
import { generateProblems, templates } from "../../../local/problems/problems.ts";
import { createRandom } from "../../../local/random.ts";

const many = generateProblems({ seed: 7, count: 1000 });

describe("generated problems", () => {
  test("are the same for the same seed, and others for another", () => {
    expect(generateProblems({ seed: 7, count: 1000 })).toEqual(many);
    expect(generateProblems({ seed: 8, count: 10 })).not.toEqual(many.slice(0, 10));
  });

  test("begin the same however many there are", () => {
    expect(generateProblems({ seed: 7, count: 20 })).toEqual(many.slice(0, 20));
  });

  test("have ids in order", () => {
    expect(many.slice(0, 2).map((task) => task.task_id)).toEqual(["problem-0001", "problem-0002"]);
    expect(many.at(-1)?.task_id).toBe("problem-1000");
  });

  test("are tasks as the protocol has them", () => {
    expect(many.map((task) => taskSchema.parse(task))).toEqual(many);
  });

  test("are of every kind and of three difficulties", () => {
    expect(templates.length).toBeGreaterThanOrEqual(8);
    expect(new Set(many.map(({ metadata: { kind } }) => kind))).toEqual(
      new Set(templates.map(({ kind }) => kind)),
    );
    expect(new Set(many.map(({ metadata: { difficulty } }) => difficulty))).toEqual(new Set([1, 2, 3]));
  });

  test("hardly ever ask the same", () => {
    expect(new Set(many.map((task) => task.main_query)).size).toBe(1000);
  });

  test("do not give the answer away in the question", () => {
    const numbers = (text: string): string[] => text.match(/\d+/g) ?? [];
    const given = many.filter((task) => numbers(task.main_query).includes(referenceAnswer(task)));
    // By chance the answer may be one of the numbers in the question.
    expect(given.length).toBeLessThan(50);
  });
});

describe.each(templates.map((template) => [template.kind, template] as const))(
  "a problem about %s",
  (_, template) => {
    const problems = Array.from({ length: 300 }, (_each, at) =>
      template.draw(createRandom(template.kind, at)),
    );

    test("has a positive whole answer that its expression computes", () => {
      for (const { answer, expression } of problems) {
        expect(answer).toBeGreaterThan(0);
        expect(toDecimal(evaluate(expression))).toBe(answer.toFixed(0));
      }
    });

    test("says every number that its solution needs", () => {
      const natural = ["2", "4", "100"]; // twice, legs and sides, per cent
      for (const { question, expression } of problems) {
        const said = [...(question.match(/\d+/g) ?? []), ...natural];
        expect(said).toEqual(expect.arrayContaining(expression.match(/\d+/g) ?? []));
      }
    });

    test("ends its steps with the answer", () => {
      for (const { steps, answer } of problems) expect(steps.match(/\d+/g)?.at(-1)).toBe(String(answer));
    });
  },
);
