/** One message of a conversation with a model, whichever API carried it. */
export interface Said {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly reasoning?: string | undefined;
  readonly calls: readonly ToolCallSaid[];
  /** Of a tool's answer: the call that it answers. */
  readonly answers?: string | undefined;
}

export interface ToolCallSaid {
  readonly id: string | undefined;
  readonly name: string;
  /** As the model wrote them; an object where the API parses them. */
  readonly given: unknown;
}

export interface Usage {
  readonly prompt?: number | undefined;
  readonly completion?: number | undefined;
  readonly cached?: number | undefined;
}

export interface Reply {
  readonly said: Said;
  readonly finish?: string | undefined;
  readonly model?: string | undefined;
  readonly usage: Usage;
}

/** A request to a model. */
export interface Asked {
  readonly messages: readonly Said[];
  readonly tools: readonly Fields[];
}

export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Text, or the text of its parts; of an image or a sound only that it was there. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content == null ? "" : JSON.stringify(content);
  return content
    .map((part: unknown) => {
      if (typeof part === "string") return part;
      const { type, text: words } = fields(part);
      return text(words) ?? `[${text(type) ?? "part"}, ${JSON.stringify(part).length} characters]`;
    })
    .join("\n");
}
