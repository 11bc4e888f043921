// bin/plantstore: how it finds itself, its package and the Bun that starts on this system, in a
// shell and in Node.

import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { plantstore, RunningServer, runProgram, TemporaryFolder } from "../../support/server.ts";

const version = /^\d+\.\d+\.\d+ \(Bun \S+, SQLite \S+\)\n$/;

test("the command works through symbolic links, from any directory", async () => {
  using folder = new TemporaryFolder();
  mkdirSync(folder.file("bin"));
  symlinkSync(plantstore, folder.file("bin/first"));
  symlinkSync("first", folder.file("bin/second"));
  const child = Bun.spawn([folder.file("bin/second"), "--version"], { cwd: folder.path, stdout: "pipe" });
  expect(await child.stdout.text()).toMatch(version);
});

test("without the runtime the command names its own package, whatever CDPATH is", async () => {
  using folder = new TemporaryFolder();
  for (const place of ["package/bin", "elsewhere/bin"]) mkdirSync(folder.file(place), { recursive: true });
  cpSync(dirname(plantstore), folder.file("package/bin"), { recursive: true });
  const env = { ...process.env, CDPATH: folder.file("elsewhere") };
  const child = Bun.spawn(["bin/plantstore"], { cwd: folder.file("package"), env, stderr: "pipe" });
  expect(await child.stderr.text()).toBe(
    `plantstore: the Bun runtime is not installed; run 'npm ci' in ${realpathSync(folder.file("package"))}\n`,
  );
  expect(await child.exited).toBe(1);
});

test.each(["aarch64", "zos"])("a Bun for another system, %s, is passed over", async (system) => {
  using folder = new TemporaryFolder();
  await copyPackage(folder);
  // Their names sort before and after that of this system.
  addBun(folder.file("node_modules"), `bun-${system}`, bunOfAnotherSystem);
  addBun(folder.file("node_modules"), "bun-linux", bunOfThisSystem);
  expect(await runProgram([folder.file("package/bin/plantstore")])).toEqual(started);
});

test("a Bun that its install script has moved is found next to one for another system", async () => {
  using folder = new TemporaryFolder();
  await copyPackage(folder);
  addBun(folder.file("node_modules"), "bun-linux-x64-musl", bunOfAnotherSystem);
  mkdirSync(folder.file("node_modules/bun/bin"));
  symlinkSync(process.execPath, folder.file("node_modules/bun/bin/bun.exe"));
  expect(await runProgram([folder.file("package/bin/plantstore")])).toEqual(started);
});

test("where no node_modules is above the package, Node finds the Bun", async () => {
  using folder = new TemporaryFolder();
  using elsewhere = new TemporaryFolder();
  await copyPackage(folder);
  const optionalDependencies = { "@oven/bun-a": "1", "@oven/bun-b": "1", "@oven/bun-c": "1" };
  await Bun.write(elsewhere.file("bun/package.json"), JSON.stringify({ optionalDependencies }));
  addBun(elsewhere.path, "bun-b", bunOfAnotherSystem);
  addBun(elsewhere.path, "bun-c", bunOfThisSystem);
  const program = [folder.file("package/bin/plantstore")];
  // As Yarn's Plug'n'Play, NODE_PATH changes where Node looks.
  expect(await runProgram(program, { env: { NODE_PATH: elsewhere.path } })).toEqual(started);
});

test("Node runs the command, whose exit code it has", async () => {
  const { stdout, exitCode } = await runProgram(["node", plantstore, "--version"]);
  expect(stdout).toMatch(version);
  expect(exitCode).toBe(0);
  const wrong = await runProgram(["node", plantstore, "unknown"]);
  expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
});

test("a clone runs its sources, whatever was built there", async () => {
  using folder = new TemporaryFolder();
  await copyPackage(folder, "process.exit(1)");
  await Bun.write(folder.file("package/package-lock.json"), "{}");
  await Bun.write(folder.file("package/src/cli/main.ts"), "process.stdout.write('started\\n')");
  addBun(folder.file("package/node_modules"), "bun-of-this-system", bunOfThisSystem);
  expect(await runProgram([folder.file("package/bin/plantstore")])).toMatchObject(started);
});

test("a signal to Node ends the server in order", async () => {
  await using server = await RunningServer.start({ under: ["node"] });
  expect(await server.stop("SIGTERM")).toMatchObject({ exitCode: 0 });
  // A store that was closed has no write-ahead log.
  expect(existsSync(`${server.path}-wal`)).toBe(false);
});

test("Node ends by the signal that ends the command", async () => {
  using folder = new TemporaryFolder();
  await copyPackage(folder, "process.kill(process.pid, 'SIGKILL');");
  const env = { NODE_PATH: join(dirname(plantstore), "../node_modules") };
  const child = Bun.spawn(["node", folder.file("package/bin/plantstore")], {
    env: { ...process.env, ...env },
  });
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
});

/** The output of the program of a copied package. */
const started = { exitCode: 0, stdout: "started\n", stderr: "" };

/** Copies the launcher into a package of another program. */
async function copyPackage(
  folder: TemporaryFolder,
  program = "process.stdout.write('started\\n')",
): Promise<void> {
  cpSync(dirname(plantstore), folder.file("package/bin"), { recursive: true });
  await Bun.write(folder.file("package/dist/server/main.js"), program);
}

const bunOfThisSystem = `#!/bin/sh\nexec '${process.execPath}' "$@"\n`;
const bunOfAnotherSystem = "#!/lib/ld-of-another-system\n";

/** Adds the package with the Bun of one system. */
function addBun(nodeModules: string, name: string, program: string): void {
  mkdirSync(join(nodeModules, "bun"), { recursive: true });
  const folder = join(nodeModules, "@oven", name, "bin");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "bun"), program, { mode: 0o755 });
}
