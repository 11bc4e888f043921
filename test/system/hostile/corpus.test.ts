// Several hundred hostile requests and 200 MB of rejected bodies: each has an allowed outcome, all
// requests of a well-behaved client succeed, memory stays bounded, and descriptors are released.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { rawAnswers, sendRaw } from "../../support/raw-connection.ts";
import { badBodies } from "./bodies.ts";
import { framing } from "./framing.ts";
import { heads } from "./heads.ts";
import { create, type HostileRequest } from "./hostile-request.ts";
import { type Footprint, HostileSession, residentBytesMax } from "./hostile-session.ts";

const megabyte = `{"id":$ID,"name":"${"x".repeat(1_000_000)}`;
/**
 * 200 MB that are read and rejected, with Content-Length and in chunks: the server's memory would
 * show a part of them.
 */
const masses: HostileRequest[] = Array.from({ length: 100 }, () => [
  create(
    "a megabyte that ends too soon",
    { body: megabyte, framing: "Content-Length: 1000021" },
    "invalidJson",
  ),
  create(
    "a megabyte in a chunk that ends too soon",
    {
      framing: "Transfer-Encoding: chunked",
      body: `${(1_000_021).toString(16)}\r\n${megabyte}\r\n0\r\n\r\n`,
    },
    "invalidJson",
  ),
]).flat();

let session: HostileSession;
let before: Footprint;
beforeAll(async () => {
  session = await HostileSession.start();
  before = await session.footprint();
});
afterAll(() => session[Symbol.asyncDispose]());

test.each([
  ["framing", framing],
  ["request lines, headers and credentials", heads],
  ["bodies", badBodies],
  ["masses of bytes", masses],
])("hostile %s", async (_, rows) => {
  // Ends when no byte of a body is reserved, and no plant is queued.
  expect(await session.hostile.unexpected(rows)).toEqual([]);
});

test.each(['a b<>"', "a/b", "a@b", "[::1", "a\r\nHost: b", "a:b", "\xff", '"}],'])(
  "the OpenAPI document does not contain an invalid Host: %p",
  async (host) => {
    const { url } = session.target;
    const request = `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    const [answer] = rawAnswers(await sendRaw(url, request)).answers;
    expect(JSON.parse(answer?.body ?? "").servers).toEqual([{ url, description: "This server." }]);
  },
);

test("nothing of them is held after their responses", async () => {
  expect((await session.footprint()).residentBytes).toBeLessThan(residentBytesMax);
  await session.descriptorsAreBackTo(before);
});

test("the well-behaved client was not affected, and the store holds exactly what was acknowledged", async () => {
  expect(await session.faults()).toEqual([]);
});
