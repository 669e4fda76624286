/** A certificate that no public authority knows, for 127.0.0.1: made anew for each run, so that no key lies in the project. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface PrivateCa {
  /** Path of the certificate, which is its own authority. */
  readonly file: string;
  readonly certificate: string;
  readonly key: string;
  remove(): void;
}

/** @throws without the `openssl` command */
export function makePrivateCa(): PrivateCa {
  const folder = mkdtempSync(join(tmpdir(), "sortie-ca-"));
  const file = join(folder, "ca.pem");
  const keyFile = join(folder, "key.pem");
  const options = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=engine`;
  const names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", keyFile, "-out", file];
  const { status, stderr } = spawnSync("openssl", [...options.split(" "), ...names], { encoding: "utf8" });
  if (status !== 0) throw new Error(`expected openssl to make a certificate, found: ${stderr}`);
  return {
    file,
    certificate: readFileSync(file, "utf8"),
    key: readFileSync(keyFile, "utf8"),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
