// A generated client: openapi-fetch, with types that openapi-typescript generates from the description
// of a server with all operations.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientTarget, startClientTarget } from "../../support/client.ts";
import { checkProgram, generateTypes } from "../../support/npm-packages.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const root = new URL("../../..", import.meta.url).pathname;
const folder = new TemporaryFolder();
let target: ClientTarget;

/** Its ids are numbers, which lose digits past 2^53: the program writes and casts bigints. */
const program = `
  import createClient from "openapi-fetch";
  import type { components, paths } from "./plants.ts";

  type NewPlant = components["schemas"]["NewPlant"];
  const [baseUrl = "", token = ""] = process.argv.slice(2);
  const bodySerializer = (body: unknown) =>
    JSON.stringify(body, (_, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value));
  const headers = { Authorization: \`Bearer \${token}\` };
  const { POST, GET, DELETE } = createClient<paths>({ baseUrl, headers, bodySerializer });
  const exactId = 9007199254740993n as unknown as number;

  async function create(body: NewPlant): Promise<string> {
    const { data, error, response } = await POST("/plants", { body });
    if (data !== undefined) {
      const name: string = data.name;
      const tag: string | undefined = data.tag;
      return \`\${response.status} \${name} \${tag}\`;
    }
    const code: number = error.error;
    const message: string = error.message;
    return \`\${response.status} \${code} \${message.length > 0}\`;
  }

  console.log(await create({ id: exactId, name: "Monstera deliciosa", tag: "tropical" }));
  console.log(await create({ id: exactId, name: "not a Monstera" }));
  console.log(await create({ id: 2, name: "Ficus lyrata" }));
  const page = await GET("/plants", { params: { query: { limit: 1, after: 2 } } });
  console.log(page.response.status, page.data?.map(({ name }) => name));
  const bad = await GET("/plants", { params: { query: { limit: 0 } } });
  console.log(bad.response.status, bad.error?.error);
  console.log((await DELETE("/plants/{id}", { params: { path: { id: exactId } } })).response.status);
`;

beforeAll(async () => {
  target = await startClientTarget("--operations", "create,list,delete");
  const description = await fetch(`${target.server.url}/openapi.json`);
  writeFileSync(folder.file("openapi.json"), await description.bytes());
  symlinkSync(join(root, "node_modules"), folder.file("node_modules"));
  writeFileSync(folder.file("plants.ts"), await generateTypes(folder.file("openapi.json"), folder));
});

afterAll(async () => {
  await target[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("the types are what tsc expects of the contract", async () => {
  const declared = `declare global { interface JSON { rawJSON(text: string): object } }\n${program}`;
  await checkProgram(folder, declared);
  for (const [text, replacement, message] of [
    ["id: 2,", "", "Property 'id' is missing"],
    ["limit: 1,", 'limit: "1",', "Type 'string' is not assignable to type 'number'"],
    ["data.name", "data.id", "Property 'id' does not exist"],
  ] as const)
    expect(await settled(checkProgram(folder, declared.replace(text, replacement)))).toThrow(message);
});

test("it creates, lists and deletes plants, also with an id beyond 2^53, and reads errors", async () => {
  writeFileSync(folder.file("program.ts"), program);
  const child = Bun.spawn([process.execPath, folder.file("program.ts"), target.server.url, target.token], {
    stdout: "pipe",
  });
  expect(await child.stdout.text()).toBe(
    [
      "200 Monstera deliciosa tropical",
      "400 40009 true",
      "200 Ficus lyrata undefined",
      '200 [ "Monstera deliciosa" ]',
      "400 40004",
      "204\n",
    ].join("\n"),
  );
  expect(await target.stored("9007199254740993")).toBe("");
  expect(await target.stored("2")).toBe('{"id":2,"name":"Ficus lyrata"}\n');
});
