// Chooses the engine by the scheme of --database.

import { resolve } from "node:path";
import { OperatorError } from "../operator-error.ts";
import type { ServerStore } from "./group-commit.ts";
import type {
  Distribution,
  OnUnavailable,
  OpenMode,
  ReadablePlantStore,
  StoreEvents,
  StoreSize,
  StoreWait,
} from "./plant-store.ts";
import { parsePostgresUrl, toLocation } from "./postgres/connection-url.ts";
import { reservedSuffix } from "./sqlite/file-names.ts";

/** The functions of an engine. An address is the rest of --database after the scheme. */
interface Engine {
  /** Throws an OperatorError if the address is not one of this engine. */
  assertAddress(address: string): void;
  /** A path, or hosts and a database, for operators. */
  toLocation(address: string): string;
  /** Opens a store for a server. */
  openForServer(address: string, mode: OpenMode, events: StoreEvents, wait: StoreWait): Promise<ServerStore>;
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
  /** Distributes a store over the nodes of its cluster. Undefined if an engine has no clusters. */
  readonly distribute?: (address: string, wait: StoreWait) => Promise<Distribution>;
}

// Parts of an engine are imported on first use: the PostgreSQL client takes 20 ms to load.

const sqlite: Engine = {
  assertAddress: assertPath,
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

function assertPath(path: string): void {
  if (path.startsWith("//"))
    throw new OperatorError(
      "after sqlite: comes the path of a file, such as sqlite:plants.db or sqlite:/var/plants.db",
      2,
    );
  const suffix = reservedSuffix(path);
  if (suffix !== undefined)
    throw new OperatorError(
      `a name that ends with ${suffix} is reserved for a file next to a store; name another file`,
      2,
    );
}

async function openPostgres(
  address: string,
  mode: OpenMode,
  events: Pick<StoreEvents, "onUnavailable" | "onDegraded">,
  wait: StoreWait,
): Promise<ReadablePlantStore & ServerStore> {
  const [{ PostgresStore }, { citus }] = await Promise.all([
    import("./postgres/store.ts"),
    import("./postgres/citus/citus.ts"),
  ]);
  return PostgresStore.open(address, mode, events, wait, citus);
}

const postgres: Engine = {
  assertAddress: parsePostgresUrl,
  toLocation: (address) => toLocation(parsePostgresUrl(address)),
  openForServer: openPostgres,
  open: (address, mode, onUnavailable, wait) =>
    openPostgres(address, mode, { onUnavailable, onDegraded: () => undefined }, wait),
  backUp: async () => (await import("./postgres/backup.ts")).backUp(),
  restore: async () => (await import("./postgres/backup.ts")).restore(),
  distribute: async (...args) => (await import("./postgres/citus/distribution.ts")).distribute(...args),
};

const engines: Readonly<Record<string, Engine>> = { sqlite, postgres, postgresql: postgres };

/** Throws an OperatorError, without a password, if --database names no store; opens nothing. */
export function assertDatabaseUrl(database: string): void {
  const { engine, address } = parseDatabase(database);
  engine.assertAddress(address);
}

/** Throws an OperatorError if the engine of --database cannot distribute a store; opens nothing. */
export function assertDistributable(database: string): void {
  if (parseDatabase(database).engine.distribute !== undefined) return;
  throw new OperatorError("--distribute is for PostgreSQL with Citus; a SQLite store is one file", 2);
}

/**
 * Distributes the plants by id over the nodes of the database's Citus cluster, also those that are
 * stored already, in one transaction. Safe to repeat. Rejects with an OperatorError if it cannot.
 */
export async function distributeStore(
  database: string,
  wait: StoreWait = {},
): Promise<Distribution | undefined> {
  const { engine, address } = parseDatabase(database);
  return engine.distribute?.(address, wait);
}

/** The file or the hosts of the store that --database names, without a password. */
export function storeLocation(database: string): string {
  const { engine, address } = parseDatabase(database);
  return engine.toLocation(address);
}

/** Opens a store for a server. Rejects with an OperatorError if that fails. */
export function openServerStore(
  database: string,
  mode: OpenMode,
  events: StoreEvents,
  wait: StoreWait = {},
): Promise<ServerStore> {
  const { engine, address } = parseDatabase(database);
  return engine.openForServer(address, mode, events, wait);
}

/** Opens a store for one command. Rejects with an OperatorError if that fails. */
export function openStore(
  database: string,
  mode: OpenMode,
  onUnavailable: OnUnavailable,
  wait: StoreWait = {},
): Promise<ReadablePlantStore> {
  const { engine, address } = parseDatabase(database);
  return engine.open(address, mode, onUnavailable, wait);
}

/** Copies a store to a file. Rejects with an OperatorError if that fails. */
export function backUpStore(database: string, file: string, overwrite: boolean): Promise<StoreSize> {
  const { engine, address } = parseDatabase(database);
  return engine.backUp(address, file, overwrite);
}

/** Replaces a store with a backup. Rejects with an OperatorError if that fails. */
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
