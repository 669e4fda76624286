/** A transcript in words, for a terminal. */
import type { Step, Transcript } from "../../functions/core/transcript/transcript.ts";
import { figure, shortSpan } from "../format.ts";
import type { Io } from "../io.ts";
import { counted } from "../push/text.ts";
import { printable } from "../terminal-text.ts";

/** Of what a tool said, a terminal is for the beginning. */
const TOOL_CHARACTERS = 400;

/** `number`: which attempt it is. */
export function chatText(transcript: Transcript, number: number, { style }: Pick<Io, "style">): string {
  const { extra, steps, notes } = transcript;
  const took = shortSpan(Date.parse(extra.ended_at) - Date.parse(extra.claimed_at));
  const step = extra.global_step === null ? "" : `, at step ${extra.global_step}`;
  const lines = [
    style("bold", `${number}. Attempt ${printable(extra.attempt)}${step}: ${endText(transcript)}, ${took}`),
    ...(extra.missing === undefined ? [] : [extra.missing]),
    "",
    ...steps.flatMap((one) => [...stepLines(one, style), ""]),
    ...(notes === undefined ? [] : [notes, ""]),
    ...logLines(transcript, style),
    ...(extra.detail?.split("\n").map((line) => style("red", printable(line))) ?? []),
    ...factLines(transcript),
    figures(transcript),
  ];
  return `${lines.join("\n")}\n`;
}

function endText({ extra: { reason, reward } }: Transcript): string {
  if (reward === undefined) return reason;
  const told = Array.isArray(reward)
    ? reward.map(figure).join(", ")
    : reward === null
      ? "none"
      : figure(reward);
  return `${reason}, reward ${told}`;
}

function stepLines(step: Step, style: Io["style"]): string[] {
  const { source, message, reasoning_content: reasoning, tool_calls: calls = [], observation } = step;
  const extra = step.extra ?? {};
  const branch = extra["branch"];
  return [
    ...(branch === undefined ? [] : [style("dim", `(another conversation: ${printable(String(branch))})`)]),
    `${style("bold", `${source}:`)}${metaText(step, style)}`,
    ...(reasoning === undefined ? [] : body(reasoning).map((line) => style("dim", line))),
    ...(message === "" ? [] : body(message).map((line) => (extra["error"] ? style("red", line) : line))),
    ...calls.flatMap(({ function_name: name, arguments: given, extra: raw }) =>
      body(`→ ${name}(${JSON.stringify(raw?.["arguments"] ?? given)})`),
    ),
    ...(observation?.results ?? []).flatMap(({ content = "" }) => body(`← ${folded(content)}`)),
  ];
}

function metaText({ metrics, extra, llm_call_count: calls }: Step, style: Io["style"]): string {
  if (calls === 0) return style("dim", " (not from the model)");
  if (!metrics) return "";
  const { prompt_tokens: asked, completion_tokens: answered } = metrics;
  const latency = metrics.extra?.["latency_ms"];
  const finish = extra?.["finish_reason"];
  const parts = [
    ...(typeof latency === "number" ? [`${(latency / 1000).toFixed(1)} s`] : []),
    ...(asked === undefined || answered === undefined ? [] : [`${asked} → ${answered} tokens`]),
    ...(typeof finish === "string" ? [printable(finish)] : []),
  ];
  return style("dim", ` ${parts.join(", ")}`);
}

function body(text: string): string[] {
  return text.split(/\r?\n/).map((line) => `  ${printable(line.replaceAll("\t", "  "))}`);
}

function folded(content: string): string {
  const rest = content.length - TOOL_CHARACTERS;
  return rest > 0 ? `${content.slice(0, TOOL_CHARACTERS)}… (${rest} characters more)` : content;
}

function logLines({ extra: { log } }: Transcript, style: Io["style"]): string[] {
  if (log.length === 0) return [];
  const lines = log.map(({ at, level, message, facts = {} }) => {
    const words = Object.keys(facts).length > 0 ? ` ${JSON.stringify(facts)}` : "";
    return style(
      level === "info" ? "dim" : "yellow",
      printable(`  ${at.slice(11, 19)} ${level}: ${message}${words}`),
    );
  });
  return [style("bold", "log:"), ...lines, ""];
}

function factLines({ extra: { metadata = {}, log_metrics: metrics = {} } }: Transcript): string[] {
  return Object.entries({ metadata, log_metrics: metrics })
    .filter(([, facts]) => Object.keys(facts).length > 0)
    .map(([name, facts]) => `${name} ${printable(folded(JSON.stringify(facts)))}`);
}

function figures({ final_metrics: totals }: Transcript): string {
  const calls = totals.extra?.["model_calls"];
  const { total_prompt_tokens: asked, total_completion_tokens: answered } = totals;
  return `${counted(Number(calls ?? 0), "model call")}, ${asked} tokens asked, ${answered} answered.`;
}
