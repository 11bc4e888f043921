// Plants to be stored, and the export of a store.

import { Database } from "bun:sqlite";
import { Client } from "pg";
import { ApiError } from "../../src/base/errors.ts";
import type { Collection, ContractSource, Values } from "../../src/contract/contract.ts";
import { parsePlantJson } from "../../src/contract/plant.ts";
import { compiler } from "../../src/openapi/compiler.ts";
import { EditRun } from "../../src/plants/edit-run.ts";
import { readPlants, readStoredPlants } from "../../src/plants/stored-plants.ts";
import type { ServerStore } from "../../src/store/group-commit.ts";
import { storeAt } from "../../src/store/open-store.ts";
import { type PlantStore, toEntries } from "../../src/store/plant-store.ts";
import type { ConditionalEdit, EditOutcome, PlantEdit } from "../../src/store/shared/plant-edit.ts";
import { nextVersion, type StoredPlant } from "../../src/store/shared/plant-rows.ts";
import type { SqlConnection } from "../../src/store/sql-connection.ts";
import { exportText } from "../../src/transfer/export.ts";
import { onlyCollection, type PlantLike, plantStore, toPlants } from "./contracts.ts";
import { withStore } from "./server.ts";

/** Creates the store if there is none, and its plants, which must be new. */
export async function storePlants(database: string, plants: readonly PlantLike[]): Promise<void> {
  const entries = toEntries(plantStore, toPlants(plants));
  const outcomes = await withStore(database, "create", (store) => store.create(entries));
  const others = outcomes.filter((outcome) => outcome !== "created");
  if (others.length > 0) throw new Error(`Some plants were not created: ${[...new Set(others)]}`);
}

export function unexpected(reason: unknown): never {
  throw new Error(`The store failed: ${reason}`);
}

/** Runs a statement on a store, past the program. */
export async function runSql(database: string, sql: string): Promise<void> {
  if (database.startsWith("sqlite:")) {
    using file = new Database(database.slice("sqlite:".length));
    file.run(sql);
    return;
  }
  // node-postgres would take a statement_timeout of 60 s for 60 ms.
  const client = new Client(database.replace(/\?.*/, ""));
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** Opens a store as a server does, until it goes out of scope. */
export function openedStore(
  database: string,
  onUnavailable: (reason: string) => void = unexpected,
  contract?: ContractSource,
): Promise<ServerStore> {
  const events = { onUnavailable, onTaskFailed: unexpected, onFailed: unexpected };
  return storeAt(database).openForServer("create", events, { compiler, contract });
}

/** Stores plants from lines of NDJSON. */
export function storeLines(database: string, lines: readonly string[]): Promise<void> {
  const plants = lines.map((line) => {
    const plant = parsePlantJson(plantStore, line);
    if (plant instanceof ApiError) throw new Error(`${line}: ${plant.message}`);
    return plant;
  });
  return storePlants(database, plants);
}

/** A change of a plant that was read, or its deletion. */
export function changeOf(expected: StoredPlant, replacement: Values | undefined): ConditionalEdit {
  return { id: expected.id, expected, replacement, version: nextVersion(expected.version) };
}

/** A plant as a change makes it. */
export function changed({ expected, replacement, version }: ConditionalEdit): StoredPlant {
  if (expected === undefined || replacement === undefined) throw new Error("The edit changes no plant");
  return { ...expected, values: replacement, version };
}

/** Makes one edit, in a new run. */
export async function editOne(
  store: Pick<PlantStore, "edit">,
  edit: PlantEdit,
): Promise<EditOutcome | undefined> {
  const [outcome] = await new EditRun(store, { by: "command", user: "test" }).edit(plantStore, [edit]);
  return outcome;
}

/** All plants of a store, as `plantstore export` prints them. */
export async function exported(database: string): Promise<string> {
  const chunks = await reading(database, (sql, collection) =>
    Array.fromAsync(exportText(collection, readPlants(collection, sql), "ndjson")),
  );
  return chunks.join("");
}

/** All plants of a store, with their creations and versions. */
export async function storedPlants(database: string): Promise<StoredPlant[]> {
  const read = (sql: SqlConnection, collection: Collection) =>
    Array.fromAsync(readStoredPlants(collection, sql));
  return (await reading(database, read)).flat();
}

export function storedCount(database: string): Promise<number> {
  return reading(database, async (sql, { table }) => {
    const [row] = await sql.query<{ plants: bigint }>(`SELECT count(*) AS plants FROM "${table}"`);
    return Number(row?.plants);
  });
}

function reading<Result>(
  database: string,
  read: (sql: SqlConnection, collection: Collection) => Promise<Result>,
): Promise<Result> {
  return withStore(database, "existing", async (store) => {
    await using sql = await store.openSql();
    return await read(sql, onlyCollection(store.contract));
  });
}

/** A line without its end. */
export function csvLine(cells: readonly string[]): string {
  return cells.join();
}

/** The faults that SQLite finds in the file of a store: "ok" if there is none. */
export function integrityOf(path: string): unknown {
  using database = new Database(path);
  return database.query("PRAGMA integrity_check").values().join();
}
