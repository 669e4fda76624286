import fc from "fast-check";
import { expect, test } from "vitest";
import { Utf8Text, wideEncodingFault } from "../../../cli/push/encoding.ts";

async function read(bytes: Uint8Array, chunkBytes: number): Promise<{ text: string; encoding: Utf8Text }> {
  const encoding = new Utf8Text();
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  let text = "";
  for await (const piece of encoding.read(chunks())) text += piece;
  return { text, encoding };
}

test("any text in UTF-8 comes through, however its bytes are cut", async () => {
  const texts = fc.string({ unit: "binary" }).map((text) => text.toWellFormed());
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 5 }), async (text, chunkBytes) => {
      const { text: found, encoding } = await read(Buffer.from(text), chunkBytes);
      expect(found).toBe(text.replace(/^\ufeff/, ""));
      expect(encoding.faultIn(1, found)).toBeUndefined();
    }),
  );
});

test.each([1, 2, 3, 1000])("a line of another encoding is told, in chunks of %i", async (chunkBytes) => {
  const bytes = Buffer.concat([
    Buffer.from("good ä\nbad caf"),
    Buffer.from([0xe9]),
    Buffer.from(" x\ngood \ufffd\n"),
  ]);
  const { text, encoding } = await read(bytes, chunkBytes);
  const lines = text.split("\n");
  expect(encoding.faultIn(1, lines[0] ?? "")).toBeUndefined();
  expect(encoding.faultIn(2, lines[1] ?? "")).toBe(
    "expected UTF-8, found the byte 0xE9 that is none: convert the file, as with iconv -f WINDOWS-1252 -t UTF-8 (-f names the encoding that it has)",
  );
  expect(encoding.faultIn(3, lines[2] ?? "")).toBeUndefined();
  expect(encoding.faultIn(1, text)).toMatch(/^line 2: expected UTF-8/);
});

test.each<[string, number[], string | undefined]>([
  ["UTF-16 with a mark", [0xff, 0xfe, 0x7b, 0], "UTF-16"],
  ["UTF-16 with the other mark", [0xfe, 0xff, 0, 0x7b], "UTF-16"],
  ["UTF-16LE without a mark", [0x7b, 0, 0x22, 0], "UTF-16LE"],
  ["UTF-16BE without a mark", [0, 0x7b, 0, 0x22], "UTF-16BE"],
  ["UTF-32", [0xff, 0xfe, 0, 0, 0x7b, 0, 0, 0], "UTF-32"],
  ["UTF-8", [0x7b, 0x22], undefined],
  ["nothing", [], undefined],
])("%s is known by its first bytes", (_, head, encoding) => {
  const fault = wideEncodingFault(Uint8Array.from(head));
  if (encoding === undefined) expect(fault).toBeUndefined();
  else
    expect(fault).toBe(
      `expected UTF-8, found ${encoding}: convert the file, as with iconv -f ${encoding} -t UTF-8 (-f names the encoding that it has)`,
    );
});
