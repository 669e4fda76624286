/** The calls that engines have since May 2026. An older one answers as FastAPI does for a path that it does not know. */
import type { NewerEngine } from "../../core/engine.ts";
import { EngineError, NotOfferedError } from "../../core/errors.ts";
import {
  agreeAnswerSchema,
  anyAnswerSchema,
  codeAnswerSchema,
  experimentDirSchema,
  verboseLogsSchema,
} from "../../core/protocol.ts";
import type { Caller } from "./calls.ts";

export function newerCalls({ get, post }: Caller): NewerEngine {
  return {
    syncCode: (zip, call) => offered(post("sync_train_code", zip, codeAnswerSchema, call)),
    experimentDir: async () => {
      const answer = await offered(get("get_server_experiment_dir", experimentDirSchema));
      return answer.server_experiment_dir ?? null;
    },
    pushLog: async ({ tag, message }, call) => {
      await offered(post("push_verbose_log", { tag, message }, anyAnswerSchema, call));
    },
    logs: async () => (await offered(get("get_verbose_logs", verboseLogsSchema))).entries,
    agreeSyncWeight: (client_uuid, call) =>
      offered(post("agree_sync_weight", { client_uuid }, agreeAnswerSchema, call)),
  };
}

/** FastAPI's whole answer to a path without a route; none of these calls answers 404 by itself. */
const NO_ROUTE = "Not Found";

async function offered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const isMissing = error instanceof EngineError && error.status === 404 && error.detail === NO_ROUTE;
    throw isMissing ? new NotOfferedError(error.call, 404) : error;
  }
}
