/** Bodies as FastAPI reads them, and what it answers to those that do not fit. */
import { Refusal } from "./answers.ts";
import { JsonFault, parseJson } from "./python.ts";
import { type Check, type Detail, unfit } from "./validation.ts";

/** Reads a request's body. @throws Refusal 422 */
export function readBody<T>(check: Check<T>, body: string, contentType: string | undefined): T {
  const details: Detail[] = [];
  const value = check(parseBody(body, contentType), ["body"], details);
  if (value === unfit) throw new Refusal(422, details);
  return value;
}

/** A body that is not declared as JSON is a text to FastAPI, which fits no model. */
function parseBody(body: string, contentType: string | undefined): unknown {
  if (body === "") return missing();
  const type = contentType?.split(";")[0]?.trim().toLowerCase() ?? "application/json";
  if (!/^application\/(json|.+\+json)$/.test(type)) return body;
  try {
    return parseJson(body) ?? missing();
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const { message, position } = error;
    const fault = { type: "json_invalid", loc: ["body", position], msg: "JSON decode error", input: {} };
    throw new Refusal(422, [{ ...fault, ctx: { error: message } }]);
  }
}

function missing(): never {
  throw new Refusal(422, [{ type: "missing", loc: ["body"], msg: "Field required", input: null }]);
}
