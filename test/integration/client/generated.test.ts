// The client's fetch and exact integers below openapi-fetch, with types that openapi-typescript
// makes from the description of a server whose ids are integers of 64 bits that it chooses itself.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contractFile } from "../../support/contract-sandbox.ts";
import { checkProgram, generateTypes } from "../../support/npm-packages.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
let server: RunningServer;

const program = `
  import { createFetch, type Exact, stringifyExact } from "${root}packages/client/src/index.ts";
  import createClient from "openapi-fetch";
  import type { paths } from "./visits.ts";

  const { POST, GET, DELETE } = createClient<Exact<paths>>({
    baseUrl: process.env.URL ?? "",
    headers: { Authorization: \`Bearer \${process.env.TOKEN}\` },
    fetch: createFetch(),
    bodySerializer: stringifyExact,
  });

  const created = await POST("/visits", { body: { guest: "Grace", seats: 2 } });
  if (created.error !== undefined) throw new Error(created.error.message);
  const visitId: number | bigint = created.data.visitId;
  const guest: string = created.data.guest;
  const path = { visitId };
  const got = await GET("/visits/{visitId}", { params: { path } });
  const listed = await GET("/visits", { params: { query: { limit: 1, after: 9007199254740993n } } });
  const refused = await POST("/visits", { body: { guest: "Grace", seats: 2n ** 40n } });
  const seats: number | bigint | undefined = got.data?.seats;
  const code: number | bigint | undefined = refused.error?.error;
  const removed = await DELETE("/visits/{visitId}", { params: { path } });
  console.log(stringifyExact({
    kind: typeof visitId, visitId, got: got.data, listed: listed.data, guest, seats, code,
    removed: removed.response.status,
  }));
`;

beforeAll(async () => {
  const args = ["--contract", contractFile("visits.yaml")];
  server = resources.use(await RunningServer.startInProcess({ args }));
  const description = await fetch(`${server.url}/openapi.json`);
  writeFileSync(folder.file("openapi.json"), await description.bytes());
  symlinkSync(join(root, "node_modules"), folder.file("node_modules"));
  writeFileSync(folder.file("visits.ts"), await generateTypes(folder.file("openapi.json"), folder));
});
afterAll(() => resources.disposeAsync());

test("the types are those of the description, with bigints", async () => {
  await checkProgram(folder, program);
  const wrong = [
    ['guest: "Grace"', "guest: 2n", "Type 'bigint' is not assignable to type 'string'"],
    ["limit: 1,", 'limit: "1",', "Type 'string' is not assignable to type 'number | bigint | undefined'"],
    ["data.guest", "data.id", "Property 'id' does not exist"],
    ["visitId: number |", "visitId: ", "Type 'number' is not assignable to type 'bigint'"],
    ['GET("/visits/{visitId}"', 'GET("/visit"', "Argument of type '\"/visit\"' is not assignable"],
  ] as const;
  const changed = wrong.reduce((text, [right, replacement]) => text.replace(right, replacement), program);
  const errors = await checkProgram(folder, changed).then(() => "", String);
  expect(wrong.filter(([, , message]) => !errors.includes(message))).toEqual([]);
});

test("ids that the server chose keep all of their digits", async () => {
  writeFileSync(folder.file("program.ts"), program);
  const env = { ...process.env, URL: server.url, TOKEN: await server.createToken() };
  const child = Bun.spawn([process.execPath, folder.file("program.ts")], { stdout: "pipe", env });
  const printed = await child.stdout.text();
  const id = /"visitId":(\d+)/.exec(printed)?.[1] ?? "";
  expect(BigInt(id)).toBeGreaterThan(2n ** 53n);
  const visit = `{"visitId":${id},"guest":"Grace","seats":2}`;
  expect(printed).toBe(
    `{"kind":"bigint","visitId":${id},"got":${visit},"listed":[${visit}],"guest":"Grace","seats":2,"code":40002,"removed":204}\n`,
  );
});
