/** What agents see of the function's environment. */

/** Ours, and what opens doors that the function's role has opened for Sortie, not for an agent. */
const hidden = [
  /^SORTIE_/,
  /^AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|SECURITY_TOKEN)$/,
  /^AWS_CONTAINER_/,
  /^AWS_LAMBDA_RUNTIME_API$/,
  /^AWS_ENDPOINT_URL/,
  /^_HANDLER$/,
  /^_X_AMZN_TRACE_ID$/,
];

/** Everything but the function's credentials, its runtime API, and what is Sortie's own. */
export function agentEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const shown = Object.entries(environment).filter(([name]) => !hidden.some((one) => one.test(name)));
  return Object.fromEntries(shown.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
