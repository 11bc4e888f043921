// A second generated client: @hey-api/openapi-ts generates all of it from openapi.yaml, fetch
// included.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ClientTarget } from "../../support/client.ts";
import { TemporaryFolder } from "../../support/server.ts";

const installed = new URL("../../../node_modules", import.meta.url).pathname;
const folder = new TemporaryFolder();
let target: ClientTarget;

/**
 * How a reader of the generator's documentation would write it, knowing nothing of this project.
 */
const program = `
  import { createPlant, type NewPlant } from "./generated";
  import { client } from "./generated/client.gen";

  const [baseUrl = "", token = ""] = process.argv.slice(2);
  client.setConfig({ baseUrl, auth: () => token });

  async function create(body: NewPlant): Promise<string> {
    const { data, error, response } = await createPlant({ body });
    return data === undefined
      ? \`\${response.status} \${error.error} \${error.message.length > 0}\`
      : \`\${response.status} \${data.name} \${data.tag}\`;
  }

  console.log(await create({ id: 1, name: "Monstera deliciosa", tag: "tropical" }));
  console.log(await create({ id: -9007199254740991, name: "Ficus lyrata 🌱" }));
  console.log(await create({ id: 1, name: "Monstera deliciosa", tag: "tropical" }));
  console.log(await create({ id: 1, name: "not a Monstera" }));
`;

beforeAll(async () => {
  target = await ClientTarget.start();
  copyFileSync(new URL("../../../openapi.yaml", import.meta.url).pathname, folder.file("openapi.yaml"));
  withTypeScript5();
  const command = join(folder.path, "node_modules/@hey-api/openapi-ts/bin/run.js");
  await run("--bun", command, "--input", "openapi.yaml", "--output", "generated", "--no-log-file");
}, 60_000);

afterAll(async () => {
  await target[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/**
 * Installs the generator with TypeScript 5, whose compiler API this project's TypeScript 7 lacks.
 */
function withTypeScript5(): void {
  const modules = folder.file("node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(installed)) {
    if (!["@hey-api", "typescript", ".bin"].includes(name))
      symlinkSync(join(installed, name), join(modules, name));
  }
  symlinkSync(join(installed, "typescript-5"), join(modules, "typescript"));
  // Copied: a link would lead back to the modules beside what it links to.
  cpSync(join(installed, "@hey-api"), join(modules, "@hey-api"), { recursive: true });
}

/** Runs Bun in the folder to its end, and gives what it printed. */
async function run(...args: string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, ...args], { cwd: folder.path, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${args[0]} failed:\n${stdout}${stderr}`);
  return stdout;
}

test("its client creates plants with the token, and tells their refusals apart by the Error's code", async () => {
  writeFileSync(folder.file("program.ts"), program);
  expect(await run("program.ts", target.server.url, target.token)).toBe(
    [
      "200 Monstera deliciosa tropical",
      "200 Ficus lyrata 🌱 undefined",
      "200 Monstera deliciosa tropical",
      "400 40009 true\n",
    ].join("\n"),
  );
  expect(await run("program.ts", target.server.url, "wrong")).toStartWith("401 40101 true\n");
  expect(await target.stored("1")).toBe('{"id":1,"name":"Monstera deliciosa","tag":"tropical"}\n');
  expect(await target.stored("-9007199254740991")).toBe(
    '{"id":-9007199254740991,"name":"Ficus lyrata 🌱"}\n',
  );
});
