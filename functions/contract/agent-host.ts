/** The last argument but one of a thread or process that hosts agents; what it is given follows as JSON. */
export const HOST_ARGUMENT = "--sortie-agent-host";
