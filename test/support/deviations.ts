/** Where Sortie's client does not do what the reference client did. The reasons stand in docs/deviations.md. */
export const deviations = {
  "client-uuid": "each attempt claims as <fleet id>/<attempt id>, not one uuid per process",
  "bounded-waiting": "waiting ends at a given time, as the outcome waited-out",
  "offline-is-waiting": "an engine that is OFFLINE is waited for, and raises nothing",
  "unclear-claims": "a claim whose answer was lost is cleared up before the next one",
  "declare-client-active": "end and abort say declare_client_active: false",
  "settle-timeouts": "end and abort may take 330 s, not 30 s",
  "failures-are-reported": "where the reference logs a failure and goes on with a default, the call throws",
  "get-retry": "a GET that failed is tried once more",
  "http1-fresh-sockets": "HTTP/1.1, and new connections after a 5xx or a pause instead of a new client",
  "fault-hour-limit": "the wait limit is not swallowed",
  "fault-empty-record": "a refused claim leaves no expiry behind",
  "fault-endless-retry": "what can never succeed is not tried for ever",
  "lifecycle-ticks": "one look and at most one step in each tick, where the reference polls",
  "lifecycle-waits": "an engine that cannot be reached, exports weights or says something new is waited for",
  "failed-starts": "a start that failed is recorded and tried again, up to a limit",
  "config-with-start": "a config is sent right before each start, and only then",
  "stop-null": "an older engine's null for an answer to a stop is no failure",
  "training-ended": "a training that has run its last step is not started again",
  "policy-always-sent":
    "each claim names its task in a policy, which limits nothing where no throttle is set",
  "eval-name": "the policy of an eval claim names sortie:eval:<task id>, which takes no place in the batch",
  "unreadable-pool":
    "a pool that cannot be read lets nobody of a throttled fleet in, where it is an empty one",
  "fleet-wide-throttle":
    "admission is one item of the fleet, written on its version, not a process's memory under a lock",
} as const satisfies Record<string, string>;
export type Deviation = keyof typeof deviations;
