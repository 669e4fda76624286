/** The engine adapter: what the rest of the project may use of it. */
export { engineAddress } from "./address.ts";
export { callTimeouts } from "./call-names.ts";
export { type Chat, type ChatOptions, createChat } from "./chat.ts";
export { createEngine, type EngineOptions } from "./client.ts";
export { FreshDispatcher, neverSent, sharedDispatcher } from "./dispatcher.ts";
export { installFetch } from "./fetch.ts";
export { type EngineCredentials, GuardedDispatcher } from "./guard.ts";
