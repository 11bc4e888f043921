// A generated client, as docs/client.md makes it: openapi-fetch, with types that openapi-typescript
// generates from the description of a server with all operations.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientTarget, startClientTarget } from "../../support/client.ts";
import { readGuide } from "../../support/guide.ts";
import { checkProgram, generateTypes } from "../../support/npm-packages.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const root = new URL("../../..", import.meta.url).pathname;
const folder = new TemporaryFolder();
let target: ClientTarget;

const guide = await readGuide("docs/client.md");

const program = `
  import { client, exactly } from "./client.ts";
  import type { components } from "./plants.ts";

  type NewPlant = components["schemas"]["NewPlant"];
  const { POST, GET, DELETE } = client;
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
  const exact = await GET("/plants/{id}", { params: { path: { id: exactId } }, parseAs: "text" });
  console.log(exact.response.status, JSON.stringify(exactly(exact.data)), exactly("[9007199254740993]"));
  const bad = await GET("/plants", { params: { query: { limit: 0 } } });
  console.log(bad.response.status, bad.error?.error);
  console.log((await DELETE("/plants/{id}", { params: { path: { id: exactId } } })).response.status);
`;

beforeAll(async () => {
  target = await startClientTarget("--operations", "create,list,get,delete");
  const description = await fetch(`${target.server.url}/openapi.json`);
  writeFileSync(folder.file("openapi.json"), await description.bytes());
  symlinkSync(join(root, "node_modules"), folder.file("node_modules"));
  const client = guide.block("ts", "openapi-fetch", [["http://127.0.0.1:8080", target.server.url]]);
  writeFileSync(folder.file("client.ts"), client);
  writeFileSync(folder.file("plants.ts"), await generateTypes(folder.file("openapi.json"), folder));
});

afterAll(async () => {
  await target[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("the types are what tsc expects of the contract", async () => {
  await checkProgram(folder, program);
  for (const [text, replacement, message] of [
    ["id: 2,", "", "Property 'id' is missing"],
    ["limit: 1,", 'limit: "1",', "Type 'string' is not assignable to type 'number'"],
    ["data.name", "data.id", "Property 'id' does not exist"],
  ] as const)
    expect(await settled(checkProgram(folder, program.replace(text, replacement)))).toThrow(message);
});

test("it creates, lists and deletes plants, also with an id beyond 2^53, and reads errors", async () => {
  writeFileSync(folder.file("program.ts"), program);
  const child = Bun.spawn([process.execPath, folder.file("program.ts")], {
    stdout: "pipe",
    env: { TOKEN: target.token },
  });
  expect(await child.stdout.text()).toBe(
    [
      "200 Monstera deliciosa tropical",
      "400 40009 true",
      "200 Ficus lyrata undefined",
      '200 [ "Monstera deliciosa" ]',
      '200 {"name":"Monstera deliciosa","tag":"tropical"} [ 9007199254740993n ]',
      "400 40004",
      "204\n",
    ].join("\n"),
  );
  expect(await target.stored("9007199254740993")).toBe("");
  expect(await target.stored("2")).toBe('{"id":2,"name":"Ficus lyrata"}\n');
});
