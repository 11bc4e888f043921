// Durability by system calls: every 200 is written to its socket after the fsync that covers its
// plant. The trace of a server under load is replayed on a simulated disk, which at any time can
// lose some or all of what was not fsynced.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { Random } from "../../support/random.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import {
  bytesOf,
  describeIfStrace,
  type SystemCall,
  storeThreads,
  systemCalls,
  tracing,
  tracingProcess,
} from "./strace.ts";

const calls = ["pwrite64", "ftruncate", "fsync", "fdatasync", "sendto", "sendmsg", "write", "writev"];

/** How many times the power is cut. */
const cuts = Number(process.env.PLANTSTORE_TEST_POWER_CUTS ?? 40);

/** The durable contents of a file, and the writes that are not fsynced. */
class DiskFile {
  /** The plants whose bytes an fsync has covered. */
  readonly covered = new Set<string>();
  #durable: Buffer;
  readonly #pending: SystemCall[] = [];
  /** The number of pending writes that an fsync in progress covers, keyed by thread. */
  readonly #syncing = new Map<string, number>();

  constructor(durable: Buffer) {
    this.#durable = withRoom(durable);
  }

  write(call: SystemCall): void {
    this.#pending.push(call);
  }

  beginSync({ thread }: SystemCall): void {
    this.#syncing.set(thread, this.#pending.length);
  }

  /** Makes the writes durable that preceded the begin of the fsync. */
  endSync({ thread }: SystemCall): void {
    const synced = this.#pending.splice(0, this.#syncing.get(thread) ?? 0);
    for (const [each, count] of this.#syncing) this.#syncing.set(each, Math.max(0, count - synced.length));
    for (const call of synced) {
      this.#durable = apply(call, this.#durable);
      for (const [plant] of bytesOf(call)
        .toString("latin1")
        .matchAll(/plant -?\d+/g))
        this.covered.add(plant);
    }
  }

  /**
   * The file after a power cut: some of the writes that were not fsynced are there, in whole
   * sectors.
   */
  afterCut(random: Random, probability: number): Buffer {
    let file: Buffer = withRoom(this.#durable);
    for (const call of this.#pending)
      if (random.chance(probability)) file = apply(call, file, () => random.chance(0.7));
    return file;
  }
}

const sectorBytes = 512;

/** Applies a call to the contents of a file, in place if it does not change their length. */
function apply(call: SystemCall, file: Buffer, isWritten: () => boolean = () => true): Buffer {
  const numbers = call.text.match(/\d+(?=[,)])/g) ?? [];
  if (call.name === "ftruncate") return resized(file, Number(numbers.at(-1)));
  const bytes = bytesOf(call);
  const offset = Number(/, (\d+)\)\s+= \d+$/.exec(call.text)?.[1]);
  const written = resized(file, Math.max(file.length, offset + bytes.length));
  for (let at = 0; at < bytes.length; at += sectorBytes)
    if (isWritten()) bytes.copy(written, offset + at, at, Math.min(at + sectorBytes, bytes.length));
  return written;
}

function resized(file: Buffer, size: number): Buffer {
  if (size <= file.length) return file.subarray(0, size);
  if (size > file.buffer.byteLength) return resized(withRoom(file), size);
  const larger = Buffer.from(file.buffer, 0, size);
  larger.fill(0, file.length);
  return larger;
}

/** A copy in memory of its own, with room to grow: a log grows a page at a time. */
function withRoom(file: Buffer): Buffer {
  const room = Buffer.alloc(2 * file.length + 2 ** 20);
  file.copy(room);
  return room.subarray(0, file.length);
}

/** The two files of a store that a power cut leaves. */
function storeFiles(path: string): string[] {
  return [path, `${path}-wal`];
}

describeIfStrace("a power cut", () => {
  test(`every 200 is sent after the fsync of its plant, and after ${cuts} power cuts no plant is missing`, async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    const trace = folder.file("trace");
    const load = new Load();
    {
      await using server = await RunningServer.start({
        database: `sqlite:${path}`,
        args: ["--access-log", "0"],
        under: tracing(calls, trace),
      });
      // Another token would be written by this process, whose calls are not in the trace.
      const token = await server.firstToken();
      load.startUntilGone([{ url: server.url, token }], 8);
      await load.acknowledgedMore(Math.max(150, cuts));
      await server.stop("SIGKILL");
      await load.ended();
    }
    const files = new Map(storeFiles(path).map((name) => [name, new DiskFile(Buffer.alloc(0))]));
    replay(readFileSync(trace, "latin1"), files, folder, load, cuts);
  });

  test("the same while the checkpoint thread copies the log, a commit copies the rest, and the log restarts", async () => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    const trace = folder.file("trace");
    const load = new Load();
    let files: Map<string, DiskFile>;
    let copying: number;
    {
      await using server = await RunningServer.start({
        database: `sqlite:${path}`,
        args: ["--access-log", "0"],
      });
      const target = await server.target();
      copying = storeThreads(server.pid).copying;
      using probe = new Database(path);
      const pages = () => Number(probe.query("PRAGMA wal_checkpoint(NOOP)").values()[0]?.[1]);
      let id = 1n;
      const fill = async () => {
        while (pages() < 2_900)
          expect((await post(target, plantJson(id++, "x".repeat(900_000)))).status).toBe(200);
      };
      await Promise.all([fill(), fill(), fill(), fill()]);
      {
        await using _strace = await tracingProcess(server.pid, calls, trace);
        files = new Map(storeFiles(path).map((name) => [name, new DiskFile(readFileSync(name))]));
        load.startUntilGone([target], 64);
        // A rest for a commit is left at most restarts, but not at all.
        do await untilRestarted(pages);
        while (pagesCopied(trace, path, copying).byCommits === 0);
        await load.acknowledgedMore(100);
        await server.stop("SIGKILL");
        await load.ended();
      }
    }
    const { byThread, byCommits } = pagesCopied(trace, path, copying);
    expect(byThread).toBeGreaterThan(100);
    expect(byCommits).toBeGreaterThan(0);
    // Each looks through all of the log.
    replay(readFileSync(trace, "latin1"), files, folder, load, Math.ceil(cuts / 8));
  });
});

/**
 * Replays a trace on simulated files, and cuts the power when responses are sent: no acknowledged
 * plant may be missing.
 */
function replay(
  text: string,
  files: ReadonlyMap<string, DiskFile>,
  folder: TemporaryFolder,
  load: Load,
  cuts: number,
): void {
  const random = new Random(7);
  const acknowledged: bigint[] = [];
  const answers = text.match(/\\x48\\x54\\x54\\x50\\x2f\\x31\\x2e\\x31\\x20\\x32\\x30\\x30/g)?.length ?? 0;
  let cut = 0;
  for (const { phase, call } of systemCalls(text)) {
    const file = files.get(call.path);
    const isSync = call.name === "fsync" || call.name === "fdatasync";
    if (file !== undefined && isSync && phase === "begins") file.beginSync(call);
    else if (file !== undefined && isSync && call.result === 0) file.endSync(call);
    else if (file !== undefined && phase === "ends") file.write(call);
    if (file !== undefined || phase === "ends") continue;
    const ids = acknowledgedIn(call);
    acknowledged.push(...ids);
    const uncovered = ids.filter(
      (id) => ![...files.values()].some(({ covered }) => covered.has(`plant ${id}`)),
    );
    expect(uncovered).toEqual([]);
    // When the response is sent, and not later.
    if (ids.length === 0 || acknowledged.length < (cut * answers) / cuts) continue;
    cut++;
    expect(missingAfterCut(folder, files, acknowledged, random)).toEqual([]);
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(load.acknowledged.size);
  expect(cut).toBeGreaterThanOrEqual(cuts - 1);
  process.stdout.write(`${cut} power cuts, ${acknowledged.length} plants acknowledged, none lost\n`);
}

/** The plants of the 200 responses that a call sends. */
function acknowledgedIn(call: SystemCall): bigint[] {
  if (!/^(?:send|write)/.test(call.name)) return [];
  const text = bytesOf(call).toString();
  if (!text.startsWith("HTTP/1.1 200")) return [];
  return [...text.matchAll(/\{"name":"plant (-?\d+)/g)].map(([, id = ""]) => BigInt(id));
}

function missingAfterCut(
  folder: TemporaryFolder,
  files: ReadonlyMap<string, DiskFile>,
  acknowledged: readonly bigint[],
  random: Random,
): bigint[] {
  const [database, log] = [...files.values()];
  const copy = folder.file(`cut-${crypto.randomUUID()}.db`);
  const probability = random.pick([0, 0.5, 1]);
  writeFileSync(copy, database?.afterCut(random, probability) ?? "");
  writeFileSync(`${copy}-wal`, log?.afterCut(random, probability) ?? "");
  expect(existsSync(copy)).toBe(true);
  const opened = new Database(copy, { safeIntegers: true });
  const integrity = opened.query("PRAGMA integrity_check").values();
  expect(integrity).toEqual([["ok"]]);
  const stored = new Set(
    opened
      .query<{ id: bigint }, []>("SELECT id FROM plants")
      .all()
      .map(({ id }) => id),
  );
  opened.close();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(copy + suffix, { force: true });
  return acknowledged.filter((id) => !stored.has(id));
}

/**
 * Waits until a log that has grown to 48 MiB is shorter again: it is restarted from that length on.
 */
async function untilRestarted(pages: () => number): Promise<void> {
  for (let longest = 0, now = 0; now >= longest || longest < 12_000; now = pages()) {
    longest = Math.max(longest, now);
    await Bun.sleep(10);
  }
}

/**
 * The pages that were written to the database file, by the checkpoint thread and by the thread that
 * commits.
 */
function pagesCopied(trace: string, path: string, checkpointThread: number) {
  const text = readFileSync(trace, "latin1");
  const threads = [...systemCalls(text.slice(0, text.lastIndexOf("\n") + 1))]
    .filter(({ phase, call }) => phase === "ends" && call.name === "pwrite64" && call.path === path)
    .map(({ call }) => call.thread);
  const byThread = threads.filter((thread) => thread === String(checkpointThread)).length;
  return { byThread, byCommits: threads.length - byThread };
}
