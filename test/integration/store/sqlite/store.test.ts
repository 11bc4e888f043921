// The SQLite engine in one process: durability, full disks, locks, replaced files, and files that
// are not stores.

import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { OperatorError } from "../../../../src/base/operator-error.ts";
import type { Plant } from "../../../../src/contract/contract.ts";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { storeAt } from "../../../../src/store/open-store.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { editsMax } from "../../../../src/store/shared/plant-edit.ts";
import { findPlants } from "../../../../src/store/shared/plant-rows.ts";
import { CheckpointSignals } from "../../../../src/store/sqlite/checkpoint-signals.ts";
import { openChosen } from "../../../../src/store/sqlite/chosen-contract.ts";
import { openDatabase } from "../../../../src/store/sqlite/connection.ts";
import { DiskFailureError, writeFailureMarker } from "../../../../src/store/sqlite/disk-failure.ts";
import * as files from "../../../../src/store/sqlite/files.ts";
import { openAgain } from "../../../../src/store/sqlite/open-file.ts";
import { SqlitePlants } from "../../../../src/store/sqlite/plants.ts";
import { BatchSender } from "../../../../src/store/sqlite/shared-batch.ts";
import { SharedText } from "../../../../src/store/sqlite/shared-text.ts";
import { SqliteStore } from "../../../../src/store/sqlite/store.ts";
import { Transactions } from "../../../../src/store/sqlite/transactions.ts";
import { toSentError, WorkerClient } from "../../../../src/store/sqlite/worker-rpc.ts";
import { plantStore } from "../../../support/contracts.ts";
import { TemporaryFolder } from "../../../support/server.ts";
import { settled } from "../../../support/settled.ts";
import { sqliteError } from "../../../support/sqlite-error.ts";
import { changed, changeOf, editOne, openedStore, unexpected } from "../../../support/stored-plants.ts";

const plant = (id: bigint, name: string, tag?: string): Plant => ({ id, values: [name, tag] });

/** A new store as a server opens it, and the error for which the server has to exit. */
async function openedForServer(folder: TemporaryFolder) {
  const failed = Promise.withResolvers<Error>();
  const events = { onUnavailable: unexpected, onTaskFailed: unexpected, onFailed: failed.resolve };
  const address = storeAt(`sqlite:${folder.file("plants.db")}`);
  return { store: await address.openForServer("create", events, { compiler }), failed };
}

test("the contract of a new store is compiled once", async () => {
  using folder = new TemporaryFolder();
  const contract = { text: await Bun.file("openapi.yaml").text() };
  let compilations = 0;
  const counting: typeof compiler = (source) => {
    compilations++;
    return compiler(source);
  };
  const path = folder.file("plants.db");
  using _ = (await openDatabase(path, "create", { compiler: counting, contract })).database;
  expect(compilations).toBe(1);
});

test("a commit is on stable storage: WAL mode, synchronous=FULL, STRICT tables", async () => {
  using folder = new TemporaryFolder();
  using database = (await openDatabase(folder.file("plants.db"), "create", { compiler })).database;
  const pragma = (name: string) => database.query(`PRAGMA ${name}`).values()[0]?.[0];
  expect(pragma("journal_mode")).toBe("wal");
  expect(pragma("synchronous")).toBe(2n);
  expect(
    database
      .query(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
      )
      .all(),
  ).toEqual([]);
});

test("a new store is on stable storage when it is open, and as private as the files beside it", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const umask = process.umask(0);
  using fsyncs = spyOn(files, "fsyncFile");
  using database = (await openDatabase(path, "create", { compiler })).database;
  expect(fsyncs.mock.calls).toEqual([[`${path}-wal`], [folder.path]]);
  writeFailureMarker(path, "a disk failed");
  process.umask(umask);
  const names = readdirSync(folder.path);
  expect(names).toHaveLength(4);
  expect(names.map((name) => statSync(folder.file(name)).mode & 0o777)).toEqual(names.map(() => 0o600));
  expect(database.query("PRAGMA wal_autocheckpoint").values()).toEqual([[0n]]);
});

test("a store that another process is creating at the same time is opened when it has its lock", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  using other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  using sleep = spyOn(Bun, "sleepSync").mockImplementation(() => void other.run("COMMIT"));
  using _ = (await openDatabase(path, "create", { compiler })).database;
  expect(sleep).toHaveBeenCalledTimes(1);
});

test("a change waits for the lock that another process has", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using store = await SqliteStore.open(path, "create", unexpected, { compiler });
  using other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  using sleep = spyOn(Bun, "sleepSync").mockImplementation(() => void other.run("COMMIT"));
  expect(await store.tokens.add({ name: "ci", hash: "0", createdAt: 0, expiresAt: null })).toBe(true);
  expect(sleep).toHaveBeenCalledTimes(1);
});

test("on a full disk a batch that does not fit is unavailable, and one that needs no space is not", async () => {
  using folder = new TemporaryFolder();
  using database = (await openDatabase(folder.file("plants.db"), "create", { compiler })).database;
  const reasons: string[] = [];
  const plants = new SqlitePlants(new Transactions(database), [plantStore], (reason) => reasons.push(reason));
  expect(plants.create(toEntries(plantStore, [plant(1n, "a")]), 0)).toEqual(["created"]);
  database.run("PRAGMA max_page_count = 8");

  const batch = toEntries(plantStore, [plant(3n, "c"), plant(2n, "x".repeat(100_000))]);
  expect(plants.create(batch, 0)).toEqual(["unavailable", "unavailable"]);
  expect(reasons).toEqual([expect.stringContaining("SQLITE_FULL")]);
  expect(plants.get(plantStore, 3n)).toBeUndefined();
  expect(plants.create(toEntries(plantStore, [plant(1n, "a"), plant(1n, "b")]), 0)).toEqual([
    "unchanged",
    "conflict",
  ]);

  database.run("PRAGMA max_page_count = 1000");
  expect(plants.create(batch, 0)).toEqual(["created", "created"]);
});

test("while another process holds the write lock, plants are unavailable", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  using database = (await openDatabase(path, "create", { compiler })).database;
  const reasons: string[] = [];
  const plants = new SqlitePlants(new Transactions(database), [plantStore], (reason) => reasons.push(reason));
  const other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  expect(plants.create(toEntries(plantStore, [plant(1n, "b")]), 0)).toEqual(["unavailable"]);
  expect(reasons).toEqual([expect.stringContaining("SQLITE_BUSY")]);
  other.run("COMMIT");
  other.close();
  expect(plants.create(toEntries(plantStore, [plant(1n, "a")]), 0)).toEqual(["created"]);
});

test("closing leaves one file, without a WAL", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const store = await SqliteStore.open(path, "create", unexpected, { compiler });
  await store.create(toEntries(plantStore, [plant(1n, "a")]));
  await store.tokens.list();
  await store[Symbol.asyncDispose]();
  expect(existsSync(path)).toBe(true);
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test.each(["", "-wal", "-shm"])(
  "a file that is replaced before the first commit is detected: plants.db%s",
  async (suffix) => {
    using folder = new TemporaryFolder();
    const path = folder.file("plants.db");
    await (await SqliteStore.open(path, "create", unexpected, { compiler }))[Symbol.asyncDispose]();
    const reasons: string[] = [];
    await using store = await SqliteStore.open(path, "create", (reason) => reasons.push(reason), {
      compiler,
    });
    renameSync(path + suffix, folder.file("away"));
    copyFileSync(folder.file("away"), path + suffix);

    expect(await store.create(toEntries(plantStore, [plant(1n, "lost")]))).toEqual(["unavailable"]);
    expect(reasons).toEqual([expect.stringContaining("was removed or replaced while it was open")]);
    const token = { name: "lost", hash: "0", createdAt: 0, expiresAt: null };
    expect(await settled(store.tokens.add(token))).toThrow("was removed or replaced");
    expect(await settled(store.tokens.revoke("lost", 0))).toThrow("was removed or replaced");
    expect(await settled(store.tokens.list())).toThrow("was removed or replaced");
    renameSync(folder.file("away"), path + suffix);
    expect(await store.create(toEntries(plantStore, [plant(1n, "kept")]))).toEqual(["created"]);
  },
);

test("a store opened through a link has the same size and failure marker as by its own name", async () => {
  using folder = new TemporaryFolder();
  const [resolved, link] = [folder.file("plants.db"), folder.file("link.db")];
  {
    await using store = await SqliteStore.open(resolved, "create", unexpected, { compiler });
    symlinkSync(resolved, link);
    await using linked = await SqliteStore.open(link, "create", unexpected, { compiler });
    expect(await linked.bytesOnDisk()).toBe(await store.bytesOnDisk());
  }

  writeFailureMarker(link, "disk I/O error");
  expect(readdirSync(folder.path).toSorted()).toEqual(
    ["link.db", "plants.db", "plants.db-disk-failed"].toSorted(),
  );
  await (await SqliteStore.open(resolved, "create", unexpected, { compiler }))[Symbol.asyncDispose]();
  expect(readdirSync(folder.path).toSorted()).toEqual(["link.db", "plants.db"].toSorted());
});

test("the failure marker of a store that was moved away does not prevent a new store", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  writeFailureMarker(path, "disk I/O error");
  const store = await SqliteStore.open(path, "create", unexpected, { compiler });
  expect(await store.create(toEntries(plantStore, [plant(1n, "a")]))).toEqual(["created"]);
  await store[Symbol.asyncDispose]();
  expect(readdirSync(folder.path)).toEqual(["plants.db"]);
});

test("after a failed fsync of a commit every call rejects, and the store is marked", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const checkpointThread = new CheckpointSignals(new BatchSender().buffer);
  const opened = await openDatabase(path, "create", { compiler });
  const store = SqliteStore.use(path, opened, unexpected, checkpointThread);
  using _ = spyOn(SqlitePlants.prototype, "create").mockImplementationOnce(() => {
    throw sqliteError("SQLITE_IOERR_FSYNC");
  });
  const errors: unknown[] = [];
  for (const call of [
    () => store.create(toEntries(plantStore, [plant(1n, "a")])),
    () => store.create(toEntries(plantStore, [plant(1n, "a")])),
    () => store.tokens.list(),
    () => store.assertWritable(),
  ])
    errors.push(await call().catch((error) => error));
  for (const error of errors) expect(error).toBeInstanceOf(DiskFailureError);
  // All of them have the reason of the first.
  expect(new Set(errors.map(String)).size).toBe(1);
  expect(existsSync(`${path}-disk-failed`)).toBe(true);
  expect(checkpointThread.hasDiskFailed).toBe(true);
  // A checkpoint would copy pages that may not be on the disk.
  expect(await store.close()).toBe(false);
});

test("a batch whose fsync has failed in the commit thread is unavailable, and the server has to exit", async () => {
  using folder = new TemporaryFolder();
  const { store, failed } = await openedForServer(folder);
  using _ = spyOn(BatchSender.prototype, "send").mockRejectedValueOnce(
    new DiskFailureError("the disk failed"),
  );
  expect(await store.create(toEntries(plantStore, [plant(1n, "a")]))).toEqual(["unavailable"]);
  expect(await failed.promise).toBeInstanceOf(DiskFailureError);
  const edited = editOne(store, { id: 1n, expected: "any", replacement: undefined });
  expect(await settled(edited)).toThrow("the disk failed");
  expect(await settled(store[Symbol.asyncDispose]())).toThrow("the disk failed");
});

test("edits whose fsync has failed in the commit thread reject, and the server has to exit", async () => {
  using folder = new TemporaryFolder();
  const { store, failed } = await openedForServer(folder);
  using _ = spyOn(SharedText.prototype, "read").mockReturnValueOnce(
    JSON.stringify(toSentError(new DiskFailureError("the disk failed"))),
  );
  const edited = editOne(store, { id: 1n, expected: "any", replacement: undefined });
  expect(await settled(edited)).toThrow(new DiskFailureError("the disk failed"));
  expect(await failed.promise).toBeInstanceOf(DiskFailureError);
  expect(await settled(store[Symbol.asyncDispose]())).toThrow("the disk failed");
});

test("a store that gets another contract between two threads that open it is not opened", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const { database, contract } = await openDatabase(path, "create", { compiler });
  const other = { ...contract, number: Number(contract.number) + 1 };
  expect(() => openChosen(path, other)).toThrow(
    new OperatorError(`${path} got another contract while it was being opened; try again`),
  );
  openChosen(path, contract).database.close();
  database.close();
});

test("a server whose checkpoint thread cannot start has to exit", async () => {
  using folder = new TemporaryFolder();
  const { open } = WorkerClient.prototype;
  // The first one is the commit thread.
  using opening = spyOn(WorkerClient.prototype, "open").mockRejectedValue(new Error("no descriptor is left"));
  opening.mockImplementationOnce(function (this: WorkerClient<never>, ...args) {
    return open.apply(this, args);
  });
  const { store: opened, failed } = await openedForServer(folder);
  await using store = opened;
  expect((await failed.promise).message).toBe("no descriptor is left");
  expect(await store.create(toEntries(plantStore, [plant(1n, "a")]))).toEqual(["created"]);
});

test("edits that the commit thread reads with another contract reject, and later ones are made", async () => {
  using folder = new TemporaryFolder();
  await using store = await openedStore(`sqlite:${folder.file("plants.db")}`);
  const edit = () => settled(editOne(store, { id: 1n, expected: "any", replacement: undefined }));
  const { contract } = store;
  // As while the thread is about to get it.
  Object.assign(store, { contract: { ...contract, number: 99 } });
  expect(await edit()).toThrow("the contract of the store has changed");
  Object.assign(store, { contract });
  expect((await edit())()).toBe("changed");
});

test("batches and edits that come after a store has closed reject", async () => {
  using folder = new TemporaryFolder();
  const store = await openedStore(`sqlite:${folder.file("plants.db")}`);
  await store[Symbol.asyncDispose]();
  const ended = new Error("The SQLite worker has ended");
  // A second one does not find the memory free, and is a message.
  for (let count = 0; count < 2; count++) {
    const edited = editOne(store, { id: 1n, expected: "any", replacement: undefined });
    expect(await settled(edited)).toThrow(ended);
    expect(await settled(store.create(toEntries(plantStore, [plant(1n, "a")])))).toThrow(ended);
  }
});

test("edits that come while a store closes are made or reject, and later ones reject", async () => {
  using folder = new TemporaryFolder();
  const store = await openedStore(`sqlite:${folder.file("plants.db")}`);
  const edit = () => settled(editOne(store, { id: 1n, expected: "any", replacement: undefined }));
  let isClosed = false;
  const closing = store[Symbol.asyncDispose]().then(() => {
    isClosed = true;
  });
  const edits = [edit()];
  for (; !isClosed; await Bun.sleep(0)) edits.push(edit());
  await closing;
  const [first, ...others] = await Promise.all([...edits, edit()]);
  expect(first?.()).toBe("changed");
  expect(others.pop()).toThrow("The SQLite worker has ended");
});

test("a thread that opens a store again does not bring it back after its disk has failed", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const { database } = await openDatabase(path, "create", { compiler });
  // As another process writes it.
  writeFailureMarker(path, "disk I/O error");
  openAgain(path).close();
  expect(existsSync(`${path}-disk-failed`)).toBe(true);
  database.close();
});

test("a store whose fsync fails while it is opened is marked", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  {
    using _ = spyOn(files, "fsyncFile").mockImplementationOnce(() => {
      throw Object.assign(new Error("EIO: i/o error, fsync"), { syscall: "fsync" });
    });
    const opened = SqliteStore.open(path, "create", unexpected, { compiler });
    expect(await settled(opened)).toThrow("EIO");
  }
  expect(existsSync(`${path}-disk-failed`)).toBe(true);
  await (await SqliteStore.open(path, "create", unexpected, { compiler }))[Symbol.asyncDispose]();
  expect(existsSync(`${path}-disk-failed`)).toBe(false);
});

test("files that are not stores are rejected with advice, and not changed", async () => {
  using folder = new TemporaryFolder();
  const openingError = async (path: string, mode: "create" | "existing" = "create") => {
    try {
      (await openDatabase(path, mode, { compiler })).database.close();
      return "opened";
    } catch (error) {
      return error instanceof OperatorError ? error.message : error;
    }
  };

  expect(await openingError(folder.file("none.db"), "existing")).toContain("there is no store");
  expect(existsSync(folder.file("none.db"))).toBe(false);
  symlinkSync(folder.file("loop.db"), folder.file("loop.db"));
  for (const mode of ["existing", "create"] as const)
    expect(await openingError(folder.file("loop.db"), mode)).toMatch(
      /^cannot open the store .*loop\.db \(ELOOP\); /,
    );
  expect(await openingError(folder.file("no/such/folder.db"))).toContain(
    "(ENOENT); check that its folder exists",
  );
  expect(await openingError(folder.path)).toEndWith("is a folder; name a file");
  expect(await openingError(":memory:")).toContain("cannot be kept durable (its journal mode is memory)");

  writeFileSync(folder.file("empty.db"), "");
  expect(await openingError(folder.file("empty.db"), "existing")).toContain("there is no plant store in");

  writeFileSync(folder.file("text.db"), "not a database, however long it is".repeat(100));
  expect(await openingError(folder.file("text.db"))).toContain("cannot open the store");

  const foreign = new Database(folder.file("foreign.db"));
  foreign.run("CREATE TABLE songs (title TEXT)");
  foreign.close();
  expect(await openingError(folder.file("foreign.db"))).toContain("not a plant store");
  const untouched = new Database(folder.file("foreign.db"));
  expect(untouched.query("PRAGMA journal_mode").values()).toEqual([["delete"]]);
  untouched.close();

  (await openDatabase(folder.file("newer.db"), "create", { compiler })).database.close();
  const newer = new Database(folder.file("newer.db"));
  newer.run("PRAGMA user_version = 99");
  newer.close();
  const bytes = readFileSync(folder.file("newer.db"));
  expect(await openingError(folder.file("newer.db"))).toContain("schema version 99");
  expect(readFileSync(folder.file("newer.db")).equals(bytes)).toBe(true);
});

test("readiness probes and token changes run checkpoints too, so the WAL stays short without creates", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using store = await SqliteStore.open(path, "create", unexpected, { compiler });
  using other = (await openDatabase(path, "existing", { compiler })).database;
  const walPages = () => Number(other.query("PRAGMA wal_checkpoint(NOOP)").values()[0]?.[1]);
  const changes = [
    () => store.assertWritable(),
    () => store.tokens.add({ name: "ci", hash: "0", createdAt: 0, expiresAt: null }),
  ];
  for (const [round, change] of changes.entries()) {
    const large = (at: number) => plant(BigInt(100 * round + at), "x".repeat(2 ** 20));
    await store.create(
      toEntries(
        plantStore,
        Array.from({ length: 20 }, (_, at) => large(at)),
      ),
    );
    expect(walPages()).toBeGreaterThan(4_000);
    // The WAL is copied and restarted.
    await change();
    expect(walPages()).toBeLessThan(10);
  }
});

test("batches that are created at the same time are all committed, with their own outcomes and creators", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const store = await openedStore(`sqlite:${path}`);
  const batches = Array.from({ length: 10 }, (_, index) => {
    const [id, other] = [BigInt(index), BigInt(100 + index)];
    const plants = [plant(id, "a"), plant(id, "b"), plant(id, "a"), plant(other, "c", ""), plant(other, "c")];
    return toEntries(plantStore, plants, index);
  });
  const outcomes = await Promise.all(batches.map((batch) => store.create(batch)));
  expect(outcomes).toEqual(batches.map(() => ["created", "conflict", "unchanged", "created", "conflict"]));
  await store[Symbol.asyncDispose]();
  using file = new Database(path, { readonly: true });
  const creators = file.query<{ id: number; creator: number }, []>("SELECT id, creator FROM plants").all();
  expect(creators).toHaveLength(20);
  expect(creators.filter(({ id, creator }) => creator !== id % 100)).toEqual([]);
});

test("edits that come at the same time, large ones among them, are all made", async () => {
  using folder = new TemporaryFolder();
  await using store = await openedStore(`sqlite:${folder.file("plants.db")}`);
  const plants = Array.from({ length: 12 }, (_, id) => plant(BigInt(id), "a", "t"));
  await store.create(toEntries(plantStore, plants));
  await using sql = await store.openSql();
  const ids = plants.map(({ id }) => id);
  const read = async () => [...(await findPlants(plantStore, sql, ids)).values()];
  // Every third one does not fit into the memory that the threads share.
  const edits = (await read()).map((found, index) =>
    changeOf(found, [index % 3 === 0 ? "€".repeat(400_000) : `b${index}`, undefined]),
  );
  expect(await Promise.all(edits.map((edit) => editOne(store, edit)))).toEqual(edits.map(() => "done"));
  expect(await read()).toEqual(edits.map(changed));
  const again = await Promise.all(edits.map((edit) => editOne(store, edit)));
  expect(again).toEqual(edits.map(() => "changed"));
});

test("a connection for reading that closes ends the call that runs, and says to those that wait that it was closed", async () => {
  using folder = new TemporaryFolder();
  await using store = await openedStore(`sqlite:${folder.file("plants.db")}`);
  const sql = await store.openSql();
  const calls = [1, 2].map((one) => sql.query("SELECT $1 AS one", [one]).catch(String));
  await sql[Symbol.asyncDispose]();
  expect(await Promise.all(calls)).toEqual([
    [{ one: 1n }],
    expect.stringContaining("the connection to the store was closed; try again"),
  ]);
});

test("single plants are not read by a connection that was closed, which is no exception", async () => {
  using folder = new TemporaryFolder();
  await using store = await openedStore(`sqlite:${folder.file("plants.db")}`);
  const single = await store.openPlantReads?.();
  expect(await single?.get("plants", [1n])).toEqual([]);
  await single?.[Symbol.asyncDispose]();
  const closed = new OperatorError("the connection to the store was closed; try again");
  expect(await single?.get("plants", [1n]).catch((error) => error)).toEqual(closed);
  expect(await single?.find({ table: "plants", ids: [1n], urls: [] }).catch((error) => error)).toEqual(
    closed,
  );
});

test("a batch of creates waits for one group of edits, however many there are", async () => {
  using folder = new TemporaryFolder();
  await using store = await openedStore(`sqlite:${folder.file("plants.db")}`);
  const { number: contractNumber } = store.contract;
  // All delete the plant that the batch creates; only what comes after it finds one.
  const edits = Array.from({ length: editsMax }, (_, seq) => {
    const edit = { id: BigInt(seq), expected: "any", replacement: undefined } as const;
    return { table: "plants", contractNumber, edit, run: "r", seq, editor: "{}", editedAt: 0 };
  });
  const before = [store.edit(edits), store.edit(edits)];
  const created = store.create(toEntries(plantStore, [plant(0n, "a")]));
  const groups = [...before, ...Array.from({ length: 18 }, () => store.edit(edits))];
  expect(await created).toEqual(["created"]);
  const first = (await Promise.all(groups)).map(([outcome]) => outcome);
  expect([1, 2]).toContain(first.indexOf("done"));
});
