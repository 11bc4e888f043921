// Durability by system calls: every 200 is written to its socket after the fsync that covers its plant. The trace of a server
// under load is replayed on a simulated disk, which at any time can lose some or all of what was not fsynced.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Load } from "../../support/load.ts";
import { Random } from "../../support/random.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { bytesOf, describeIfStrace, type SystemCall, systemCalls, tracing } from "../../support/strace.ts";

const calls = ["pwrite64", "ftruncate", "fsync", "fdatasync", "sendto", "sendmsg", "write", "writev"];

/** How many times the power is cut. */
const cuts = Number(process.env.PLANTSTORE_TEST_POWER_CUTS ?? 40);

/** The durable contents of a file, and the writes that are not fsynced. */
class DiskFile {
  durable: Buffer = Buffer.alloc(0);
  pending: SystemCall[] = [];
  /** The plants whose bytes an fsync has covered. */
  readonly covered = new Set<string>();
  #syncing = 0;

  beginSync(): void {
    this.#syncing = this.pending.length;
  }

  /** What was written before the fsync began is on the disk now. */
  endSync(): void {
    for (const call of this.pending.splice(0, this.#syncing)) {
      this.durable = applied(this.durable, call);
      for (const [plant] of bytesOf(call)
        .toString("latin1")
        .matchAll(/plant -?\d+/g))
        this.covered.add(plant);
    }
  }

  /** The file after a power cut: some of the writes that were not fsynced are there, in whole sectors. */
  afterCut(random: Random, probability: number): Buffer {
    let file: Buffer = this.durable;
    for (const call of this.pending)
      if (random.chance(probability)) file = applied(file, call, () => random.chance(0.7));
    return file;
  }
}

const sectorBytes = 512;

function applied(file: Buffer, call: SystemCall, isWritten: () => boolean = () => true): Buffer {
  const numbers = call.text.match(/\d+(?=[,)])/g) ?? [];
  if (call.name === "ftruncate") {
    const size = Number(numbers.at(-1));
    return Buffer.concat([file.subarray(0, size), Buffer.alloc(Math.max(0, size - file.length))]);
  }
  const bytes = bytesOf(call);
  const offset = Number(/, (\d+)\)\s+= \d+$/.exec(call.text)?.[1]);
  const larger = Buffer.concat([file, Buffer.alloc(Math.max(0, offset + bytes.length - file.length))]);
  for (let at = 0; at < bytes.length; at += sectorBytes)
    if (isWritten()) bytes.copy(larger, offset + at, at, Math.min(at + sectorBytes, bytes.length));
  return larger;
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
      const token = await server.createToken();
      const running = load.untilGone([{ url: server.url, token }], 8);
      await load.acknowledgedMore(Math.max(150, cuts));
      await server.stop("SIGKILL");
      await running;
    }
    const files = new Map([path, `${path}-wal`].map((name) => [name, new DiskFile()]));
    const random = new Random(7);
    const acknowledged: bigint[] = [];
    const text = readFileSync(trace, "latin1");
    const answers = text.match(/\\x48\\x54\\x54\\x50\\x2f\\x31\\x2e\\x31\\x20\\x32\\x30\\x30/g)?.length ?? 0;
    let cut = 0;
    for (const { phase, call } of systemCalls(text)) {
      const file = files.get(call.path);
      const isSync = call.name === "fsync" || call.name === "fdatasync";
      if (file !== undefined && isSync && phase === "begins") file.beginSync();
      else if (file !== undefined && isSync && call.result === 0) file.endSync();
      else if (file !== undefined && phase === "ends") file.pending.push(call);
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
  }, 180_000);
});

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
  return acknowledged.filter((id) => !stored.has(id));
}
