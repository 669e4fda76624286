import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { processIo } from "../../cli/io.ts";
import { createProgram, exitCodes } from "../../cli/program.ts";

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const silent = { ...processIo, out: () => undefined, err: () => undefined };

/** The program, whose commands do nothing. */
function parser(): Command {
  const program = createProgram(silent);
  for (const command of leaves(program)) command.action(() => undefined);
  return program;
}

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap((one) => leaves(one));
}

/** Command lines as a shell would split them, up to a pipe. */
function commandLines(text: string): string[] {
  const shown = /(?:^|\$ |\| )(?:npx )?sortie( [^|\n]*)/gm;
  return text
    .split("\n")
    .filter((line) => /^\s*\$ |^npx |\| npx /.test(line))
    .flatMap((line) => [...line.matchAll(shown)].map(([, rest = ""]) => rest.trim()));
}

function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
}

describe.each(["docs/sortie.md", "docs/session.md"])("%s", (page) => {
  const lines = commandLines(read(page));

  test("shows every command", () => {
    const shown = new Set(lines.map((line) => line.split(" ")[0]));
    if (page === "docs/sortie.md") expect(shown).toEqual(new Set(parser().commands.map((one) => one.name())));
    expect(lines.length).toBeGreaterThan(10);
  });

  test.each(lines)("sortie %s is a command line that the program takes", async (line) => {
    await parser().parseAsync(words(line), { from: "user" });
  });
});

test("the examples of every help are command lines that the program takes", async () => {
  const helps: string[] = [];
  for (const command of leaves(createProgram({ ...processIo, out: (text) => void helps.push(text) })))
    command.outputHelp();
  const lines = helps.flatMap(commandLines);
  expect(lines.length).toBeGreaterThan(20);
  for (const line of lines) await parser().parseAsync(words(line), { from: "user" });
});

test("docs/sortie.md has every option of every command, and every exit code", () => {
  const text = read("docs/sortie.md");
  const options = leaves(createProgram(silent)).flatMap((command) =>
    command.options.map((option) => option.long ?? ""),
  );
  for (const option of new Set(options)) expect(text).toContain(option);
  for (const code of Object.values(exitCodes)) expect(text).toMatch(new RegExp(`^\\| ${code} +\\|`, "m"));
});
