// Failing fsync, write and read calls: the responses, the log, and the store afterwards.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { closeSync, cpSync, existsSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";
import { describeIfStrace, injecting, injectingInto, storeThreads } from "./strace.ts";

/** Makes a store whose server was killed under load: its WAL is there. */
async function killStore() {
  const folder = new TemporaryFolder();
  const loaded = new Load();
  await using server = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
  const token = await server.createToken();
  loaded.startUntilGone([{ url: server.url, token }], 8);
  await loaded.acknowledgedMore(20);
  await server.stop("SIGKILL");
  await loaded.ended();
  return {
    /**
     * Runs a server on a copy under load, with faults in its system calls, until it ends or has
     * acknowledged enough.
     */
    async underLoad(path: string, fault: string, enough: number) {
      cpSync(folder.path, dirname(path), { recursive: true });
      const load = loaded.continued();
      await using server = await RunningServer.start({
        database: `sqlite:${path}`,
        under: injecting(fault),
      });
      load.startUntilGone([{ url: server.url, token }], 8);
      const ended = server.ended();
      await Promise.race([ended, load.acknowledgedMore(enough)]);
      await load.stop();
      return { load, end: await server.stop() };
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const killed = await killStore();
afterAll(() => killed[Symbol.dispose]());

/** Compares a store with the responses that its clients received. */
async function audit(path: string, load: Load): Promise<string[]> {
  const { stdout, stderr, exitCode } = await runCommand(["export", "--database", `sqlite:${path}`]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  return load.audit(stdout);
}

describeIfStrace("an fsync that fails", () => {
  test.each([
    ["of the WAL, in the first commit", 3],
    ["of the WAL, in a later commit", 60],
  ])(
    "%s: no 200 afterwards, the server exits with the reason, and the next one recovers the store",
    async (_, when) => {
      using folder = new TemporaryFolder();
      const path = folder.file("plants.db");
      const { load, end } = await killed.underLoad(path, `fsync,fdatasync:error=EIO:when=${when}`, 2_000);
      expect(end.exitCode).toBe(1);
      expect(end.stderr).toContain("store failed, the server exits");
      expect(end.stderr).toContain("SQLITE_IOERR_FSYNC");
      expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
      expect(existsSync(`${path}-disk-failed`)).toBe(true);
      expect(await audit(path, load)).toEqual([]);
      expect(existsSync(`${path}-disk-failed`)).toBe(false);
    },
  );

  test.each([
    ["of the log", "fsync", "SQLITE_IOERR_FSYNC"],
    ["of the database file", "fdatasync", "fdatasync (EIO)"],
  ])("%s, in the checkpoint thread: the same, with a commit in flight", async (_, call, reason) => {
    await using server = await RunningServer.start();
    const { path } = server;
    const target = await server.target();
    // Not enough for the checkpoint thread.
    for (let id = -8n; id < 0n; id++)
      expect((await post(target, plantJson(id, "x".repeat(900_000)))).status).toBe(200);
    const { committing, copying } = storeThreads(server.pid);
    await using _copies = await injectingInto(copying, `${call}:error=EIO:delay_enter=300000`);
    // Two batches follow each other: the second is in flight while the fsync after the first one
    // fails.
    await using _commits = await injectingInto(committing, "fsync,fdatasync:delay_exit=1000000");
    const statuses = new Map<bigint, number | undefined>();
    const create = async (id: bigint) => {
      const response = await post(target, plantJson(id, "x".repeat(900_000))).catch(() => undefined);
      statuses.set(id, response?.status);
    };
    for (let id = 1n; ![...statuses.values()].some((status) => status !== 200); id += 3n)
      await Promise.all([create(id), create(id + 1n), create(id + 2n)]);

    const end = await server.ended();
    expect(end.exitCode).toBe(1);
    expect(end.stderr).toContain("store failed, the server exits");
    expect(end.stderr).toContain(reason);
    expect(new Set(statuses.values()).difference(new Set([200, 503, undefined]))).toEqual(new Set());
    expect(existsSync(`${path}-disk-failed`)).toBe(true);
    const { stdout } = await runCommand(["export", "--database", `sqlite:${path}`]);
    const acknowledged = [...statuses].filter(([, status]) => status === 200).map(([id]) => id);
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(acknowledged.filter((id) => !stdout.includes(`{"id":${id},`))).toEqual([]);
    expect(existsSync(`${path}-disk-failed`)).toBe(false);
  });

  test.each([
    ["of the log that a killed server left", 1],
    ["of the folder, which has the name of the log", 2],
  ])("%s: the server does not start", async (_, when) => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    const fault = `fsync,fdatasync:error=EIO:when=${when}`;
    const refusal = await killed.underLoad(path, fault, 1).catch((error) => error.message);
    expect(refusal).toContain("cannot open the store");
    expect(refusal).toContain("EIO");
    expect(existsSync(`${path}-disk-failed`)).toBe(true);
  });

  test("that fails again at the next start: the server does not start, and prints the reason", async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    await killed.underLoad(path, "fsync,fdatasync:error=EIO:when=12", 2_000);
    const refusal = await RunningServer.start({
      database: `sqlite:${path}`,
      under: injecting("fsync,fdatasync:error=EIO"),
    }).catch((error) => error.message);
    expect(refusal).toContain("cannot open the store");
    expect(existsSync(`${path}-disk-failed`)).toBe(true);
  });

  test("a store whose disk has failed is only recovered when no other process has it open", async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    const { load } = await killed.underLoad(path, "fsync,fdatasync:error=EIO:when=20", 2_000);
    await using other = await RunningServer.start({ database: `sqlite:${path}` });
    await Bun.write(`${path}-disk-failed`, "disk I/O error\n");
    const refusal = await RunningServer.start({ database: `sqlite:${path}` }).catch((error) => error.message);
    expect(refusal).toContain("end the other processes that have it open");
    await other.stop();
    expect(await audit(path, load)).toEqual([]);
  });
});

describeIfStrace("a write that fails", () => {
  test.each([
    ["EIO, once", "pwrite64:error=EIO:when=60"],
    ["EIO, every 50th", "pwrite64:error=EIO:when=40+50"],
    ["no space, every 30th", "pwrite64:error=ENOSPC:when=40+30"],
    ["no space, for a while", "pwrite64:error=ENOSPC:when=60..120"],
  ])("%s: no acknowledged plant is lost, and the server continues", async (_, fault) => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    const { load, end } = await killed.underLoad(path, fault, 300);
    expect(end.exitCode).toBe(0);
    expect(end.stderr).toContain("store unavailable");
    expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(load.acknowledged.size).toBeGreaterThanOrEqual(300);
    expect(await audit(path, load)).toEqual([]);
  });

  test("in the checkpoint thread: the server says so and goes on, and the log is copied afterwards", async () => {
    await using server = await RunningServer.start();
    const { path } = server;
    const target = await server.target();
    let id = 0n;
    const create = async () =>
      expect((await post(target, plantJson(id++, "x".repeat(900_000)))).status).toBe(200);
    await create();
    const { copying } = storeThreads(server.pid);
    {
      await using _copies = await injectingInto(copying, "pwrite64:error=EIO");
      for (let plants = 0; plants < 12; plants++) await create();
      await server.logged(
        ({ msg, reason }) => /do not wait/.test(`${msg}`) && /copied: .*SQLITE_IOERR/.test(`${reason}`),
      );
      await create();
    }
    using probe = new Database(path);
    const waiting = () => {
      const [[, pages, copied] = []] = probe.query("PRAGMA wal_checkpoint(NOOP)").values();
      return Number(pages) - Number(copied);
    };
    await eventually(
      "the log is copied",
      async () => {
        await create();
        return waiting();
      },
      (pages) => pages < 2_000,
    );
    const end = await server.stop();
    expect(end.exitCode).toBe(0);
    expect(end.stderr).not.toContain("unavailable");
  });
});

describeIfStrace("a read that fails", () => {
  test.each([
    ["of the names of the files", "statx,stat,fstat,newfstatat,readlink,readlinkat:error=EIO"],
    ["of the log and the database", "pread64:error=EIO"],
  ])("%s: 503 while it fails, not ready, and 200 afterwards", async (_, fault) => {
    // The console's connection, whose reads do not fail, would restore the index while it is
    // opened.
    await using server = await RunningServer.start({ args: ["--console", "off"] });
    const { path } = server;
    const target = await server.target();
    expect((await post(target, plantJson(1n, "before"))).status).toBe(200);
    const { committing, copying } = storeThreads(server.pid);
    {
      await using _commits = await injectingInto(committing, fault);
      await using _copies = await injectingInto(copying, fault);
      // An index that seems to be left by a process that was killed in a commit has to be read from
      // the log again.
      const index = openSync(`${path}-shm`, "r+");
      writeSync(index, Buffer.alloc(96), 0, 96, 0);
      closeSync(index);
      let id = 2n;
      const create = () => post(target, plantJson(id++, "x".repeat(900_000)));
      // The files are checked once a second.
      await eventually("a create is refused", create, ({ status }) => status === 503);
      for (let more = 0; more < 3; more++) expect((await create()).json).toMatchObject({ error: 50300 });
      const ready = await fetch(`${await server.adminUrl()}/readyz`);
      expect(ready.status).toBe(503);
    }
    expect((await post(target, plantJson(-1n, "after"))).status).toBe(200);
    expect((await fetch(`${await server.adminUrl()}/readyz`)).status).toBe(200);
    const end = await server.stop();
    expect(end.exitCode).toBe(0);
    expect(end.stderr).not.toContain("internal error");
    const { stdout } = await runCommand(["export", "--database", `sqlite:${path}`]);
    expect(stdout).toContain('"after"');
  });
});
