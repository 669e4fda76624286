/** The calls that engines have since May 2026. On an older one each throws `NotOfferedError`. */
import type { NewerEngine } from "../../core/engine.ts";
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
    syncCode: (zip, call) => post("sync_train_code", zip, codeAnswerSchema, call),
    experimentDir: async () => {
      const answer = await get("get_server_experiment_dir", experimentDirSchema);
      return answer.server_experiment_dir ?? null;
    },
    pushLog: async ({ tag, message }, call) => {
      await post("push_verbose_log", { tag, message }, anyAnswerSchema, call);
    },
    logs: async () => (await get("get_verbose_logs", verboseLogsSchema)).entries,
    agreeSyncWeight: (client_uuid, call) =>
      post("agree_sync_weight", { client_uuid }, agreeAnswerSchema, call),
  };
}
