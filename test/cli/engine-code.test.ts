import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { expect, onTestFinished, test } from "vitest";
import { packCode } from "../../cli/engine-code.ts";
import { codeFault, namesInZip } from "../../local/engine/zip.ts";

const trainer = {
  "ajet/__init__.py": "",
  "ajet/Ä.py": "umlaut = 1\n",
  "ajet/task_rollout/run.py": "print('run')\n",
  "ajet/a.yaml": "a: 1\n",
};

async function folderOf(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "trainer-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

const hashOf = (zip: Uint8Array) => createHash("sha256").update(zip).digest("hex");

test("an engine takes it: all below ajet/, sorted, without what Python made and what is hidden", async () => {
  const made = {
    "ajet/__pycache__/run.cpython-312.pyc": "x",
    "ajet/old.pyc": "x",
    "ajet/.env": "KEY=secret",
  };
  const zip = await packCode(await folderOf({ ...trainer, ...made, "setup.py": "beside it" }));
  const names = ["ajet/__init__.py", "ajet/a.yaml", "ajet/task_rollout/run.py", "ajet/Ä.py"];
  expect(namesInZip(Buffer.from(zip))).toEqual(names);
  expect(codeFault(namesInZip(Buffer.from(zip)))).toBeUndefined();
  expect(strFromU8(unzipSync(zip)["ajet/task_rollout/run.py"] ?? new Uint8Array())).toBe("print('run')\n");
});

test("the same content makes the same bytes, whatever its dates, modes, order and place", async () => {
  const one = await folderOf(trainer);
  const other = await folderOf(Object.fromEntries(Object.entries(trainer).toReversed()));
  await utimes(join(other, "ajet/a.yaml"), new Date("2001-02-03"), new Date("2001-02-03"));
  await chmod(join(other, "ajet/a.yaml"), 0o755);
  const hashes = [await packCode(one), await packCode(other), await packCode(join(one, "ajet"))].map(hashOf);
  expect(new Set(hashes).size).toBe(1);
  await writeFile(join(other, "ajet/a.yaml"), "a: 2\n");
  expect(hashOf(await packCode(other))).not.toBe(hashes[0]);
});

test("a folder that is no such package is refused, with what was found there", async () => {
  const folder = await folderOf({ "src/main.py": "", "README.md": "" });
  await expect(packCode(folder)).rejects.toThrow(
    `${folder}: expected the trainer's package, a folder ajet with an __init__.py, or the folder that holds it, found README.md, src; nothing was changed`,
  );
  await expect(packCode(join(folder, "none"))).rejects.toThrow("found ENOENT");
});

test("a link is refused by its name", async () => {
  const folder = await folderOf(trainer);
  await symlink("/etc/hostname", join(folder, "ajet/host"));
  await expect(packCode(folder)).rejects.toThrow("expected files and folders, found host, which is neither");
});

test("more than an engine is sent is refused", async () => {
  const folder = await folderOf({ ...trainer, "ajet/model.bin": randomBytes(4_100_000) });
  await expect(packCode(folder)).rejects.toThrow(
    /expected at most 4000000 bytes as a zip, found 41\d{5}: keep/,
  );
});
