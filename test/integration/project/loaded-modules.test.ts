// The modules that a command loads: each costs 0.1 to 0.5 ms of processor time at every start, and
// some packages 10 to 40 ms.

import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dependencies } from "../../../package.json";
import { eventually } from "../../support/eventually.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../../", import.meta.url).pathname;

/**
 * The environment in which Bun first loads a module that writes the modules loaded so far when the
 * process receives SIGUSR2, and the file that it writes.
 */
function recordIn(folder: TemporaryFolder): { env: Record<string, string>; report: string } {
  const report = folder.file("modules.txt");
  const recorder = `
    import { renameSync, writeFileSync } from "node:fs";
    process.on("SIGUSR2", () => {
      writeFileSync(${JSON.stringify(`${report}.new`)}, Object.keys(require.cache).join("\\n"));
      renameSync(${JSON.stringify(`${report}.new`)}, ${JSON.stringify(report)});
    });`;
  writeFileSync(folder.file("recorder.mjs"), recorder);
  return { env: { BUN_OPTIONS: `--preload=${folder.file("recorder.mjs")}` }, report };
}

/** Packages of package.json, and files of a folder of the sources, both in alphabetical order. */
function parseReport(report: string) {
  const paths = readFileSync(report, "utf8")
    .split("\n")
    .filter((path) => path.startsWith(root))
    .map((path) => path.slice(root.length));
  const packages = Object.keys(dependencies).filter((name) =>
    paths.some((path) => path.startsWith(`node_modules/${name}/`)),
  );
  const filesOf = (folder: string) =>
    paths
      .filter((path) => path.startsWith(folder))
      .map((path) => path.slice(folder.length))
      .sort();
  return { packages, filesOf };
}

test("a server with the default settings loads neither the other commands nor what only some settings need", async () => {
  using folder = new TemporaryFolder();
  const { env, report } = recordIn(folder);
  await using server = await RunningServer.start({ env });
  await server.adminUrl();
  process.kill(server.pid, "SIGUSR2");
  await eventually("the report of loaded modules", () => existsSync(report));

  const { packages, filesOf } = parseReport(report);
  // Without OpenTelemetry, jose and pg. The parser of URLs takes a millisecond, and is needed at once.
  expect(packages).toEqual(["commander", "hono", "leven", "pg-connection-string", "pino"]);
  const shared = ["command-name.ts", "host.ts", "main.ts", "output.ts"];
  const commands = filesOf("src/cli/").filter(
    (file) => !file.startsWith("config/") && !shared.includes(file),
  );
  expect(commands).toEqual([
    "banner.ts",
    "print-token.ts",
    "serve-command.ts",
    "serve-console.ts",
    "serve.ts",
    "server-process.ts",
    "signals.ts",
  ]);
  expect(filesOf("src/core/auth/")).not.toContain("jwt-verifier.ts");
  expect(filesOf("src/core/store/postgres/")).toEqual(["connection-url.ts"]);
  // The store itself is in the worker.
  expect(filesOf("src/core/store/sqlite/")).not.toContain("store.ts");
});
