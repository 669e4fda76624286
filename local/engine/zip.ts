/** As much of a zip as its list of files. */

const END = 0x06054b50;
const ENTRY = 0x02014b50;

/** The names in a zip's central directory; undefined where it is no zip. */
export function namesInZip(zip: Buffer): string[] | undefined {
  const end = zip.lastIndexOf(Buffer.from("PK\u0005\u0006", "latin1"));
  if (end < 0 || end + 22 > zip.length || zip.readUInt32LE(end) !== END) return undefined;
  const count = zip.readUInt16LE(end + 10);
  const names: string[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (let entry = 0; entry < count; entry += 1) {
    if (at + 46 > zip.length || zip.readUInt32LE(at) !== ENTRY) return undefined;
    const [name, extra, comment] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    names.push(zip.toString("utf8", at + 46, at + 46 + (name ?? 0)));
    at += 46 + (name ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return names;
}

/** Why these files are not the trainer's code; undefined where they are. */
export function codeFault(names: readonly string[] | undefined): string | undefined {
  if (names === undefined) return "Uploaded file is not a valid zip file.";
  if (names.length === 0) return "Uploaded zip file is empty.";
  const unsafe = names.find((name) => /^\/|(^|\/)\.\.(\/|$)/.test(name.replaceAll("\\", "/")));
  if (unsafe !== undefined) return `Unsafe zip member path: ${unsafe}`;
  const stray = names.find((name) => !/^ajet(\/|$)/.test(name.replaceAll("\\", "/")));
  return stray === undefined ? undefined : `Zip member must be under ajet/: ${stray}`;
}
