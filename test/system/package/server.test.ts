// The server as a user gets it: packed by npm, started by npx, and installed without install
// scripts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import packageJson from "../../../package.json";
import { freshId, plantJson, post } from "../../support/http.ts";
import { npmEnvironment, npxCacheIn, packServer, succeed, unpack } from "../../support/npm-packages.ts";
import { Output } from "../../support/output.ts";
import { killGroup } from "../../support/processes.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, runIn, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const folder = new TemporaryFolder();
const unpacked = folder.file("unpacked");
let tarball: string;

beforeAll(async () => {
  tarball = await packServer(folder);
  await unpack(tarball, unpacked);
}, 60_000);
afterAll(() => folder[Symbol.dispose]());

test("publint and are-the-types-wrong find nothing, and neither the client nor tests are in it", async () => {
  const { messages, pkg } = await publint({ pkgDir: unpacked, pack: false, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  expect(readdirSync(unpacked).toSorted()).toEqual(
    [
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "bin",
      "openapi.yaml",
      "package.json",
      "packages",
      "src",
    ].toSorted(),
  );
  expect(readdirSync(join(unpacked, "packages"))).toEqual(["sandbox"]);
  expect(readdirSync(join(unpacked, "packages/sandbox"))).toEqual(["dist"]);

  // The server itself is TypeScript that Bun runs as it stands.
  const analysis = await checkPackage(createPackageFromTarballData(await Bun.file(tarball).bytes()), {
    excludeEntrypoints: ["."],
  });
  if (analysis.types === false) throw new Error("The package has no types");
  expect(analysis.problems).toEqual([]);
  expect(Object.keys(analysis.entrypoints)).toEqual(["./sandbox", "./package.json"]);
});

test("in an empty folder, npx with the tarball starts it; a plant is created and read back; Ctrl+C ends it", async () => {
  const empty = folder.file("empty");
  mkdirSync(empty);
  const env = { ...process.env, ...npmEnvironment, ...npxCacheIn(folder) };
  // npx runs a path as a program, unless it is relative.
  const relativeTarball = relative(empty, tarball);
  const child = Bun.spawn(["npx", relativeTarball, "serve", "--port", "0", "--admin-port", "off"], {
    cwd: empty,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // The leader of a process group, to which a terminal sends its signals.
    detached: true,
  });
  try {
    const output = new Output(child.stdout);
    const errors = new Output(child.stderr);
    const printed = output.until(
      (text) => /^(http\S+)[\s\S]*(pst_\S{43})[\s\S]*\nor in a browser/.exec(text) ?? undefined,
    );
    const [, url = "", token = ""] = await printed.catch(async () => {
      throw new Error(await errors.ended);
    });
    const id = freshId();
    expect((await post({ url, token }, plantJson(id, "Monstera"))).status).toBe(200);
    const get = Bun.spawn(["npx", relativeTarball, "get", String(id)], {
      cwd: empty,
      env,
      stdout: "pipe",
      stderr: "ignore",
    });
    expect(JSON.parse(await get.stdout.text())).toMatchObject({ name: "Monstera" });
    expect(readdirSync(empty)).toContain("plantstore.db");
    process.kill(-child.pid, "SIGINT");
    await output.ended;
    // A store that was closed has no write-ahead log.
    expect(readdirSync(empty)).toEqual(["plantstore.db"]);
  } finally {
    await killGroup(child);
  }
}, 120_000);

test("installed globally, the command is there; uninstalled, it is not, and the store remains", async () => {
  const prefix = folder.file("prefix");
  const env = { npm_config_prefix: prefix };
  const database = `sqlite:${folder.file("global.db")}`;
  const plantstore = join(prefix, "bin/plantstore");
  await succeed(folder.path, ["npm", "install", "--global", tarball], env);
  const { exitCode } = await runIn(folder.path, [plantstore, "migrate", "--database", database]);
  expect(exitCode).toBe(0);
  await succeed(folder.path, ["npm", "uninstall", "--global", packageJson.name], env);
  expect(readdirSync(join(prefix, "bin"))).toEqual([]);
  expect(readdirSync(join(prefix, "lib/node_modules"))).toEqual([]);
  expect(readdirSync(folder.path)).toContain("global.db");
}, 60_000);

test("npm ci --omit=dev takes less than 120 MB with Bun, also without install scripts, and is enough to run it", async () => {
  cpSync(join(root, "package-lock.json"), join(unpacked, "package-lock.json"));
  cpSync(join(root, "packages/client/package.json"), join(unpacked, "packages/client/package.json"));
  await succeed(unpacked, ["npm", "ci", "--omit=dev", "--ignore-scripts"]);
  const [bytes] = (await succeed(unpacked, ["du", "--summarize", "--bytes", "node_modules"])).split("\t");
  expect(Number(bytes)).toBeLessThan(120e6);

  const program = join(unpacked, "bin/plantstore");
  const { stdout } = await runIn(folder.path, [program, "--version"]);
  expect(stdout).toBe(`${packageJson.version} (Bun ${Bun.version}, SQLite ${process.versions.sqlite})\n`);
  await using server = await RunningServer.start({
    program,
    database: `sqlite:${folder.file("plants.db")}`,
    // Loads tracing, of which no package is installed.
    args: ["--otlp-endpoint", "http://127.0.0.1:1"],
  });
  const target = { url: server.url, token: await server.createToken() };
  expect((await post(target, plantJson(freshId(), "Monstera"))).status).toBe(200);
  for (const path of ["", "library/preact.js", "library/uplot.css"]) {
    expect((await fetch(`${await server.adminUrl()}/console/${path}`)).status).toBe(200);
  }
  expect((await server.stop()).exitCode).toBe(0);

  await using sandbox = await RunningSandbox.start({ program });
  expect((await post(sandbox, plantJson(freshId(), "Monstera"))).status).toBe(200);
  expect((await sandbox.control("GET", "/openapi.json")).json).toMatchObject({ openapi: "3.1.0" });
}, 120_000);
