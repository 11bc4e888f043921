// The core without any extra: on a copy of the tree that has nothing else, it compiles, starts and creates a plant.

import { expect, test } from "bun:test";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../../", import.meta.url).pathname;

const program = `
import { makeToken, openServerStore, randomBytes, startServer } from "./src/index.ts";
const ignore = () => undefined;
const reports = { onUnavailable: ignore, onDegraded: ignore, onFailed: ignore };
const store = await openServerStore("sqlite:plants.db", "create", reports);
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
await store.close();
`;

test("without console, sandbox, conformance, documentation, operations and command line the service works", async () => {
  using folder = new TemporaryFolder();
  mkdirSync(folder.file("src"));
  for (const kept of [
    "src/core",
    "src/index.ts",
    "src/yaml.d.ts",
    "openapi.yaml",
    "package.json",
    "tsconfig.json",
  ])
    cpSync(root + kept, folder.file(kept), { recursive: true });
  symlinkSync(`${root}node_modules`, folder.file("node_modules"));
  writeFileSync(folder.file("main.ts"), program);
  const check = Bun.spawnSync([`${root}node_modules/.bin/tsc`], { cwd: folder.path });
  expect({ exitCode: check.exitCode, errors: check.stdout.toString() }).toEqual({ exitCode: 0, errors: "" });
  const run = Bun.spawnSync([process.execPath, "main.ts"], { cwd: folder.path });
  expect(run.stderr.toString()).toBe("");
  expect(run.stdout.toString()).toBe('200 {"name":"Monstera deliciosa"} 200\n');
});
