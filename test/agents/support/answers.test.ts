import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boxedAnswer, grade, openingMessages, referenceAnswer } from "../../../agents/support/answers.ts";
import { makeTask, says } from "../episode.ts";

describe("the boxed answer", () => {
  test.each([
    ["so \\boxed{42}", "42"],
    ["\\boxed{1}, no: \\boxed{2}", "2"],
    ["\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"],
    ["\\boxed{\\boxed{42}}", "42"],
    ["\\boxed {42}", "42"],
    ["\\boxed{ {42} }", "{42}"],
    ["\\boxed{4\\}2}", "4\\}2"],
    ["\\boxed{41} and then \\boxed{42", "41"],
    ["} } \\boxed{42} {", "42"],
    ["a { b \\boxed{42}", "42"],
    ["\\boxed{4\n2}", "4\n2"],
    ["\\boxed{}", undefined],
    ["\\boxed{ }", undefined],
    ["\\boxed{42", undefined],
    ["42", undefined],
    ["", undefined],
  ])("in %j is %j", (text, answer) => {
    expect(boxedAnswer(text)).toBe(answer);
  });

  test("is what was put into the last box, whatever stands around it", () => {
    const noise = fc.string({ unit: fc.constantFrom("a", " ", "{", "}", "\n", "1") });
    const inside = fc.string({ unit: fc.constantFrom("1", "2", ",", "x"), minLength: 1 });
    fc.assert(
      fc.property(noise, inside, inside, noise, (before, first, last, after) => {
        expect(boxedAnswer(`${before}\\boxed{${first}} ${before}\\boxed{${last}}${after}`)).toBe(last);
      }),
    );
  });
});

describe("the reference answer", () => {
  test.each<[unknown, string]>([
    ["6 * 7 = 42\n#### 42", "42"],
    ["#### 1,234 ", "1,234"],
    ["#### 1\n#### 2", "2"],
    ["42", "42"],
    [42, "42"],
  ])("of %j is %j", (answer, reference) => {
    expect(referenceAnswer(makeTask({ metadata: { answer } }))).toBe(reference);
  });

  test.each<[unknown, string]>([
    [undefined, "found nothing"],
    [null, "found a object"],
    [["#### 42"], "found a object"],
    ["", "found an empty text"],
    ["so it is ####  ", "found an empty text"],
    ["first 6 * 7, then halve it", "found a text without ####"],
  ])("of %j is missed by name, never taken for a wrong answer", (answer, message) => {
    const task = makeTask({ task_id: "gsm-7", metadata: { answer } });
    expect(() => referenceAnswer(task)).toThrow('task "gsm-7": expected metadata.answer');
    expect(() => referenceAnswer(task)).toThrow(message);
  });
});

describe("the opening messages", () => {
  const system = { role: "system", content: "Be right." };
  const question = { role: "user", content: "How much is 6 * 7?" };

  test("are the instruction and the query", () => {
    expect(openingMessages(makeTask(), "Be right.")).toEqual([system, question]);
  });

  test("hold the task's own messages before the query", () => {
    const init_messages = [{ role: "user", content: "Hello", name: "ann" }];
    expect(openingMessages(makeTask({ init_messages }), "Be right.")).toEqual([
      system,
      ...init_messages,
      question,
    ]);
  });

  test("hold the task's own system message instead of the instruction", () => {
    const own = { role: "system", content: "Answer in rhymes." };
    expect(openingMessages(makeTask({ init_messages: [own] }), "Be right.")).toEqual([own, question]);
  });

  test("do not ask twice what the task's messages ask already", () => {
    const init_messages = [{ role: "user", content: "Quick: How much is 6 * 7?" }];
    expect(openingMessages(makeTask({ init_messages }), "Be right.")).toEqual([system, ...init_messages]);
  });

  test("may come from the task's messages alone", () => {
    expect(openingMessages(makeTask({ main_query: "", init_messages: [question] }), "Be right.")).toEqual([
      system,
      question,
    ]);
  });

  test("leave the task as it was", () => {
    const task = makeTask({ init_messages: [{ role: "user", content: "Hello" }] });
    openingMessages(task, "Be right.");
    expect(task.init_messages).toEqual([{ role: "user", content: "Hello" }]);
  });

  test("cannot come from nothing", () => {
    expect(() => openingMessages(makeTask({ main_query: " " }), "Be right.")).toThrow(
      'task "task-1": expected main_query or init_messages, found neither',
    );
  });

  test("need roles", () => {
    const init_messages = [{ role: "user", content: "Hello" }, { content: "who says this?" }];
    expect(() => openingMessages(makeTask({ init_messages }), "Be right.")).toThrow(
      "expected init_messages[1].role",
    );
  });
});

describe("the grade", () => {
  test("of the right answer is 1", () => {
    expect(grade("1,234", says("It is \\boxed{\\$1234.00}."))).toEqual({
      reward: 1,
      is_success: true,
      metadata: { answer: "\\$1234.00", expected: "1,234" },
      log_metrics: { answered: 1 },
    });
  });

  test("of a wrong answer is 0", () => {
    expect(grade("42", says("\\boxed{41}"))).toEqual({
      reward: 0,
      is_success: false,
      metadata: { answer: "41", expected: "42" },
      log_metrics: { answered: 1 },
    });
  });

  test.each([["It is 42."], [""], [null]])(
    "of a reply without a box (%j) is 0 and says that there was none",
    (reply) => {
      expect(grade("42", says(reply))).toEqual({
        reward: 0,
        is_success: false,
        metadata: { answer: null, expected: "42" },
        log_metrics: { answered: 0 },
      });
    },
  );

  test("keeps only the beginning of a long answer, cut to well-formed text", () => {
    const { metadata } = grade("42", says(`\\boxed{${"x".repeat(199)}\u{1f600}${"y".repeat(1000)}}`));
    expect(metadata).toEqual({ answer: `${"x".repeat(199)}\ufffd`, expected: "42" });
  });
});
