// The suite of standard streams that are closed or not writable, for each form of the program:
// output that could not be written is an error, and no file that the program opens gets the
// descriptor of a standard stream.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { plantJson, post } from "./http.ts";
import { jsonLines } from "./output.ts";
import { type CommandResult, RunningServer, runIn, TemporaryFolder, withStore } from "./server.ts";
import { exported, integrityOf, storePlants } from "./stored-plants.ts";
import { statesOf } from "./stored-tokens.ts";

const password = "correct horse battery staple";

/** A directory with a store of one plant and one token. */
async function storeFolder(): Promise<TemporaryFolder> {
  const folder = new TemporaryFolder();
  writeFileSync(folder.file("plants.ndjson"), `${plantJson(1n, "Monstera")}\n`);
  const database = databaseOf(folder);
  await storePlants(database, [{ id: 1n, name: "Monstera" }]);
  await withStore(database, "writable", ({ tokens }) =>
    tokens.add({ hash: "a", name: "ci", createdAt: 1, expiresAt: null }),
  );
  return folder;
}

/** The store that a command in this directory uses. */
const databaseOf = (folder: TemporaryFolder) => `sqlite:${folder.file("plantstore.db")}`;

const unwritable: readonly [before: string, redirection: string, code: string][] = [
  ["", ">/dev/full", "ENOSPC"],
  ["", ">&-", "EBADF"],
  // Opened for reading and writing, which does not block, and then left without a reader.
  ["mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; ", ">&4", "EPIPE"],
];
/** Tests of the program at a path. */
export function testStandardStreams(program: string): void {
  /** Runs the command in a shell, with redirections such as `>&-` and the given standard input. */
  function inShell(line: string, folder: TemporaryFolder, input = ""): Promise<CommandResult> {
    return runIn(folder.path, ["sh", "-c", `${program} ${line}`], input);
  }

  test.each([
    ["get 1", "standard output could not be written (EBADF)"],
    ["export", "the export could not be written (EBADF)"],
    ["config", "standard output could not be written (EBADF)"],
    ["password", "standard output could not be written (EBADF)"],
    ["--help", "standard output could not be written (EBADF)"],
    ["token create --name new", "the token could not be printed (EBADF), and is revoked"],
    ["token rotate ci", "the token could not be printed (EBADF), and is revoked"],
    ["serve --port 0 --admin-port off", "standard output could not be written (EBADF)"],
  ])("%s with a closed standard output is an error in one line", async (line, message) => {
    using folder = await storeFolder();
    const result = await inShell(`${line} >&-`, folder, `${password}\n`);
    const last = result.stderr.trimEnd().split("\n").at(-1);
    expect([result.exitCode, last]).toEqual([1, expect.stringContaining(`plantstore: ${message}`)]);
    if (!line.startsWith("serve")) expect(result.stderr).toMatch(/^[^\n]+\n$/);
    const database = databaseOf(folder);
    expect(await statesOf(database, "new")).toEqual(line.includes("new") ? ["revoked"] : []);
    expect(await statesOf(database, "ci")).toEqual(
      line.includes("rotate") ? ["active", "revoked"] : ["active"],
    );
  });

  test.each([
    ["import -", 1, "could not be read to its end (EBADF)"],
    ["password", 1, "standard input could not be read (EBADF)"],
  ])("%s with a closed standard input is an error in one line", async (line, exitCode, message) => {
    using folder = await storeFolder();
    const result = await inShell(`${line} <&-`, folder);
    expect([result.exitCode, result.stdout]).toEqual([exitCode, ""]);
    expect(result.stderr).toContain(message);
    expect(result.stderr).toMatch(/^plantstore: [^\n]+\n$/);
  });

  test.each([
    ["get 1", 1],
    ["import plants.ndjson", 0],
    ["import wrong.ndjson", 3],
    ["import -", 1],
    ["migrate", 0],
    ["token create --name new", 1],
    ["token revoke ci", 0],
    ["serve --port 0 --admin-port off", 1],
  ])("%s with all three closed writes nothing into a file that is not its own", async (line, exitCode) => {
    using folder = await storeFolder();
    writeFileSync(folder.file("wrong.ndjson"), "nope\n");
    expect(await inShell(`${line} <&- >&- 2>&-`, folder)).toEqual({ exitCode, stdout: "", stderr: "" });
    expect(integrityOf(folder.file("plantstore.db"))).toBe("ok");
    expect(readFileSync(folder.file("plants.ndjson"), "utf8")).toBe(`${plantJson(1n, "Monstera")}\n`);
    expect(await exported(databaseOf(folder))).toBe(`${plantJson(1n, "Monstera")}\n`);
    if (line !== "import wrong.ndjson") return;
    const report = jsonLines(readFileSync(folder.file("wrong.ndjson.rejected.ndjson"), "utf8"));
    expect(report.map(({ line }) => line)).toEqual([1]);
  });

  test("a server with closed standard input and error serves, and its store contains only plants", async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    // As a parent process that closes the streams starts it.
    const server = await RunningServer.start({
      database: `sqlite:${path}`,
      program,
      under: ["sh", "-c", 'exec "$@" <&- 2>&-', "sh"],
    });
    await using _ = server;
    const target = await server.target();
    for (let id = 1n; id <= 50n; id++) {
      expect((await post(target, plantJson(id, `plant ${id}`))).status).toBe(200);
      // Rejections are logged.
      expect((await post({ ...target, token: "wrong" }, plantJson(id, "x"))).status).toBe(401);
    }
    for (const file of [path, `${path}-wal`]) {
      const bytes = readFileSync(file);
      for (const text of ['"level"', "listener is open", "http://127"])
        expect(bytes.includes(text)).toBe(false);
    }
    expect((await server.stop()).exitCode).toBe(0);
    expect(integrityOf(path)).toBe("ok");
  });

  test("standard output is full, closed, or a pipe without a reader: the first token is not used up unseen", async () => {
    using folder = new TemporaryFolder();
    const database = databaseOf(folder);
    for (const [index, [before, redirection, code]] of unwritable.entries()) {
      const start = "serve --port 0 --admin-port off --log-level error";
      const line = `${before}${program} ${start} ${redirection} 2>errors; echo $? >code`;
      const shell = Bun.spawn(["sh", "-c", line], {
        cwd: folder.path,
        env: { PATH: process.env.PATH ?? "" },
        stdin: "ignore",
        stdout: "ignore",
      });
      await shell.exited;
      expect(readFileSync(folder.file("code"), "utf8").trim()).toBe("1");
      expect(readFileSync(folder.file("errors"), "utf8")).toBe(
        `plantstore: the first token could not be printed (${code}), and is revoked; redirect standard output and start again: the next start prints another\n`,
      );
      expect(await statesOf(database, "first")).toEqual(Array(index + 1).fill("revoked"));
    }
    const next = await RunningServer.start({ database, program });
    const { stdout } = await next.stop();
    expect(stdout).toMatch(/pst_[A-Za-z0-9_-]{43}/);
    expect(await statesOf(database, "first")).toEqual([
      ...Array(unwritable.length).fill("revoked"),
      "active",
    ]);
    // Only one.
    expect((await (await RunningServer.start({ database, program })).stop()).stdout).not.toContain("pst_");
  });
}
