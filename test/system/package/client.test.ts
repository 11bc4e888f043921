// The client as a consumer gets it: packed by npm, installed into an empty project, on Node and
// as the bundle of a page, and through the eyes of tsc. docs/client.md is test/system/guides.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contractFile } from "../../support/contract-sandbox.ts";
import { checkTypes, moduleResolutions, packClient, succeed } from "../../support/npm-packages.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const consumer = folder.file("consumer");
let server: RunningServer;
let token: string;

beforeAll(async () => {
  const tarball = await packClient(folder);
  const args = ["--contract", contractFile("parcels.yaml")];
  server = resources.use(await RunningServer.startInProcess({ args }));
  token = await server.createToken();
  mkdirSync(consumer);
  writeFileSync(join(consumer, "package.json"), "{}");
  // Its dependency is the copy that is here, so that no network is needed.
  const dependency = new URL("../../../node_modules/lossless-json", import.meta.url).pathname;
  await succeed(consumer, ["npm", "install", "--offline", "--ignore-scripts", tarball, dependency]);
});
afterAll(() => resources.disposeAsync());

/** A program that creates a parcel, prints its id, and deletes it. */
function program(id: string): string {
  return `
    import { createFetch, type Exact, type FetchOptions, stringifyExact } from "@plantstore/client";

    const options: FetchOptions = { attempts: 3 };
    async function main(): Promise<void> {
      const response: Response = await createFetch(options)(${JSON.stringify(`${server.url}/parcels`)}, {
        method: "POST",
        headers: { Authorization: "Bearer ${token}", "Content-Type": "application/json" },
        body: stringifyExact({ id: ${id}, sender: "Ada 🌱", fragile: true }),
      });
      const parcel = (await response.json()) as Exact<{ id: number; sender: string }>;
      const sender: string = parcel.sender;
      const parcelId: number | bigint = parcel.id;
      const { status } = await createFetch()(\`\${response.url}/\${parcelId}\`, {
        method: "DELETE",
        headers: { Authorization: "Bearer ${token}" },
      });
      console.log(response.status, sender, typeof parcelId, String(parcelId), status);
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

test("it has one dependency, and its code and types", async () => {
  const installed = join(consumer, "node_modules/@plantstore/client");
  const { dependencies } = await Bun.file(join(installed, "package.json")).json();
  expect(Object.keys(dependencies)).toEqual(["lossless-json"]);
  expect(readdirSync(installed, { recursive: true }).map(String).toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "dist",
    "dist/exact-json.d.cts",
    "dist/fetch.d.cts",
    "dist/index.cjs",
    "dist/index.d.cts",
    "dist/index.d.ts",
    "dist/index.js",
    "package.json",
  ]);
});

test.each([
  ["an ES module", "mjs", esModule, 9007199254740993n],
  ["CommonJS", "cjs", commonJs, -9007199254750993n],
] as const)("Node runs it from %s, and its ids are exact", async (_, extension, compile, id) => {
  const file = `on-node.${extension}`;
  writeFileSync(join(consumer, file), compile(program(`${id}n`)));
  expect(await succeed(consumer, ["node", file])).toBe(`201 Ada 🌱 bigint ${id} 204\n`);
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
    writeFileSync(join(consumer, file), program("1n").replace("attempts: 3", 'attempts: "3"'));
    expect(await settled(checkTypes(consumer, [file], options, compiler))).toThrow(
      "Type 'string' is not assignable to type 'number'",
    );
  },
);

// test/system/browser/client.test.ts runs it in a browser.
test("a browser's bundle imports nothing, and names nothing of Bun's or Node's", async () => {
  const entry = join(consumer, "page.js");
  writeFileSync(entry, 'import * as client from "@plantstore/client"; globalThis.client = client;');
  const built = await Bun.build({ entrypoints: [entry], target: "browser", format: "iife", minify: true });
  const code = (await built.outputs[0]?.text()) ?? "";
  expect(code).toContain("createFetch");
  expect(code).not.toMatch(/\bimport\b|\brequire\(|\bBun\b|\bprocess\b|\bBuffer\b|\bglobal\b/);
});
