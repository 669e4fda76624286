/** A dataset for a local run: word problems with whole-number answers, generated from a seed. */
import type { Random } from "../../functions/core/clock.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { createRandom, pick } from "../random.ts";
import { type Problem, simpleTemplates, type Template } from "./problem-templates.ts";
import { hardTemplates } from "./problem-templates-hard.ts";

export const templates: readonly Template[] = [...simpleTemplates, ...hardTemplates];

/** After so many repeated questions in a row a repeated one is taken: it has the same answer. */
const REDRAWS = 100;

/**
 * Tasks `problem-0001` and up, the same for the same seed; the first tasks do not depend on `count`. As in GSM8K,
 * `metadata.answer` ends in `#### <answer>`; `metadata.difficulty` is 1 to 3, and `metadata.expression` computes the
 * answer. An agent must send none of these to the model.
 */
export function generateProblems({ seed, count }: { seed: number; count: number }): Task[] {
  const random = createRandom("problems", seed);
  const seen = new Set<string>();
  return Array.from({ length: count }, (_, index) => {
    const template = pick(random, templates);
    const problem = drawNew(template, random, seen);
    seen.add(problem.question);
    return asTask(problem, template, index + 1);
  });
}

function drawNew(template: Template, random: Random, seen: ReadonlySet<string>): Problem {
  let problem = template.draw(random);
  for (let again = 0; seen.has(problem.question) && again < REDRAWS; again += 1)
    problem = template.draw(random);
  return problem;
}

function asTask(problem: Problem, { kind, difficulty }: Template, number: number): Task {
  return {
    task_id: `problem-${String(number).padStart(4, "0")}`,
    main_query: problem.question,
    init_messages: [],
    env_type: "math",
    metadata: {
      answer: `${problem.steps}\n#### ${problem.answer}`,
      kind,
      difficulty,
      expression: problem.expression,
    },
  };
}
