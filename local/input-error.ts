/** A fault in the user's input: its message is all that they need to see. */
export class InputError extends Error {
  override readonly name = "InputError";
}
