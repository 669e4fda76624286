/**
 * What stands in the text as JSON; undefined where it is none. Python writes `NaN` and `Infinity` for numbers that JSON has
 * no word for: those become null, and the rest of the answer is read.
 */
export function parseJson(text: string): unknown {
  const value = parsed(text);
  return value === undefined && /NaN|Infinity/.test(text) ? parsed(withoutWords(text)) : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A string is taken whole, so that no word in it is touched. */
function withoutWords(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (found) =>
    found.startsWith('"') ? found : "null",
  );
}
