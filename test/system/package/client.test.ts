// The client as a consumer gets it: packed by npm, installed into an empty project, on Node and
// as the bundle of a page, and through the eyes of tsc.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClientTarget, startClientTarget } from "../../support/client.ts";
import { checkTypes, moduleResolutions, packClient, succeed } from "../../support/npm-packages.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const folder = new TemporaryFolder();
const consumer = folder.file("consumer");
const installed = join(consumer, "node_modules/@plantstore/client");
let target: ClientTarget;

beforeAll(async () => {
  const [tarball, started] = await Promise.all([packClient(folder), startClientTarget()]);
  target = started;
  mkdirSync(consumer);
  writeFileSync(join(consumer, "package.json"), "{}");
  await succeed(consumer, ["npm", "install", "--offline", tarball]);
});

afterAll(async () => {
  await target[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** A program that creates a plant and prints what came of it. */
function program(id: string): string {
  return `
    import { PlantStoreClient, PlantStoreError } from "@plantstore/client";

    const baseUrl: string = ${JSON.stringify(target.server.url)};
    const client = new PlantStoreClient({ baseUrl, token: ${JSON.stringify(target.token)} });
    async function main(): Promise<void> {
      const plant = await client.createPlant({ id: ${id}, name: "Monstera 🌱", tag: "tropical" });
      const name: string = plant.name;
      const tag: string | undefined = plant.tag;
      const code: number = await client.createPlant({ id: ${id}, name: "other" }).then(
        () => 0,
        (error: unknown) => (error instanceof PlantStoreError ? error.code : -1),
      );
      console.log(JSON.stringify({ name, tag, code }));
    }
    void main();
  `;
}

/** Removes the types from a module. */
function esModule(typeScript: string): string {
  return new Bun.Transpiler({ loader: "ts", target: "node" }).transformSync(typeScript);
}

function commonJs(typeScript: string): string {
  const script = esModule(typeScript).replace(/import (\{.+?\}) from (".+?");/, "const $1 = require($2);");
  expect(script).toContain('require("@plantstore/client")');
  return script;
}

const printed = '{"name":"Monstera 🌱","tag":"tropical","code":40009}\n';

test("it has no dependencies, and takes less than 40 KB installed", async () => {
  const manifest = await Bun.file(join(installed, "package.json")).json();
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
  expect(readdirSync(join(consumer, "node_modules")).toSorted()).toEqual([
    ".package-lock.json",
    "@plantstore",
  ]);
  const files = readdirSync(installed, { recursive: true }).map((file) =>
    statSync(join(installed, String(file))),
  );
  const bytes = files.filter((file) => file.isFile()).reduce((sum, { size }) => sum + size, 0);
  expect(bytes).toBeLessThan(40_000);
});

test.each([
  ["an ES module", "mjs", esModule, 9007199254740993n],
  ["CommonJS", "cjs", commonJs, -9007199254750993n],
] as const)("Node runs it from %s, and its ids are exact", async (_, extension, compile, id) => {
  const file = `on-node.${extension}`;
  writeFileSync(join(consumer, file), compile(program(`${id}n`)));
  expect(await succeed(consumer, ["node", file])).toBe(printed);
  expect(await target.stored(String(id))).toStartWith(`{"id":${id},`);
});

test.each(moduleResolutions)(
  "%s with module resolution %s and module %s accepts its types in a .%s, strictly",
  async (compiler, moduleResolution, module, extension) => {
    const file = `types-${moduleResolution}.${extension}`;
    const lib = ["es2022", "dom"];
    const options = { skipLibCheck: false, module, moduleResolution, target: "es2022", lib, types: [] };
    writeFileSync(join(consumer, file), program("1n"));
    await checkTypes(consumer, [file], options, compiler);

    // And they are types, not any.
    writeFileSync(join(consumer, file), program('"1"'));
    expect(await settled(checkTypes(consumer, [file], options, compiler))).toThrow(
      "Type 'string' is not assignable to type 'number | bigint'",
    );
  },
);

// test/system/browser/client.test.ts runs it in a browser.
test("a browser's bundle imports nothing, and names nothing of Bun's or Node's", async () => {
  const entry = join(consumer, "page.js");
  writeFileSync(entry, 'import * as client from "@plantstore/client"; globalThis.client = client;');
  const built = await Bun.build({ entrypoints: [entry], target: "browser", format: "iife", minify: true });
  const code = (await built.outputs[0]?.text()) ?? "";
  expect(code).toContain("createPlant");
  expect(code).not.toMatch(/\bimport\b|\brequire\(|\bBun\b|\bprocess\b|\bBuffer\b|\bglobal\b/);
});
