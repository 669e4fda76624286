/** The bodies of the calls, with the protocol's own field names, and the grants as this client can use them. */
import { EngineError } from "../../core/errors.ts";
import type { ClaimAnswer, ClaimRequest, EndRequest, EpisodeStatus } from "../../core/protocol.ts";
import { claimAnswerSchema } from "../../core/protocol.ts";
import { rewriteBaseUrl } from "./address.ts";
import { quote } from "./answers.ts";

/** A grant without an episode or an address cannot be used: as good as an answer that cannot be read. */
export const grantSchema = claimAnswerSchema.refine(
  ({ success, episode_uuid, openai_base_url }) => !success || (episode_uuid !== "" && openai_base_url !== ""),
  { error: "expected a grant with episode_uuid and openai_base_url, found one of them empty" },
);

/** Field by field, so that nothing else that a caller's object carries goes out. */
export function claimBody(request: ClaimRequest): object {
  const { client_uuid, episode_type, discard_episode_timeout, throttle_policy } = request;
  return { client_uuid, episode_type, discard_episode_timeout, throttle_policy };
}

/**
 * `metadata.task_id` is the task's id, whatever the agent put there: the engine answers 500 otherwise. Newer engines
 * keep a list of active clients and search it on every call; every attempt is a client here, so it declares itself
 * inactive unless the request says otherwise. Older engines ignore the field.
 * @throws EngineError `refused` without an episode or a task id; nothing is sent then.
 */
export function endBody(request: EndRequest): object {
  const { client_uuid, episode_uuid, task_id, workflow_output: output } = request;
  const { declare_client_active = false } = request;
  required("end_episode", "episode_uuid", episode_uuid);
  required("end_episode", "task_id", task_id);
  const workflow_output = { ...output, metadata: { ...output.metadata, task_id } };
  return { client_uuid, episode_uuid, task_id, workflow_output, declare_client_active };
}

/** @throws EngineError `refused` without an episode; nothing is sent then. */
export function abortBody(client_uuid: string, episode_uuid: string): object {
  required("abort_episode", "episode_uuid", episode_uuid);
  const workflow_output = { reward: 0, is_success: null, metadata: {}, log_metrics: {} };
  return { client_uuid, episode_uuid, task_id: "", workflow_output, declare_client_active: false };
}

function required(call: string, field: string, value: string): void {
  if (value !== "") return;
  throw new EngineError({
    failure: "refused",
    call,
    detail: `expected ${field}, found none; nothing was sent`,
  });
}

/** @throws EngineError `unclear` where the grant's address cannot be used: the episode is given away all the same. */
export function withGrantAt(address: string, answer: ClaimAnswer): ClaimAnswer {
  if (!answer.success) return answer;
  return { ...answer, openai_base_url: usableUrl("claim_episode", answer.openai_base_url, address) };
}

/** An unclaimed episode may have no address yet. */
export function withEpisodeAt(address: string, episode: EpisodeStatus): EpisodeStatus {
  return { ...episode, openai_base_url: rewriteBaseUrl(episode.openai_base_url, address) ?? "" };
}

function usableUrl(call: string, baseUrl: string, address: string): string {
  const url = rewriteBaseUrl(baseUrl, address);
  if (url !== undefined) return url;
  throw new EngineError({
    failure: "unclear",
    call,
    status: 200,
    detail: `expected openai_base_url to be an http address such as http://host:10086/v1, found "${quote(baseUrl.replace(/\/\/[^/]*@/, "//***@"))}"`,
  });
}
