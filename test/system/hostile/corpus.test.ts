// Several hundred hostile requests: each has an allowed outcome, and all requests of a well-behaved client succeed.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { rawAnswers, sendRaw } from "../../support/raw-connection.ts";
import { badBodies } from "./bodies.ts";
import { framing } from "./framing.ts";
import { heads } from "./heads.ts";
import { HostileSession } from "./hostile-session.ts";

let session: HostileSession;
beforeAll(async () => {
  session = await HostileSession.start();
});
afterAll(() => session[Symbol.asyncDispose]());

test.each([
  ["framing", framing],
  ["request lines, headers and credentials", heads],
  ["bodies", badBodies],
])("hostile %s", async (_, rows) => {
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

test("the well-behaved client was not affected, and the store holds exactly what was acknowledged", async () => {
  expect(await session.faults()).toEqual([]);
});
