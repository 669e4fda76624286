/** The interface between Sortie and an agent. An agent imports this file and nothing else of the project. */
export type * from "../functions/contract/agent.ts";
