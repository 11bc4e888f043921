// The core without any extra: on a copy of the tree that has nothing else it compiles, and, with the
// compiler of descriptions, starts and creates a plant. And the program without one extra.

import { expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { coreFolders } from "../../../scripts/layers.ts";
import { TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../../", import.meta.url).pathname;

const program = `
import { makeToken, randomBytes } from "./src/auth/token.ts";
import { startServer } from "./src/service/server.ts";
import { compiler } from "./src/openapi/compiler.ts";
import { storeAt } from "./src/store/open-store.ts";
const ignore = () => undefined;
const reports = { onUnavailable: ignore, onTaskFailed: ignore, onFailed: ignore };
await using store = await storeAt("sqlite:plants.db").openForServer("create", reports, { compiler });
const { token, record } = makeToken({ name: "own", expiresAt: null }, { now: Date.now(), randomBytes });
await store.tokens.add(record);
const server = await startServer({ store, admin: { host: "127.0.0.1", port: 0 } });
const response = await fetch(\`\${server.url}/plants\`, {
  method: "POST",
  headers: { Authorization: \`Bearer \${token}\`, "Content-Type": "application/json" },
  body: '{"id": 9007199254740993, "name": "Monstera deliciosa"}',
});
const ready = await fetch(\`\${server.adminUrl}/readyz\`);
process.stdout.write(\`\${response.status} \${await response.text()} \${ready.status}\\n\`);
await server.stop();
`;

test("without console, sandbox, conformance, documentation, operations and command line the service works", async () => {
  using folder = new TemporaryFolder();
  mkdirSync(folder.file("src"));
  const copy = (kept: string) => cpSync(root + kept, folder.file(kept), { recursive: true });
  for (const kept of [...coreFolders, "package.json", "tsconfig.json"]) copy(kept);
  symlinkSync(`${root}node_modules`, folder.file("node_modules"));
  const check = Bun.spawnSync([`${root}node_modules/.bin/tsc`], { cwd: folder.path });
  expect({ exitCode: check.exitCode, errors: check.stdout.toString() }).toEqual({ exitCode: 0, errors: "" });
  for (const kept of ["src/openapi", "src/types", "openapi.yaml"]) copy(kept);
  writeFileSync(folder.file("main.ts"), program);
  const run = Bun.spawnSync([process.execPath, "main.ts"], { cwd: folder.path });
  expect(run.stderr.toString()).toBe("");
  expect(run.stdout.toString()).toBe('200 {"name":"Monstera deliciosa"} 200\n');
});

/**
 * An extra: its folders, the files of the command line that wire it, which a line of start-server.ts
 * or main.ts loads, and what the line calls.
 */
const extras: Readonly<Record<string, { folders: string[]; wiring: string[]; called: string }>> = {
  // The sandbox parses messages as conformance does.
  conformance: {
    folders: ["packages/conformance", "src/sandbox"],
    wiring: ["cli/commands/conformance-command.ts", "cli/commands/sandbox-command.ts", "process/sandbox.ts"],
    called: "conformanceCommand|sandboxCommand",
  },
  sandbox: {
    folders: ["src/sandbox"],
    wiring: ["cli/commands/sandbox-command.ts", "process/sandbox.ts"],
    called: "sandboxCommand",
  },
  // The sandbox returns examples of the served description.
  documentation: {
    folders: ["src/docs-page", "src/sandbox"],
    wiring: ["cli/commands/sandbox-command.ts", "process/sandbox.ts"],
    called: "documentation|sandboxCommand",
  },
  // The sandbox shares the sessions of the console.
  console: {
    folders: ["src/console", "src/sandbox"],
    wiring: ["process/serve-console.ts", "cli/commands/sandbox-command.ts", "process/sandbox.ts"],
    called: "createConsole|sandboxCommand",
  },
};

test("without one extra and the lines that wire it the others compile", async () => {
  using folder = new TemporaryFolder();
  const checks = Object.entries(extras).map(async ([name, { folders, wiring, called }]) => {
    const copy = folder.file(name);
    mkdirSync(copy);
    for (const kept of [
      "src",
      "packages/client/src",
      "packages/conformance/src",
      "packages/sandbox/src",
      "openapi.yaml",
      "package.json",
      "tsconfig.json",
    ])
      cpSync(root + kept, `${copy}/${kept}`, { recursive: true });
    symlinkSync(`${root}node_modules`, `${copy}/node_modules`);
    for (const removed of folders) rmSync(`${copy}/${removed}`, { recursive: true });
    for (const removed of wiring) rmSync(`${copy}/src/${removed}`);
    for (const file of ["process/start-server.ts", "cli/main.ts"]) {
      const path = `${copy}/src/${file}`;
      const lines = readFileSync(path, "utf8").split("\n");
      writeFileSync(path, lines.filter((line) => !new RegExp(`\\b(${called})\\b`).test(line)).join("\n"));
    }
    const check = Bun.spawn([`${root}node_modules/.bin/tsc`], { cwd: copy, stdout: "pipe" });
    return { name, errors: await check.stdout.text(), exitCode: await check.exited };
  });
  expect(await Promise.all(checks)).toEqual(
    Object.keys(extras).map((name) => ({ name, errors: "", exitCode: 0 })),
  );
});
