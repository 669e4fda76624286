import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bucketPlace, folderPlace } from "../../../../cli/transcripts/place.ts";
import { transcriptStore } from "../../../../functions/adapters/transcripts/index.ts";
import { serve } from "../../../support/http-server.ts";

const text = JSON.stringify({ words: "naïve – 東京" });
const app = buildApp({ logger: false });
let endpoint = "";
let folder = "";
const credentials = { accessKeyId: "local", secretAccessKey: "local" };

beforeAll(async () => {
  endpoint = await app.listen({ port: 0, host: "127.0.0.1" });
  folder = await mkdtemp(join(tmpdir(), "sortie-transcripts-"));
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

async function names(of: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const name of of) found.push(name);
  return found;
}
const environment = (url: string) => ({
  AWS_REGION: "eu-west-1",
  AWS_ENDPOINT_URL_S3: url,
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_SESSION_TOKEN: "token",
});

describe("what a store keeps, its place reads again", () => {
  test("in a bucket", async () => {
    const s3 = new S3Client({ endpoint, region: "eu-west-1", credentials, forcePathStyle: true });
    await s3.send(new CreateBucketCommand({ Bucket: "talks" }));
    const store = transcriptStore("s3://talks", environment(endpoint));
    for (const name of ["main/r/b/2-i.1.json", "main/r/b/1-i.1.json", "other/r/b/1-i.1.json"])
      await store.put(name, text);
    const place = bucketPlace(async () => s3, "talks");
    expect(await names(place.names("main/r/"))).toEqual(["main/r/b/1-i.1.json", "main/r/b/2-i.1.json"]);
    expect(await place.read("main/r/b/1-i.1.json")).toBe(text);
    expect(await place.read("main/r/b/3-i.1.json")).toBeUndefined();
    s3.destroy();
  });

  test("in a folder", async () => {
    const store = transcriptStore(pathToFileURL(join(folder, "a b")).href, {});
    for (const name of ["main/r/b/2-i.1.json", "main/r/b/1-i.1.json", "other/r/b/1-i.1.json"])
      await store.put(name, text);
    const place = folderPlace(join(folder, "a b"));
    expect(await names(place.names("main/r/"))).toEqual(["main/r/b/1-i.1.json", "main/r/b/2-i.1.json"]);
    expect(await names(place.names("nowhere/"))).toEqual([]);
    expect(await place.read("main/r/b/1-i.1.json")).toBe(text);
    expect(await place.read("main/r/b/3-i.1.json")).toBeUndefined();
  });
});

describe("a PUT", () => {
  test("is signed, with the session's token, and tried again where S3 fails", async () => {
    let failures = 2;
    const seen: { authorization: unknown; token: unknown; path: string }[] = [];
    await using server = await serve(({ headers, path }, reply) => {
      seen.push({ authorization: headers.authorization, token: headers["x-amz-security-token"], path });
      failures -= 1;
      reply.writeHead(failures >= 0 ? 503 : 200).end();
    });
    await transcriptStore("s3://talks", environment(server.url)).put("main/-/a/1-i.1.json", text);
    expect(seen).toHaveLength(3);
    expect(seen[0]).toEqual({
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=local\/\d{8}\/eu-west-1\/s3\/aws4_request, SignedHeaders=.*host.*, Signature=[0-9a-f]{64}$/,
      ),
      token: "token",
      path: "/talks/main/-/a/1-i.1.json",
    });
  });

  test("that S3 refuses says what it said", async () => {
    await using server = await serve((_, reply) => {
      reply.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");
    });
    await expect(
      transcriptStore("s3://talks", environment(server.url)).put("main/a.json", text),
    ).rejects.toThrow('expected the bucket to keep main/a.json, found HTTP 403 with "AccessDenied"');
  });
});
