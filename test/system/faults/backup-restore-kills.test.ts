// Backup and restore, killed at each system call that changes a file.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { plantJson } from "../../support/http.ts";
import { programPath } from "../../support/programs.ts";
import { type CommandResult, plantstore, runIn } from "../../support/server.ts";
import {
  argumentsOf,
  commandNames,
  createStoreFolders,
  execute,
  expectSuccess,
  leaveLog,
  plantsIn,
  plantsWritten,
  setModes,
} from "../../support/store-folders.ts";
import { exported } from "../../support/stored-plants.ts";
import { describeIfStrace } from "./strace.ts";

const stores = await createStoreFolders();
afterAll(() => stores[Symbol.dispose]());

describeIfStrace("under strace", () => {
  function traced(options: readonly string[], args: readonly string[]): Promise<CommandResult> {
    return runIn("/", [programPath("strace"), "-f", "-qq", ...options, plantstore, ...args]);
  }

  /** Runs a command that is killed at a system call, such as `fsync:3`: the third in its thread. */
  function killedAt(moment: string, args: readonly string[]): Promise<CommandResult> {
    const [call, when] = moment.split(":");
    return traced(["-o", "/dev/null", "-e", `inject=${call}:signal=SIGKILL:when=${when}`], args);
  }

  test.each(commandNames)("%s: a private file is private from its first byte", async (command) => {
    using folder = stores.newFolder();
    setModes(folder, 0o600);
    const trace = folder.file("trace");
    const options = ["-o", trace, "-e", "trace=open,openat,creat,chmod,fchmod,fchmodat"];
    const args = argumentsOf(command, folder, "new.db");
    expect(await traced(options, args)).toMatchObject({ exitCode: 0 });
    const changes = readFileSync(trace, "utf8")
      .split("\n")
      .filter((line) => /new\.db\S*\.partial"/.test(line) && /O_CREAT|chmod/.test(line));
    // Opened again, a file keeps its mode.
    const modes = changes
      .filter((line, at) => at === 0 || line.includes("chmod"))
      .map((line) => /, 0([0-7]+)\)/.exec(line)?.[1]);
    expect(modes).toEqual(["600", "600"]);
  });

  const moments = {
    backup: ["fsync:1", "fsync:4", "chmod:1", "fsync:5", "rename:1", "fsync:6"],
    restore: ["chmod:1", "fsync:1", "rename:1", "fsync:2", "unlink:1"],
  };
  for (const command of commandNames) {
    test.each(moments[command])(
      `${command} that is killed at %s leaves no file, the old or the complete new one, and can be repeated`,
      async (moment) => {
        const plants = plantsWritten[command];
        for (const isThere of command === "backup" ? [false] : [false, true]) {
          using folder = stores.newFolder();
          const file = folder.file("file.db");
          if (isThere) copyFileSync(folder.file("other.db"), file);
          const args = argumentsOf(command, folder, "file.db", { force: isThere });
          const before = readdirSync(folder.path);
          expect((await killedAt(moment, args)).exitCode).toBe(128 + 9);
          if (isThere) expect(existsSync(file)).toBe(true);
          if (existsSync(file)) {
            using database = new Database(file);
            const [[left] = []] = database.query("SELECT count(*) FROM plants").values();
            expect([plants, ...(isThere ? [1] : [])]).toContain(Number(left));
          }
          if (command === "backup") rmSync(file, { force: true });
          expectSuccess(await execute(command, folder, "file.db", { force: existsSync(file) }));
          expect(plantsIn(file)).toBe(plants);
          const added = readdirSync(folder.path).filter(
            (name) => name !== "file.db" && !before.includes(name) && !name.startsWith("plants.db-"),
          );
          expect(added.filter((name) => !/^file\.db\.[0-9a-f]{8}\.partial/.test(name))).toEqual([]);
        }
      },
    );
  }

  test("restore over a store with a log, killed at any moment, leaves the old plants or the restored ones", async () => {
    for (const moment of ["fsync:1", "fsync:2", "fsync:3", "unlink:1", "unlink:2", "rename:1"]) {
      using folder = stores.newFolder();
      leaveLog(folder.file("other.db"));
      await killedAt(moment, argumentsOf("restore", folder, "other.db", { force: true }));
      const stdout = await exported(`sqlite:${folder.file("other.db")}`);
      const old = `${plantJson(0n, "plant 0")}\n${plantJson(1000n, "in the log")}\n`;
      const restored = `${plantJson(0n, "plant 0")}\n${plantJson(1n, "plant 1")}\n`;
      expect([old, restored]).toContain(stdout);
    }
  });
});
