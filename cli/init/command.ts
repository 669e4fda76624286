/** `sortie init`: a project of the user's own, with an agent, three tasks and what it takes to try and deploy them. */
import type { Command } from "commander";
import type { Io } from "../io.ts";
import { makeProject } from "./project.ts";

const HELP = `
Examples:
  $ sortie init my-rollouts
  $ cd my-rollouts && npm install && npm start`;

export function registerInit(program: Command, io: Io): void {
  program
    .command("init")
    .description("Makes a project of your own: an agent, tasks, a test, and the settings to deploy it.")
    .argument("[dir]", "where; files that are there already are left as they are", ".")
    .addHelpText("after", HELP)
    .action(async (dir: string) => {
      const files = await makeProject(dir);
      io.out(`${files.map((file) => `  ${file}`).join("\n")}\n\nNow:\n${steps(dir)}`);
    });
}

function steps(dir: string): string {
  return [
    ...(dir === "." ? [] : [`cd ${dir}`]),
    "npm install",
    "npx sortie agent try agent.ts --tasks tasks.jsonl",
    "npm start",
  ]
    .map((step) => `  ${step}\n`)
    .join("");
}
