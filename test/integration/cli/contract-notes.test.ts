// What serve and sandbox print about a contract at their start.

import { expect, test } from "bun:test";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const content = {
  "application/json": {
    schema: { type: "object", required: ["id"], properties: { id: { type: "integer" } } },
  },
};
const headers = Object.fromEntries(["X-A", "X-B", "X-C", "X-D", "X-E"].map((name) => [name, {}]));
const ok = { description: "A thing.", headers, content };
const other = { get: { responses: { 200: { description: "Text." } } } };
const description = {
  openapi: "3.1.0",
  info: { title: "Things", version: "1" },
  security: [{ bearer: [] }],
  paths: {
    "/a": other,
    "/b/{x}": other,
    "/c": other,
    "/things": { post: { requestBody: { required: true, content }, responses: { 201: ok } } },
  },
  components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
};
const pointer = "/paths/~1things/post/responses/201/headers";
const ofHeaders = `contract: the header field … is not sent (5 times: at ${["A", "B", "C"].map((name) => `${pointer}/X-${name}`).join(", ")}, 2 more)`;

async function printed(command: "serve" | "sandbox", ...more: string[]): Promise<string[]> {
  using folder = new TemporaryFolder();
  const file = folder.file("things.json");
  await Bun.write(file, JSON.stringify(description));
  const args = ["--contract", file, "--log-format", "json", ...more];
  const database = `sqlite:${folder.file("things.db")}`;
  await using server =
    command === "serve"
      ? await RunningServer.startInProcess({ database, args })
      : await RunningSandbox.startInProcess({ args });
  const { stderr } = await server.stop();
  const lines = stderr.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line).msg] : []));
  return lines.filter((line) => line.startsWith("contract: "));
}

test("serve and sandbox print a line for each kind, and what is not served or kept last", async () => {
  expect(await printed("serve")).toEqual([
    "contract: 8 notes, a line for each kind; --notes all prints each note",
    ofHeaders,
    "contract: an operation is not served, as it is none of a collection: it responds with 501 (3 times: at /paths/~1a/get, /paths/~1b~1{x}/get, /paths/~1c/get)",
  ]);
  expect(await printed("serve", "--log-level", "warn")).toEqual([]);
  expect(await printed("sandbox")).toEqual([
    "contract: 5 notes, a line for each kind; --notes all prints each note",
    ofHeaders,
    "contract: 3 operations respond as described, and keep nothing: GET /a, GET /b/{x}, GET /c",
  ]);
  expect(await printed("sandbox", "--notes", "all")).toHaveLength(6);
});
