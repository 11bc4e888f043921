// The length of SQLite's write-ahead log, and who copies it.

import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { existsSync } from "node:fs";
import type { Plant } from "../../../../src/contract/contract.ts";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { walBytesKept } from "../../../../src/store/sqlite/checkpoint.ts";
import { CheckpointSignals } from "../../../../src/store/sqlite/checkpoint-signals.ts";
import { openChosen } from "../../../../src/store/sqlite/chosen-contract.ts";
import { openDatabase } from "../../../../src/store/sqlite/connection.ts";
import { DiskFailureError } from "../../../../src/store/sqlite/disk-failure.ts";
import { BatchSender } from "../../../../src/store/sqlite/shared-batch.ts";
import { SqliteStore } from "../../../../src/store/sqlite/store.ts";
import { plant, plantStore } from "../../../support/contracts.ts";
import { eventually } from "../../../support/eventually.ts";
import { TemporaryFolder } from "../../../support/server.ts";
import { openedStore, storedCount, unexpected } from "../../../support/stored-plants.ts";

const mebibyte = 2 ** 20;

function large(id: bigint): Plant {
  return plant({ id, name: "x".repeat(mebibyte) });
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
  // A thread that starts late copies the first ones, whoever tells it of the others.
  for (let round = 0; round < 2; round++) {
    for (let megabyte = 0; megabyte < 20; megabyte++)
      expect(await store.create(toEntries(plantStore, [large(id++)]))).toEqual(["created"]);
    // Without a commit after them.
    await eventually(
      "fewer than 2,000 pages to copy",
      () => walPages(path).toCopy,
      (pages) => pages < 2_000,
    );
  }

  // A snapshot keeps the WAL from being restarted, however long the commits wait for that.
  const reader = new Database(path);
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  while ((store.walBytes?.() ?? 0) < 140 * mebibyte)
    await store.create(toEntries(plantStore, [large(id++), large(id++)]));
  const { pages } = walPages(path);
  reader.close();
  while (walPages(path).pages >= pages) await store.create(toEntries(plantStore, [large(id++)]));
  // The file keeps some of its blocks, which the next commits write over.
  expect(store.walBytes?.()).toBe(walBytesKept);

  let walBytesMax = 0;
  for (let round = 0; round < 100; round++) {
    await store.create(toEntries(plantStore, [large(id++), large(id++)]));
    walBytesMax = Math.max(walBytesMax, store.walBytes?.() ?? 0);
  }
  // Less than all that was written.
  expect(walBytesMax).toBeLessThan(160 * mebibyte);
  await store[Symbol.asyncDispose]();
  expect(existsSync(`${path}-wal`)).toBe(false);
  expect(await storedCount(`sqlite:${path}`)).toBe(Number(id));
});

test("a commit in flight while an fsync of the checkpoint thread fails is not acknowledged, nor anything after it", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const { buffer } = new BatchSender();
  const checkpointThread = new CheckpointSignals(buffer);
  const { database, contract } = await openDatabase(path, "create", { compiler });
  const store = SqliteStore.use(path, openChosen(path, contract), unexpected, checkpointThread);
  database.close();
  expect(await store.create(toEntries(plantStore, [{ id: 1n, name: "a" }].map(plant)))).toEqual(["created"]);
  const inserted: bigint[] = [];
  const entry = (id: bigint, name: string) => ({
    collection: plantStore,
    creator: null,
    // As the thread does, in memory that both share, while the batch is committed.
    get plant() {
      inserted.push(id);
      new CheckpointSignals(buffer).failDisk();
      return plant({ id, name });
    },
  });
  using now = spyOn(Date, "now");
  for (const call of [
    () => store.create([entry(2n, "b")], 0),
    () => store.create([entry(1n, "a")], 0),
    () => store.assertWritable(),
    () => store.tokens.list(),
  ])
    expect(await call().catch((error) => error)).toBeInstanceOf(DiskFailureError);
  expect(inserted).toEqual([2n]);
  expect(now).not.toHaveBeenCalled();
  // Closing runs a checkpoint, from pages that may not be on the disk.
  await store[Symbol.asyncDispose]();
  expect(existsSync(`${path}-wal`)).toBe(true);
});
