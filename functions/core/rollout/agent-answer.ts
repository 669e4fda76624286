/**
 * What an answer of an agent outside of this function means. Between the two stand proxies and limiters that answer as
 * well: only what has the contract's shape is the agent's word. Nothing but a reward ever becomes a reward.
 */
import { type AgentAnswer, answerSchema, answerStatus } from "../../contract/agent-invocation.ts";
import { InvalidOutputError, redact, shorten } from "../errors.ts";
import type { Reason } from "../reasons.ts";
import type { AgentOutcome, AgentWork } from "./agent-runner.ts";
import { checkOutput } from "./check-output.ts";
import { shown } from "./shown.ts";

/** An answer as it came. */
export interface AgentReply {
  readonly status: number;
  /** Without parameters, lower case; empty where there is none. */
  readonly contentType: string;
  readonly text: string;
}

type Judged = Pick<AgentWork, "allowUnusualRewards" | "log"> & {
  rollout: Pick<AgentWork["rollout"], "episodeType">;
};
type Failed = AgentOutcome & { kind: "failed" };

/** Of an agent's own message, and of its traceback in the log. */
const MESSAGE_LENGTH = 450;
const TRACEBACK_LENGTH = 8000;
/** A model call that ended so never reached the model; 0 stands for no answer at all. */
const beforeTheModel: ReadonlySet<number> = new Set([0, 403, 407, 408, 429, 502, 503, 504]);
/** The service's guard refused us, or nobody is behind it: a fault of the deployment, not of the rollout. */
const notTheAgent: ReadonlySet<number> = new Set([401, 403, 407, 408, 502, 503, 504]);

/** The outcome that an answer stands for. HTTP 429 is for the caller: it means that nothing was run. */
export function outcomeOf(reply: AgentReply, work: Judged): AgentOutcome {
  if (reply.status < 200 || reply.status >= 300) return refusal(reply, work);
  const json = parsed(reply.text);
  const answer = answerSchema.safeParse(json);
  const kind = kindOf(isRecord(json) ? json : {});
  if (kind !== undefined) return { kind: "failed", ...failureIn(kind, json as AgentAnswer, work) };
  if (!isRecord(json)) return invalid(`a JSON object with \`reward\` or \`rewards\``, found(reply));
  return answer.success
    ? output(answer.data, work)
    : invalid("an answer of the contract", faultsOf(answer.error, json));
}

function output(answer: AgentAnswer, work: Judged): AgentOutcome {
  const given = "rewards" in answer ? answer.rewards : answer.reward;
  if (!("rewards" in answer) && !("reward" in answer))
    return invalid("`reward` or `rewards` in the answer", `the keys ${shown(Object.keys(answer))}`);
  // A list as `rewards` is one value a turn, of which the last counts; as `reward` it is what the agent wants to report.
  const reward = "rewards" in answer && Array.isArray(given) ? given.at(-1) : given;
  try {
    const { is_success, metadata, metrics } = answer;
    const value = { reward, is_success, metadata: metadata ?? {}, log_metrics: metrics ?? {} };
    const checked = checkOutput(value, work.rollout.episodeType, work.allowUnusualRewards, (what, entries) =>
      work.log("warn", what, { entries }),
    );
    return { kind: "output", output: checked };
  } catch (error) {
    if (!(error instanceof InvalidOutputError)) throw error;
    return { kind: "failed", reason: "invalid-output", detail: error.message };
  }
}

/** Which failure an answer reports; undefined where it reports none. */
function kindOf(answer: Record<string, unknown>): "discard" | "model" | "failed" | undefined {
  const status = answer["status_code"] ?? answerStatus.ok;
  if (status === answerStatus.discard) return "discard";
  if (status === answerStatus.model || answer["error_type"] === "model") return "model";
  if (typeof status === "number" && status >= 400) return "failed";
  return undefined;
}

function failureIn(
  kind: "discard" | "model" | "failed",
  answer: Record<string, unknown>,
  work: Judged,
): { reason: Reason; detail: string } {
  const said = wordsIn(answer);
  if (kind === "discard") return { reason: "agent-discarded", detail: said || "discarded by the agent" };
  logTraceback(answer, work);
  const status = answer["model_status"];
  if (kind === "failed")
    return { reason: "agent-error", detail: said || "the agent failed and said nothing" };
  if (typeof status === "number" && beforeTheModel.has(status))
    return { reason: "engine-unreachable", detail: `a model call did not reach the model: ${said}` };
  return { reason: "model-error", detail: `${said}${typeof status === "number" ? ` (HTTP ${status})` : ""}` };
}

/** An HTTP status other than success. */
function refusal(reply: AgentReply, work: Judged): Failed {
  const { status } = reply;
  const json = parsed(reply.text);
  const answer = isRecord(json) ? json : undefined;
  const own = answer !== undefined && (wordsIn(answer) !== "" || typeof answer["status_code"] === "number");
  if (notTheAgent.has(status) || status < 400 || (status < 500 && !own) || isPage(reply))
    return {
      kind: "failed",
      reason: "agent-unreachable",
      detail: `expected the agent's answer, found ${found(reply)}`,
    };
  const kind = kindOf({ status_code: status, ...answer });
  if (answer && (kind === "discard" || kind === "model") && answer["status_code"] !== undefined)
    return { kind: "failed", ...failureIn(kind, answer, work) };
  if (answer) logTraceback(answer, work);
  const detail = (answer && wordsIn(answer)) || found(reply);
  if (status < 500) return { kind: "failed", reason: "agent-refused", detail: `HTTP ${status}: ${detail}` };
  return { kind: "failed", reason: "agent-error", detail };
}

/** A web page is a proxy's. */
function isPage({ contentType }: AgentReply): boolean {
  return contentType === "text/html";
}

/** The agent's own words for what went wrong: ours, bedrock-agentcore's (`error`), and FastAPI's (`detail`). */
function wordsIn(answer: Record<string, unknown>): string {
  const said = ["error", "stop_reason", "detail"]
    .map((name) => answer[name])
    .find((text) => text !== undefined && text !== null);
  if (said === undefined) return "";
  return clean(typeof said === "string" ? said : JSON.stringify(said), MESSAGE_LENGTH);
}

function logTraceback({ traceback }: Record<string, unknown>, work: Judged): void {
  if (typeof traceback !== "string" || traceback === "") return;
  work.log("warn", "agent failed", {
    traceback: clean(traceback.slice(-TRACEBACK_LENGTH), TRACEBACK_LENGTH),
  });
}

function clean(text: string, limit: number): string {
  return shorten(redact(text), limit);
}

function invalid(expected: string, what: string): Failed {
  return { kind: "failed", reason: "invalid-output", detail: `expected ${expected}, found ${what}` };
}

function found({ status, contentType, text }: AgentReply): string {
  const type = contentType === "" ? "" : ` of ${contentType}`;
  return `HTTP ${status}${type}: ${text.trim() === "" ? "nothing" : clean(text.trim(), 120)}`;
}

function faultsOf(
  error: { issues: readonly { path: PropertyKey[] }[] },
  json: Record<string, unknown>,
): string {
  const names = [...new Set(error.issues.map(({ path }) => String(path[0] ?? "")))];
  return names.map((name) => `${shown(json[name])} as ${name}`).join(", ");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What Python's `json` writes beside JSON, and the strings in which it is no more than text. */
const BEYOND_JSON = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;

/** Python writes NaN and the infinities as they are: here they become text, and what holds one is judged by that. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(BEYOND_JSON, (part) => (part.startsWith('"') ? part : `"${part}"`)));
  } catch {
    return undefined;
  }
}
