// The client as a consumer gets it: packed by npm, on Node, in a browser's realm, and through the eyes of tsc.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";
import type * as Client from "../../../src/client/index.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { ClientTarget } from "./setup.ts";

const root = new URL("../../..", import.meta.url).pathname;
const folder = new TemporaryFolder();
const consumer = folder.file("consumer");
const installed = join(consumer, "node_modules/plantstore");
let target: ClientTarget;

beforeAll(async () => {
  target = await ClientTarget.start();
  // npm packs a copy, since its prepack script writes dist/; what has nothing to do with the client stays out.
  const copy = folder.file("copy");
  for (const path of ["package.json", "tsconfig.json", "src/client"]) {
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  await succeed(copy, "npm", "pack", "--pack-destination", folder.path);
  const [tarball = ""] = readdirSync(folder.path).filter((name) => name.endsWith(".tgz"));
  mkdirSync(installed, { recursive: true });
  await succeed(installed, "tar", "xzf", folder.file(tarball), "--strip-components=1");
}, 60_000);

afterAll(async () => {
  await target[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Runs a program to its end, and gives what it printed. */
async function succeed(cwd: string, ...command: string[]): Promise<string> {
  // npm runs the scripts with this test's Bun and tsc, without checking for updates.
  const env = { ...process.env, npm_config_update_notifier: "false" };
  const child = Bun.spawn(command, { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

/** A program that creates a plant and prints what came of it. */
function program(id: string): string {
  return `
    import { PlantStoreClient, PlantStoreError } from "plantstore/client";

    const baseUrl: string = ${JSON.stringify(target.server.url)};
    const client = new PlantStoreClient({ baseUrl, token: ${JSON.stringify(target.token)} });
    const plant = await client.createPlant({ id: ${id}, name: "Monstera 🌱", tag: "tropical" });
    const name: string = plant.name;
    const tag: string | undefined = plant.tag;
    const code: number = await client.createPlant({ id: ${id}, name: "other" }).then(
      () => 0,
      (error: unknown) => (error instanceof PlantStoreError ? error.code : -1),
    );
    console.log(JSON.stringify({ name, tag, code }));
  `;
}

/** The same without its types. */
function javaScript(typeScript: string): string {
  return new Bun.Transpiler({ loader: "ts", target: "node" }).transformSync(typeScript);
}

const printed = '{"name":"Monstera 🌱","tag":"tropical","code":40009}\n';

test("Node runs it, as a process of its own, and its ids are exact", async () => {
  writeFileSync(join(consumer, "on-node.mjs"), javaScript(program("9007199254740993n")));
  expect(await succeed(consumer, "node", "on-node.mjs")).toBe(printed);
  expect(await target.stored("9007199254740993")).toStartWith('{"id":9007199254740993,');
});

test("Bun runs it, from its sources", async () => {
  writeFileSync(join(consumer, "on-bun.ts"), program("9007199254740995n"));
  expect(await succeed(consumer, process.execPath, "on-bun.ts")).toBe(printed);
  expect(await target.stored("9007199254740995")).toStartWith('{"id":9007199254740995,');
  const resolved = await succeed(
    consumer,
    process.execPath,
    "-p",
    'import.meta.resolve("plantstore/client")',
  );
  expect(resolved).toContain("/src/client/index.ts");
});

test.each(["bundler", "nodenext"])(
  "tsc accepts its types, strictly, with module resolution %s",
  async (resolution) => {
    const module = resolution === "nodenext" ? "nodenext" : "esnext";
    const options = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
    const compilerOptions = {
      ...options,
      module,
      moduleResolution: resolution,
      target: "es2022",
      lib: ["es2022", "dom"],
      types: [],
    };
    const project = folder.file(`consumer/${resolution}.json`);
    writeFileSync(join(consumer, "types.mts"), program("1n"));
    writeFileSync(project, JSON.stringify({ compilerOptions, files: ["types.mts"] }));
    const tsc = join(root, "node_modules/.bin/tsc");
    expect(await succeed(consumer, tsc, "-p", project)).toBe("");

    // And they are types, not any.
    writeFileSync(join(consumer, "types.mts"), program('"1"'));
    expect(succeed(consumer, tsc, "-p", project)).rejects.toThrow(
      "Type 'string' is not assignable to type 'number | bigint'",
    );
  },
);

test("a browser's bundle imports nothing, and works in a realm that has nothing of Bun's or Node's", async () => {
  const entry = join(consumer, "page.js");
  writeFileSync(entry, 'import * as client from "plantstore/client"; globalThis.client = client;');
  const built = await Bun.build({ entrypoints: [entry], target: "browser", format: "iife", minify: true });
  const code = (await built.outputs[0]?.text()) ?? "";
  expect(code).not.toMatch(/\bimport\b|\brequire\(|\bBun\b|\bprocess\b|\bBuffer\b|\bglobal\b/);

  const browserHas = { fetch, URL, AbortController, AbortSignal, setTimeout, clearTimeout, performance };
  const realm = vm.createContext({ ...browserHas });
  expect(vm.runInContext("typeof Bun + typeof process + typeof Buffer", realm)).toBe("undefined".repeat(3));

  const page: typeof Client = vm.runInContext(`${code}; globalThis.client`, realm);
  const { PlantStoreClient, PlantStoreError } = page;
  const client = new PlantStoreClient({ baseUrl: target.server.url, token: target.token });
  const id = -9007199254740993n;
  expect({ ...(await client.createPlant({ id, name: "Monstera" })) }).toEqual({ name: "Monstera" });
  expect(await target.stored(String(id))).toBe(`{"id":${id},"name":"Monstera"}\n`);
  const refused = await client.createPlant({ id, name: "other" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(PlantStoreError);
  expect(refused).toMatchObject({ code: 40009 });
});
