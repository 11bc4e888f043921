// The length of SQLite's write-ahead log: who copies it, and what happens at its limit.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, openSync, readSync, writeSync } from "node:fs";
import type { NewPlant } from "../../../../../src/core/contract/plant.ts";
import { OperatorError } from "../../../../../src/core/operator-error.ts";
import { toEntries } from "../../../../../src/core/store/plant-store.ts";
import { checkpoint } from "../../../../../src/core/store/sqlite/checkpoint.ts";
import { CheckpointSignals } from "../../../../../src/core/store/sqlite/checkpoint-signals.ts";
import { openDatabase, walBytesKept } from "../../../../../src/core/store/sqlite/connection.ts";
import { DiskFailureError } from "../../../../../src/core/store/sqlite/errors.ts";
import { BatchMemory } from "../../../../../src/core/store/sqlite/shared-batch.ts";
import { SqliteStore } from "../../../../../src/core/store/sqlite/store.ts";
import { Wal } from "../../../../../src/core/store/sqlite/wal.ts";
import { eventually } from "../../../../support/eventually.ts";
import { TemporaryFolder } from "../../../../support/server.ts";
import { openedStore, unexpected } from "../../../../support/stored-plants.ts";

const mebibyte = 2 ** 20;

function large(id: bigint): NewPlant {
  return { id, name: "x".repeat(mebibyte) };
}

/** The length of the WAL, and how much of it is not in the database file, in pages. */
function walPages(path: string): { pages: number; toCopy: number } {
  using database = new Database(path);
  const [[, pages, copied] = []] = database.query("PRAGMA wal_checkpoint(NOOP)").values();
  return { pages: Number(pages), toCopy: Number(pages) - Number(copied) };
}

test("a server's WAL is copied by the checkpoint thread, and restarts in the commits", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const store = await openedStore(`sqlite:${path}`);
  let id = 0n;
  for (let megabyte = 0; megabyte < 20; megabyte++)
    expect(await store.create(toEntries([large(id++)]))).toEqual(["created"]);
  // Without a commit after them.
  await eventually(
    "fewer than 2,000 pages to copy",
    () => walPages(path).toCopy,
    (pages) => pages < 2_000,
  );

  // A snapshot keeps the WAL from being restarted, however fast the checkpoint thread is.
  const reader = new Database(path);
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  while ((store.walBytes?.() ?? 0) < 80 * mebibyte) await store.create(toEntries([large(id++), large(id++)]));
  const { pages } = walPages(path);
  reader.close();
  while (walPages(path).pages >= pages) await store.create(toEntries([large(id++)]));
  // The file keeps some of its blocks, which the next commits write over.
  expect(store.walBytes?.()).toBe(walBytesKept);

  let walBytesMax = 0;
  for (let round = 0; round < 100; round++) {
    await store.create(toEntries([large(id++), large(id++)]));
    walBytesMax = Math.max(walBytesMax, store.walBytes?.() ?? 0);
  }
  // Less than all that was written.
  expect(walBytesMax).toBeLessThan(160 * mebibyte);
  await store[Symbol.asyncDispose]();
  expect(existsSync(`${path}-wal`)).toBe(false);
  await using reopened = new SqliteStore(path, "existing", unexpected);
  expect(await reopened.count({})).toBe(Number(id));
});

test("at the limit that an old snapshot leaves to the WAL nothing is created, and all else goes on", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const reasons: string[] = [];
  await using store = new SqliteStore(path, "create", (reason) => reasons.push(reason), {
    heldBytesMin: 24 * mebibyte,
  });
  await store.create(toEntries([large(0n)]));
  await store.tokens.add({ name: "ci", hash: "0", createdAt: 0, expiresAt: null });
  const reader = new Database(path);
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();

  let id = 1n;
  while ((await store.create(toEntries([large(id)])))[0] === "created") id++;
  expect(store.walBytes?.()).toBeGreaterThan(24 * mebibyte);
  expect(store.walBytes?.()).toBeLessThan(32 * mebibyte);
  const full = expect.stringContaining(
    "a reader (an export, a backup or another program) keeps an old snapshot",
  );
  expect(reasons).toEqual([full]);
  const bytes = store.walBytes?.();
  const changed = { id: 0n, name: "y" };
  expect(await store.create(toEntries([large(0n), changed, large(id)]))).toEqual([
    "unchanged",
    "conflict",
    "unavailable",
  ]);
  expect(await store.assertWritable().catch((error) => error)).toBeInstanceOf(OperatorError);
  expect(store.walBytes?.()).toBe(bytes);
  await store.tokens.revoke("ci", 5);

  reader.close();
  expect(await store.create(toEntries([large(id++)]))).toEqual(["created"]);
  await store.assertWritable();
  // The WAL was restarted.
  expect(walPages(path).toCopy).toBeLessThan(1_000);
  expect(await store.count({})).toBe(Number(id));
});

test("while another connection writes the index of the WAL, a WAL that a reader holds is not taken for restarted", () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  using database = openDatabase(path, "create");
  const wal = new Wal(database, unexpected);
  using other = new Database(path);
  const reader = new Database(path);
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  // More than the 4,000 pages from which on commits copy the WAL.
  other.run("INSERT INTO plants (id, name, created_at) VALUES (1, ?, 0)", ["x".repeat(17 * mebibyte)]);
  expect(wal.makeRoom()).toBeUndefined();
  const { toCopy } = walPages(path);
  expect(toCopy).toBeGreaterThan(4_000);
  reader.close();

  // A connection that commits writes the second copy of the index's header, and then the first one.
  // Left open: closing it would drop the locks of this process.
  const index = openSync(`${path}-shm`, "r+");
  const second = Buffer.alloc(48);
  readSync(index, second, 0, 48, 48);
  other.run("BEGIN IMMEDIATE");
  writeSync(index, Buffer.alloc(48), 0, 48, 48);
  expect(checkpoint(database, "NOOP").pages).toBe(-1);
  expect(wal.makeRoom()).toBeUndefined();
  writeSync(index, second, 0, 48, 48);
  other.run("COMMIT");

  expect(wal.makeRoom()).toBeUndefined();
  // The next checkpoint is tried after 1,000 more pages, as the reader held back the last one.
  expect(walPages(path).toCopy).toBe(toCopy);
});

test("an export whose output is not read ends before creates fail, and says how to go on", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const options = { heldBytesMin: 24 * mebibyte };
  await using store = new SqliteStore(path, "create", unexpected, options);
  await using other = new SqliteStore(path, "existing", unexpected, options);
  for (let id = 0n; id < 3n; id++) await store.create(toEntries([large(id)]));
  const exported = other.export({});
  expect((await exported.next()).value).toHaveLength(1);
  let id = 10n;
  while ((store.walBytes?.() ?? 0) < 14 * mebibyte) await store.create(toEntries([large(id++)]));
  const reader = new Database(path);
  // A checkpoint that copies everything shows that the snapshot is gone.
  await eventually(
    "a complete checkpoint",
    () => reader.query("PRAGMA wal_checkpoint(FULL)").values()[0]?.[0],
    (busy) => busy === 0,
  );
  expect(await exported.next().catch((error) => error)).toEqual(
    new OperatorError(
      "the export was ended, as its snapshot kept the write-ahead log from becoming shorter, and creates would have failed; continue it with --since-id, or write it to a file, which is faster than a slow reader",
    ),
  );
  reader.close();
});

test("a commit in flight while an fsync of the checkpoint thread fails is not acknowledged, nor anything after it", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const { buffer } = new BatchMemory();
  const checkpointThread = new CheckpointSignals(buffer);
  const store = new SqliteStore(path, "create", unexpected, { checkpointThread });
  expect(await store.create(toEntries([{ id: 1n, name: "a" }]))).toEqual(["created"]);
  const inFlight = store.create(toEntries([{ id: 2n, name: "b" }]));
  // As the thread does, in memory that both share: after the commit has returned, and before its
  // outcome is passed on.
  new CheckpointSignals(buffer).failDisk();
  for (const call of [
    () => inFlight,
    () => store.create(toEntries([{ id: 1n, name: "a" }])),
    () => store.assertWritable(),
    () => store.tokens.list(),
  ])
    expect(await call().catch((error) => error)).toBeInstanceOf(DiskFailureError);
  // Closing runs a checkpoint, from pages that may not be on the disk.
  await store[Symbol.asyncDispose]();
  expect(existsSync(`${path}-wal`)).toBe(true);
});
