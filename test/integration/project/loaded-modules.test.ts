// The modules that a command loads: each costs 0.1 to 0.5 ms of processor time at every start, and
// some packages 10 to 40 ms.

import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dependencies } from "../../../package.json";
import { eventually } from "../../support/eventually.ts";
import { RunningServer, run, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../../", import.meta.url).pathname;

/**
 * Loaded first: writes the modules that have been loaded when the process receives SIGUSR2, and
 * when it ends.
 */
const recorder = (report: string) => `
import { renameSync, writeFileSync } from "node:fs";
const write = () => {
  writeFileSync(${JSON.stringify(`${report}.new`)}, Object.keys(require.cache).join("\\n"));
  renameSync(${JSON.stringify(`${report}.new`)}, ${JSON.stringify(report)});
};
process.on("SIGUSR2", write).on("exit", write);
`;

/** The environment in which Bun loads the recorder, and the report that it writes. */
function recordIn(folder: TemporaryFolder): { env: Record<string, string>; report: string } {
  const report = folder.file("modules.txt");
  const preload = folder.file("recorder.mjs");
  writeFileSync(preload, recorder(report));
  return { env: { BUN_OPTIONS: `--preload=${preload}` }, report };
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
  // Without OpenTelemetry, jose and pg.
  expect(packages).toEqual(["commander", "leven", "pino"]);
  const shared = ["command-name.ts", "host.ts", "main.ts", "output.ts", "standard-streams.ts"];
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

test("the commit worker loads no package", async () => {
  using folder = new TemporaryFolder();
  const report = folder.file("modules.txt");
  const script = `
    import { writeFileSync } from "node:fs";
    await import(${JSON.stringify(`${root}src/core/store/sqlite/commit-worker.ts`)});
    writeFileSync(${JSON.stringify(report)}, Object.keys(require.cache).join("\\n"));
    process.exit();`;
  writeFileSync(folder.file("worker.ts"), script);
  expect(Bun.spawnSync([process.execPath, folder.file("worker.ts")]).exitCode).toBe(0);
  const { packages, filesOf } = parseReport(report);
  expect(filesOf("src/core/store/sqlite/")).toContain("commit-worker.ts");
  expect(filesOf("node_modules/")).toEqual([]);
  expect(packages).toEqual([]);
});

test("--version loads no command", async () => {
  using folder = new TemporaryFolder();
  const { env, report } = recordIn(folder);
  expect((await run(["--version"], env)).exitCode).toBe(0);
  const version = parseReport(report);
  expect(version.packages).toEqual(["commander"]);
  expect(version.filesOf("src/")).toEqual([
    "cli/build-info.ts",
    "cli/command-name.ts",
    "cli/config/redact.ts",
    "cli/host.ts",
    "cli/main.ts",
    "cli/output.ts",
    "cli/standard-streams.ts",
    "core/observability/terminal.ts",
    "core/operator-error.ts",
  ]);
});
