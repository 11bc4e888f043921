// Backup and restore under strace: killed at each system call that changes a file, stopped beside
// another process, and the permissions of each file from its first byte.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
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
import { type CommandResult, collectResult, plantstore, run } from "../../support/server.ts";
import {
  argumentsOf,
  commandNames,
  execute,
  leaveLog,
  plantsIn,
  plantsWritten,
  StoreFolders,
  setModes,
  unfinished,
} from "./backup-restore-setup.ts";
import { describeIfStrace, injecting } from "./strace.ts";

/** Each starts several processes. */
setDefaultTimeout(120_000);

let stores: StoreFolders;
beforeAll(async () => {
  stores = await StoreFolders.create();
});
afterAll(() => stores[Symbol.dispose]());

describeIfStrace("under strace", () => {
  /** Runs a command under strace. */
  async function traced(options: readonly string[], args: readonly string[]): Promise<CommandResult> {
    const child = Bun.spawn([programPath("strace"), "-f", "-qq", ...options, plantstore, ...args], {
      env: { PATH: process.env.PATH ?? "" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    return collectResult(child);
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
        const [call, when] = moment.split(":");
        const kill = ["-o", "/dev/null", "-e", `inject=${call}:signal=SIGKILL:when=${when}`];
        const plants = plantsWritten[command];
        for (const isThere of [false, true]) {
          using folder = stores.newFolder();
          const place = folder.file("place");
          mkdirSync(place);
          const file = `${place}/file.db`;
          if (isThere) copyFileSync(folder.file("backup.db"), file);
          const args = argumentsOf(command, folder, "place/file.db");
          const force = isThere ? ["--force"] : [];
          expect((await traced(kill, [...args, ...force])).exitCode).toBe(128 + 9);
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
      const [call, when] = moment.split(":");
      const kill = ["-o", "/dev/null", "-e", `inject=${call}:signal=SIGKILL:when=${when}`];
      await traced(kill, [...argumentsOf("restore", folder, "other.db"), "--force"]);
      const { stdout, exitCode } = await run(["export", "--database", `sqlite:${folder.file("other.db")}`]);
      const old = `${plantJson(0n, "plant 0")}\n${plantJson(1000n, "in the log")}\n`;
      const restored = `${plantJson(0n, "plant 0")}\n${plantJson(1n, "plant 1")}\n`;
      expect(exitCode).toBe(0);
      expect([old, restored]).toContain(stdout);
    }
  });

  test("a process that creates a store while a backup is restored at its path opens the restored one", async () => {
    using folder = stores.newFolder();
    const file = folder.file("new.db");
    // Stopped as soon as it has created the file.
    const stopping = injecting("open,openat:signal=SIGSTOP:when=1");
    const serve = ["serve", "--port", "0", "--admin-port", "off", "--database", `sqlite:${file}`];
    const child = Bun.spawn([...stopping, "-P", file, plantstore, ...serve], {
      env: { PATH: process.env.PATH ?? "" },
      stdout: "pipe",
      stderr: "ignore",
    });
    await eventually("the file of the store", () => existsSync(file));
    expect(await run([...argumentsOf("restore", folder, "new.db"), "--quiet"])).toMatchObject({
      exitCode: 0,
    });
    // Each of its threads is stopped when it first opens the file.
    const continuing = setInterval(() => child.kill("SIGCONT"), 20);
    const stdout = new Output(child.stdout);
    const url = await stdout.until((text) => /^(http\S+)\n/.exec(text)?.[1]);
    clearInterval(continuing);
    const issued = await run(["token", "create", "--name", "ci", "--database", `sqlite:${file}`]);
    const created = await post({ url, token: issued.stdout.trim() }, plantJson(7n, "created"));
    expect(created.status).toBe(200);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect((await run(["export", "--database", `sqlite:${file}`])).stdout).toBe(
      `${plantJson(0n, "plant 0")}\n${plantJson(1n, "plant 1")}\n${plantJson(7n, "created")}\n`,
    );
  });

  test("a backup that is still being written is not restored", async () => {
    using folder = stores.newFolder();
    const [backup, trace] = [folder.file("backup.db"), folder.file("trace")];
    const args = argumentsOf("restore", folder, "new.db");
    // Stopped once the copy has begun, or its reflink was refused.
    const copying = "inject=ioctl,copy_file_range,sendfile:signal=SIGSTOP:when=1";
    const child = Bun.spawn(
      [
        programPath("strace"),
        "-D",
        "-f",
        "-qq",
        "-o",
        trace,
        "-P",
        backup,
        "-e",
        copying,
        plantstore,
        ...args,
      ],
      { env: { PATH: process.env.PATH ?? "" }, stderr: "pipe" },
    );
    await eventually(
      "the copying process is stopped",
      () => existsSync(trace) && readFileSync(trace, "utf8"),
      (text) => text !== false && text.includes("stopped by SIGSTOP"),
    );
    appendFileSync(backup, "more");
    child.kill("SIGCONT");
    expect(await child.stderr.text()).toContain("backup.db was changed while it was copied; try again");
    expect(await child.exited).toBe(1);
    expect(existsSync(folder.file("new.db"))).toBe(false);
  });

  test("the files of a running backup are not removed by another one", async () => {
    using folder = stores.newFolder();
    const args = (target: string) => argumentsOf("backup", folder, target);
    const child = Bun.spawn([...injecting("chmod:signal=SIGSTOP:when=1"), plantstore, ...args("slow.db")], {
      env: { PATH: process.env.PATH ?? "" },
      stderr: "ignore",
    });
    const made = () => unfinished(folder.path).some((name) => name.endsWith("/copy"));
    await eventually("the copy of the running backup", made);
    expect(await run(args("quick.db"))).toMatchObject({ exitCode: 0 });
    expect(made()).toBe(true);
    child.kill("SIGCONT");
    expect(await child.exited).toBe(0);
    expect(plantsIn(folder.file("slow.db"))).toBe(3);
    expect(unfinished(folder.path)).toEqual([]);
  });
});
