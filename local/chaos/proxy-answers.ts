/** What stands in front of an engine answers in its place, without passing the request on. */
import type { FaultKind } from "./kinds.ts";
import type { Answer } from "./proxy.ts";

/** In each answer that has a text, so that an attempt that is blamed for it can be told. */
export const PROXY_WORDS = "said by a proxy of chaos";

const page = `<html><h1>${PROXY_WORDS}</h1></html>`;
const answer = (status: number, text: string, contentType: string, headers = {}): Answer => ({
  status,
  text,
  contentType,
  headers,
});

/** By the kind of fault. The times are shorter than most of the functions' patience. */
export const proxyAnswers: Readonly<Partial<Record<FaultKind, Answer>>> = {
  "engine-proxy-429": answer(429, page, "text/html"),
  "engine-proxy-429-told": answer(429, page, "text/html", { "retry-after": "7" }),
  "engine-proxy-503-told": answer(503, page, "text/html", { "retry-after": "7" }),
  "engine-proxy-502": answer(502, page, "text/html"),
  "engine-proxy-401": answer(401, JSON.stringify({ detail: PROXY_WORDS }), "application/json"),
  "engine-proxy-403": answer(403, page, "text/html"),
  "engine-proxy-404": answer(404, page, "text/html"),
  "engine-proxy-302": answer(302, page, "text/html", { location: "http://sign-in.invalid/" }),
  "engine-proxy-empty": answer(200, "", "text/plain"),
  "engine-proxy-json": answer(200, JSON.stringify({ message: PROXY_WORDS }), "application/json"),
};
