// Backup and restore under strace: killed at each system call that changes a file, stopped beside
// another process, and the permissions of each file from its first byte.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { Output } from "../../support/output.ts";
import { programPath } from "../../support/programs.ts";
import {
  type CommandResult,
  plantstore,
  runCommand,
  runIn,
  type TemporaryFolder,
} from "../../support/server.ts";
import { exported } from "../../support/stored-plants.ts";
import {
  argumentsOf,
  commandNames,
  createStoreFolders,
  execute,
  leaveLog,
  plantsIn,
  plantsWritten,
  type StoreFolders,
  setModes,
  unfinished,
} from "./backup-restore-setup.ts";
import { describeIfStrace } from "./strace.ts";

let stores: StoreFolders;
beforeAll(async () => {
  stores = await createStoreFolders();
});
afterAll(() => stores[Symbol.dispose]());

describeIfStrace("under strace", () => {
  /** Runs a command under strace. */
  function traced(options: readonly string[], args: readonly string[]): Promise<CommandResult> {
    return runIn("/", [programPath("strace"), "-f", "-qq", ...options, plantstore, ...args]);
  }

  /** Runs a command that is killed at a system call, such as `fsync:3`: the third in its thread. */
  function killedAt(moment: string, args: readonly string[]): Promise<CommandResult> {
    return traced(["-o", "/dev/null", "-e", `inject=${atCall(moment, "SIGKILL")}`], args);
  }

  /** Starts a command, and waits until it is stopped at a system call, on a file if one is given. */
  async function stoppedAt(
    moment: string,
    folder: TemporaryFolder,
    args: readonly string[],
    ...onFile: readonly string[]
  ) {
    const trace = folder.file("trace");
    const stopping = ["-D", "-f", "-qq", "-o", trace, "-e", `inject=${atCall(moment, "SIGSTOP")}`];
    const paths = onFile.flatMap((file) => ["-P", file]);
    const child = Bun.spawn([programPath("strace"), ...stopping, ...paths, plantstore, ...args], {
      env: { PATH: process.env.PATH ?? "" },
      stdout: "pipe",
      stderr: "pipe",
    });
    await eventually(
      "the process is stopped",
      () => (existsSync(trace) ? readFileSync(trace, "utf8") : ""),
      (text) => text.includes("stopped by SIGSTOP"),
    );
    return child;
  }

  function atCall(moment: string, signal: string): string {
    const [call, when] = moment.split(":");
    return `${call}:signal=${signal}:when=${when}`;
  }

  test.each(commandNames)("%s: a private file is private from its first byte", async (command) => {
    using folder = stores.newFolder();
    setModes(folder, 0o600);
    const trace = folder.file("trace");
    const place = folder.file("place");
    mkdirSync(place);
    const args = argumentsOf(command, folder, "place/new.db");
    const options = ["-o", trace, "-e", "trace=open,openat,creat,mkdir,mkdirat,chmod,fchmod,fchmodat"];
    expect(await traced(options, [...args, "--quiet"])).toMatchObject({ exitCode: 0 });
    const made = readFileSync(trace, "utf8")
      .split("\n")
      .filter(
        (line) => line.includes(`"${place}/`) && /O_CREAT|mkdir|chmod/.test(line) && !/= -1/.test(line),
      );
    const modes = made.map((line) => [line, /, (0[0-7]+)\) *=/.exec(line)?.[1]] as const);
    expect(modes.length).toBeGreaterThan(1);
    const open = modes.filter(([line, mode]) => {
      // In a folder that no other user may enter a file is private, whatever its mode.
      const isBelowPrivateFolder =
        /"[^"]*\.partial\/[^"]+"/.test(line) &&
        modes.some(([other, otherMode]) => other.includes("mkdir") && otherMode === "0700");
      return !isBelowPrivateFolder && (mode === undefined || (Number.parseInt(mode, 8) & 0o77) !== 0);
    });
    expect(open).toEqual([]);
  });

  /** The system calls at which each command is killed, by their number in a run that succeeds. */
  const moments = {
    backup: [
      "mkdir:1",
      "fsync:1",
      "fsync:2",
      "fsync:3",
      "fsync:4",
      "fsync:5",
      "rename:1",
      "fsync:6",
      "unlink:4",
      "rmdir:1",
    ],
    restore: ["mkdir:1", "fsync:1", "rename:1", "fsync:2", "unlink:1", "rmdir:1"],
  };
  for (const command of commandNames) {
    test.each(moments[command])(
      `${command} that is killed at %s leaves the old file or the complete new one, and the next one removes the rest`,
      async (moment) => {
        const plants = plantsWritten[command];
        for (const isThere of [false, true]) {
          using folder = stores.newFolder();
          const place = folder.file("place");
          mkdirSync(place);
          const file = `${place}/file.db`;
          if (isThere) copyFileSync(folder.file("backup.db"), file);
          const args = argumentsOf(command, folder, "place/file.db");
          const force = isThere ? ["--force"] : [];
          expect((await killedAt(moment, [...args, ...force])).exitCode).toBe(128 + 9);
          const left = existsSync(file) ? statSync(file).size : 0;
          if (isThere) expect(left).toBeGreaterThan(0);
          if (left > 0) expect([plants, ...(isThere ? [2] : [])]).toContain(plantsIn(file));
          expect(await execute(command, folder, "place/file.db", { force: left > 0 })).toBeUndefined();
          expect(plantsIn(file)).toBe(plants);
          expect(readdirSync(place)).toEqual(["file.db"]);
        }
      },
    );
  }

  test("restore over a store with a log, killed at any moment, leaves the old plants or the restored ones", async () => {
    for (const moment of ["fsync:2", "fsync:3", "fsync:4", "unlink:1", "unlink:2", "rename:1"]) {
      using folder = stores.newFolder();
      leaveLog(folder.file("other.db"));
      await killedAt(moment, [...argumentsOf("restore", folder, "other.db"), "--force"]);
      const stdout = await exported(`sqlite:${folder.file("other.db")}`);
      const old = `${plantJson(0n, "plant 0")}\n${plantJson(1000n, "in the log")}\n`;
      const restored = `${plantJson(0n, "plant 0")}\n${plantJson(1n, "plant 1")}\n`;
      expect([old, restored]).toContain(stdout);
    }
  });

  test("a process that creates a store while a backup is restored at its path opens the restored one", async () => {
    using folder = stores.newFolder();
    const file = folder.file("new.db");
    // Stopped as soon as it has created the file.
    const serve = ["serve", "--port", "0", "--admin-port", "off", "--database", `sqlite:${file}`];
    const child = await stoppedAt("open,openat:1", folder, serve, file);
    expect(await execute("restore", folder, "new.db", { force: false })).toBeUndefined();
    // Each of its threads is stopped when it first opens the file.
    const continuing = setInterval(() => child.kill("SIGCONT"), 20);
    const stdout = new Output(child.stdout);
    const url = await stdout.until((text) => /^(http\S+)\n/.exec(text)?.[1]);
    clearInterval(continuing);
    const issued = await runCommand(["token", "create", "--name", "ci", "--database", `sqlite:${file}`]);
    const created = await post({ url, token: issued.stdout.trim() }, plantJson(7n, "created"));
    expect(created.status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect(await exported(`sqlite:${file}`)).toBe(
      `${plantJson(0n, "plant 0")}\n${plantJson(1n, "plant 1")}\n${plantJson(7n, "created")}\n`,
    );
  });

  test("a backup that is still being written is not restored", async () => {
    using folder = stores.newFolder();
    const backup = folder.file("backup.db");
    // Stopped once the copy has begun, or its reflink was refused.
    const args = argumentsOf("restore", folder, "new.db");
    const child = await stoppedAt("ioctl,copy_file_range,sendfile:1", folder, args, backup);
    appendFileSync(backup, "more");
    child.kill("SIGCONT");
    expect(await child.stderr.text()).toContain("backup.db was changed while it was copied; try again");
    expect(await child.exited).toBe(1);
    expect(existsSync(folder.file("new.db"))).toBe(false);
  });

  test("the files of a running backup are not removed by another one", async () => {
    using folder = stores.newFolder();
    const child = await stoppedAt("chmod:1", folder, argumentsOf("backup", folder, "slow.db"));
    const made = () => unfinished(folder.path).some((name) => name.endsWith("/copy"));
    expect(made()).toBe(true);
    expect(await execute("backup", folder, "quick.db", { force: false })).toBeUndefined();
    expect(made()).toBe(true);
    child.kill("SIGCONT");
    expect(await child.exited).toBe(0);
    expect(plantsIn(folder.file("slow.db"))).toBe(3);
    expect(unfinished(folder.path)).toEqual([]);
  });
});
