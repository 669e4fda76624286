/** Values as pydantic reads them: its lax conversions, and its words for what does not fit. */
export type Location = readonly (string | number)[];
export interface Detail {
  readonly type: string;
  readonly loc: Location;
  readonly msg: string;
  readonly input: unknown;
  readonly ctx?: { readonly error: string };
}
/** Marks a value that did not fit; its details say why. */
export const unfit = Symbol("unfit");
export type Check<T> = (value: unknown, loc: Location, details: Detail[]) => T | typeof unfit;
export type Checked<C> = C extends Check<infer T> ? T : never;

function reject(details: Detail[], type: string, loc: Location, msg: string, input: unknown): typeof unfit {
  details.push({ type, loc, msg, input });
  return unfit;
}

export const text: Check<string> = (value, loc, details) =>
  typeof value === "string"
    ? value
    : reject(details, "string_type", loc, "Input should be a valid string", value);

export const float: Check<number> = (value, loc, details) => {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  if (typeof value !== "string") {
    return reject(details, "float_type", loc, "Input should be a valid number", value);
  }
  const parsed = value.trim() === "" ? Number.NaN : Number(value);
  if (!Number.isNaN(parsed)) return parsed;
  const msg = "Input should be a valid number, unable to parse string as a number";
  return reject(details, "float_parsing", loc, msg, value);
};

export const int: Check<number> = (value, loc, details) => {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "number") {
    if (Number.isInteger(value)) return value;
    const msg = "Input should be a valid integer, got a number with a fractional part";
    return reject(details, "int_from_float", loc, msg, value);
  }
  if (typeof value !== "string") {
    return reject(details, "int_type", loc, "Input should be a valid integer", value);
  }
  if (/^\s*[+-]?\d+(\.0*)?\s*$/.test(value)) return Number(value);
  const msg = "Input should be a valid integer, unable to parse string as an integer";
  return reject(details, "int_parsing", loc, msg, value);
};

const truths = new Set<unknown>([true, 1, "1", "true", "t", "yes", "y", "on"]);
const falsehoods = new Set<unknown>([false, 0, "0", "false", "f", "no", "n", "off"]);

export const bool: Check<boolean> = (value, loc, details) => {
  const word = typeof value === "string" ? value.toLowerCase() : value;
  if (truths.has(word)) return true;
  if (falsehoods.has(word)) return false;
  if (typeof value !== "string" && typeof value !== "number") {
    return reject(details, "bool_type", loc, "Input should be a valid boolean", value);
  }
  const msg = "Input should be a valid boolean, unable to interpret input";
  return reject(details, "bool_parsing", loc, msg, value);
};

export const anything: Check<unknown> = (value) => value;

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, loc, details) => (value === null ? null : check(value, loc, details));
}

export function list<T>(check: Check<T>): Check<T[]> {
  return (value, loc, details) => {
    if (!Array.isArray(value))
      return reject(details, "list_type", loc, "Input should be a valid list", value);
    const items = value.map((item, index) => check(item, [...loc, index], details));
    const fit = items.filter((item): item is Awaited<T> & T => item !== unfit);
    return fit.length === items.length ? fit : unfit;
  };
}

export function dict<T>(check: Check<T>): Check<Record<string, T>> {
  return (value, loc, details) => {
    if (!isObject(value))
      return reject(details, "dict_type", loc, "Input should be a valid dictionary", value);
    const fit: Record<string, T> = {};
    let all = true;
    for (const [name, field] of Object.entries(value)) {
      const checked = check(field, [...loc, name], details);
      if (checked === unfit) all = false;
      else fit[name] = checked;
    }
    return all ? fit : unfit;
  };
}

/** `float | list[float]`: pydantic tells why each of the two does not fit. */
export const floats: Check<number | number[]> = (value, loc, details) => {
  const why: Detail[] = [];
  const one = float(value, [...loc, "float"], why);
  if (one !== unfit) return one;
  const many = list(float)(value, [...loc, "list[float]"], why);
  if (many === unfit) details.push(...why);
  return many;
};

/** `float | list[float] | dict`. */
export const floatsOrObject: Check<number | number[] | Record<string, unknown>> = (value, loc, details) => {
  if (isObject(value)) return value;
  const found = floats(value, loc, details);
  if (found === unfit)
    reject(details, "dict_type", [...loc, "dict"], "Input should be a valid dictionary", value);
  return found;
};

export interface Field<T> {
  readonly check: Check<T>;
  /** Absent: the field is required. */
  readonly otherwise?: () => T;
}
export function required<T>(check: Check<T>): Field<T> {
  return { check };
}
export function optional<T>(check: Check<T>, otherwise: () => NoInfer<T>): Field<T> {
  return { check, otherwise };
}
type Model<F> = { [Name in keyof F]: F[Name] extends Field<infer T> ? T : never };

/** Unknown fields are ignored. */
export function model<F extends Record<string, Field<unknown>>>(fields: F): Check<Model<F>> {
  return (value, loc, details) => {
    if (!isObject(value)) {
      const msg = "Input should be a valid dictionary or object to extract fields from";
      return reject(details, "model_attributes_type", loc, msg, value);
    }
    const before = details.length;
    const read = Object.entries(fields).map(([name, field]) => [
      name,
      fieldOf(value, name, field, loc, details),
    ]);
    return details.length === before ? (Object.fromEntries(read) as Model<F>) : unfit;
  };
}

function fieldOf(
  value: Record<string, unknown>,
  name: string,
  { check, otherwise }: Field<unknown>,
  loc: Location,
  details: Detail[],
): unknown {
  if (Object.hasOwn(value, name)) return check(value[name], [...loc, name], details);
  if (otherwise !== undefined) return otherwise();
  return reject(details, "missing", [...loc, name], "Field required", value);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
