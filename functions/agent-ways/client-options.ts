/** Lambda's longest time, which is AgentCore's too, and a little more: the function's own end comes first. */
const SILENCE_MS = 910_000;
/** More than one invocation runs at once. */
const SOCKETS = 1000;

/** Of an AWS client that runs agents: a second try would run the agent twice, and an answer may take minutes. */
export const agentClientOptions = {
  maxAttempts: 1,
  requestHandler: {
    connectionTimeout: 10_000,
    requestTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
    httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
    httpAgent: { keepAlive: true, maxSockets: SOCKETS },
  },
};
