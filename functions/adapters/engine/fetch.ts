/** The global `fetch` for agents' own libraries. */
import { type Dispatcher, install, setGlobalDispatcher } from "undici";
import { sharedDispatcher } from "./dispatcher.ts";

/**
 * Replaces `globalThis.fetch` and its classes by undici's, over the long-lived connections of this process: Node's own
 * would cut a model call that is silent for 300 s. Its dispatcher cannot be handed to Node's `fetch`, hence both. To be
 * called before an agent's libraries are loaded, since some keep the `fetch` that they find; twice does no harm.
 */
export function installFetch(dispatcher: Dispatcher = sharedDispatcher()): void {
  setGlobalDispatcher(dispatcher);
  install();
}
