// A generated client: openapi-fetch, with types that openapi-typescript generates from
// openapi.yaml.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientTarget, startClientTarget } from "../../support/client.ts";
import { checkProgram, generateTypes } from "../../support/npm-packages.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const root = new URL("../../..", import.meta.url).pathname;
const folder = new TemporaryFolder();
let target: ClientTarget;

/**
 * How a reader of the generator's documentation would write it, knowing nothing of this project.
 */
const program = `
  import createClient from "openapi-fetch";
  import type { components, paths } from "./plants.ts";

  type NewPlant = components["schemas"]["NewPlant"];
  const [baseUrl = "", token = ""] = process.argv.slice(2);
  const { POST } = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });

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

  console.log(await create({ id: 1, name: "Monstera deliciosa", tag: "tropical" }));
  console.log(await create({ id: 9007199254740991, name: "Ficus lyrata" }));
  console.log(await create({ id: 1, name: "Monstera deliciosa", tag: "tropical" }));
  console.log(await create({ id: 1, name: "not a Monstera" }));
  console.log(await create({ id: 2, name: "\\0" }));
`;

beforeAll(async () => {
  target = await startClientTarget();
  copyFileSync(join(root, "openapi.yaml"), folder.file("openapi.yaml"));
  symlinkSync(join(root, "node_modules"), folder.file("node_modules"));
  writeFileSync(folder.file("plants.ts"), await generateTypes(folder.file("openapi.yaml"), folder));
});

afterAll(async () => {
  await target[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("openapi-typescript's types for openapi-fetch are what tsc expects of the contract", async () => {
  await checkProgram(folder, program);
  for (const [text, replacement, message] of [
    ["id: 2,", "", "Property 'id' is missing"],
    ["id: 2,", 'id: "2",', "Type 'string' is not assignable to type 'number'"],
    ["data.name", "data.id", "Property 'id' does not exist"],
  ] as const)
    expect(await settled(checkProgram(folder, program.replace(text, replacement)))).toThrow(message);
});

test("openapi-fetch creates plants, and tells their refusals apart by the Error's code", async () => {
  writeFileSync(folder.file("program.ts"), program);
  const child = Bun.spawn([process.execPath, folder.file("program.ts"), target.server.url, target.token], {
    stdout: "pipe",
  });
  expect(await child.stdout.text()).toBe(
    [
      "200 Monstera deliciosa tropical",
      "200 Ficus lyrata undefined",
      "200 Monstera deliciosa tropical",
      "400 40009 true",
      "400 40003 true\n",
    ].join("\n"),
  );
  expect(await target.stored("1")).toBe('{"id":1,"name":"Monstera deliciosa","tag":"tropical"}\n');
  expect(await target.stored("9007199254740991")).toBe('{"id":9007199254740991,"name":"Ficus lyrata"}\n');
});
