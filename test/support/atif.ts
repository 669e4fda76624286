/** What makes a document a trajectory: Harbor's schema, and the rules that its models check beyond that. */
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

const schema = JSON.parse(readFileSync(new URL("../data/atif-v1.8.schema.json", import.meta.url), "utf8"));
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema);

interface Trajectory {
  readonly steps: readonly {
    readonly step_id: number;
    readonly source: string;
    readonly timestamp?: string;
    readonly tool_calls?: readonly { readonly tool_call_id: string }[];
    readonly observation?: { readonly results: readonly { readonly source_call_id?: string }[] };
    readonly llm_call_count?: number;
  }[];
}

const AGENT_ONLY = ["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"];

/** Each fault in words; none where the document is a trajectory. */
export function atifFaults(document: unknown): string[] {
  if (!validate(document))
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
  return (document as Trajectory).steps.flatMap((step, index) => {
    const calls = new Set(step.tool_calls?.map(({ tool_call_id: id }) => id));
    const strangers = step.observation?.results.filter(
      ({ source_call_id: id }) => id !== undefined && !calls.has(id),
    );
    const foreign = AGENT_ONLY.filter((name) => step.source !== "agent" && name in step);
    const untold = ["metrics", "reasoning_content"].filter(
      (name) => step.llm_call_count === 0 && name in step,
    );
    return [
      ...(step.step_id === index + 1 ? [] : [`step ${index + 1} has the id ${step.step_id}`]),
      ...(strangers?.length ? [`step ${index + 1} observes calls that it did not make`] : []),
      ...foreign.map((name) => `step ${index + 1} is no agent's and has ${name}`),
      ...untold.map((name) => `step ${index + 1} is not from a model and has ${name}`),
      ...(step.timestamp === undefined || !Number.isNaN(Date.parse(step.timestamp))
        ? []
        : ["a wrong timestamp"]),
    ];
  });
}
