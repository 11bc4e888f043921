// Chooses the engine by the scheme of --database.

import { resolve } from "node:path";
import { OperatorError } from "../operator-error.ts";
import type {
  OnUnavailable,
  OpenMode,
  PlantStore,
  ReadablePlantStore,
  StoreEvents,
  StoreSize,
  StoreWait,
} from "./plant-store.ts";
import { parsePostgresUrl, toLocation } from "./postgres/connection-url.ts";

/** The functions of an engine. An address is the rest of --database after the scheme. */
interface Engine {
  /** Whether its stores can be distributed over the nodes of a cluster. */
  readonly isDistributable: boolean;
  /** Throws an OperatorError if the address is not one of this engine. */
  assertAddress(address: string): void;
  /** A path, or hosts and a database, for operators. */
  toLocation(address: string): string;
  /** Opens a store for a server. */
  openForServer(address: string, mode: OpenMode, events: StoreEvents, wait: StoreWait): Promise<PlantStore>;
  /** Opens a store for one command. */
  open(
    address: string,
    mode: OpenMode,
    onUnavailable: OnUnavailable,
    wait: StoreWait,
  ): Promise<ReadablePlantStore>;
  /** Copies the store to a file, or throws an OperatorError that names the tool for it. */
  backUp(address: string, file: string, overwrite: boolean): Promise<StoreSize>;
  /** Replaces the store with a backup, or throws an OperatorError that names the tool for it. */
  restore(file: string, address: string, overwrite: boolean): Promise<StoreSize>;
}

// Each part of an engine is imported on first use: the PostgreSQL client takes 20 ms of processor time to load, and a server
// needs SQLite in its worker only.

const sqlite: Engine = {
  isDistributable: false,
  assertAddress: () => undefined,
  toLocation: (path) => resolve(path),
  openForServer: async (path, mode, events) => {
    const { SqliteWorkerStore } = await import("./sqlite/worker-store.ts");
    return SqliteWorkerStore.open(path, mode, events);
  },
  open: async (path, mode, onUnavailable) => {
    const { SqliteStore } = await import("./sqlite/store.ts");
    return new SqliteStore(path, mode, onUnavailable);
  },
  backUp: async (...args) => (await import("./sqlite/backup.ts")).backUp(...args),
  restore: async (...args) => (await import("./sqlite/backup.ts")).restore(...args),
};

const importPostgres = async () => (await import("./postgres/store.ts")).PostgresStore;

const postgres: Engine = {
  isDistributable: true,
  assertAddress: parsePostgresUrl,
  toLocation: (address) => toLocation(parsePostgresUrl(address)),
  openForServer: async (...args) => (await importPostgres()).openForServer(...args),
  open: async (...args) => (await importPostgres()).open(...args),
  backUp: async () => (await import("./postgres/backup.ts")).backUp(),
  restore: async () => (await import("./postgres/backup.ts")).restore(),
};

const engines: Readonly<Record<string, Engine>> = { sqlite, postgres, postgresql: postgres };

/** Throws an OperatorError, which contains no password, unless --database can name a store; opens nothing. */
export function assertDatabaseUrl(database: string): void {
  const { engine, address } = parseDatabase(database);
  engine.assertAddress(address);
}

/** Throws an OperatorError if the engine that --database names cannot distribute a store; opens nothing. */
export function assertDistributable(database: string): void {
  if (parseDatabase(database).engine.isDistributable) return;
  throw new OperatorError("--distribute is for PostgreSQL with Citus; an SQLite store is one file", 2);
}

/** The file or the hosts of the store that --database names, without a password. */
export function storeLocation(database: string): string {
  const { engine, address } = parseDatabase(database);
  return engine.toLocation(address);
}

/** Opens the store that --database names, for a server. Rejects with an OperatorError if that fails. */
export function openServerStore(
  database: string,
  mode: OpenMode,
  events: StoreEvents,
  wait: StoreWait = {},
): Promise<PlantStore> {
  const { engine, address } = parseDatabase(database);
  return engine.openForServer(address, mode, events, wait);
}

/** Opens the store that --database names, for one command. Rejects with an OperatorError if that fails. */
export function openStore(
  database: string,
  mode: OpenMode,
  onUnavailable: OnUnavailable,
  wait: StoreWait = {},
): Promise<ReadablePlantStore> {
  const { engine, address } = parseDatabase(database);
  return engine.open(address, mode, onUnavailable, wait);
}

/** Copies the store that --database names to a file. Rejects with an OperatorError if that fails. */
export function backUpStore(database: string, file: string, overwrite: boolean): Promise<StoreSize> {
  const { engine, address } = parseDatabase(database);
  return engine.backUp(address, file, overwrite);
}

/** Replaces the store that --database names with a backup. Rejects with an OperatorError if that fails. */
export function restoreStore(file: string, database: string, overwrite: boolean): Promise<StoreSize> {
  const { engine, address } = parseDatabase(database);
  return engine.restore(file, address, overwrite);
}

function parseDatabase(database: string): { engine: Engine; address: string } {
  const [, scheme = "", address = ""] = /^([a-z]+):(.+)$/.exec(database) ?? [];
  const engine = Object.hasOwn(engines, scheme) ? engines[scheme] : undefined;
  if (engine === undefined) {
    throw new OperatorError(
      "it must be sqlite:FILE or postgres://user:password@host/database, in one line",
      2,
    );
  }
  return { engine, address };
}
