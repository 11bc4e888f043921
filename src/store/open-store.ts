// Where engines are chosen: one line an engine.

import { OperatorError } from "../operator-error.ts";
import type {
  OnUnavailable,
  OpenMode,
  PlantStore,
  ReadablePlantStore,
  StoreObserver,
  StoreSize,
  StoreWait,
} from "./plant-store.ts";
import { backUp as postgresBackUp, restore as postgresRestore } from "./postgres/backup.ts";
import { parsePostgresUrl } from "./postgres/connection-url.ts";
import { backUp as sqliteBackUp } from "./sqlite/backup.ts";
import { restore as sqliteRestore } from "./sqlite/restore.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";
import { SqliteThread } from "./sqlite/worker-store.ts";

/** An engine opens what follows its scheme in an address, for a server or for one command. */
interface Engine {
  /** Throws an OperatorError if the address is none of this engine's. */
  judge(address: string): void;
  serve(address: string, mode: OpenMode, observer: StoreObserver, wait: StoreWait): Promise<PlantStore>;
  open(address: string, mode: OpenMode, observe: OnUnavailable, wait: StoreWait): Promise<ReadablePlantStore>;
  /** Copies the store to a file, or says which tool does. */
  backUp(address: string, file: string, mayReplace: boolean): Promise<StoreSize>;
  /** Makes a backup the store, or says which tool does. */
  restore(file: string, address: string, mayReplace: boolean): Promise<StoreSize>;
}

const sqlite: Engine = {
  judge: () => undefined,
  serve: (path, mode, observer) => SqliteThread.open(path, mode, observer),
  open: async (path, mode, observe) => new SqliteStore(path, mode, observe),
  backUp: async (...args) => sqliteBackUp(...args),
  restore: async (...args) => sqliteRestore(...args),
};

/** Loaded where it is used: its client takes a quarter of the time that a command takes to start. */
const openPostgres: Engine["open"] = async (...args) => {
  const { PostgresStore } = await import("./postgres/postgres-store.ts");
  return PostgresStore.open(...args);
};

const postgres: Engine = {
  judge: parsePostgresUrl,
  serve: (address, mode, { unavailable }, wait) => openPostgres(address, mode, unavailable, wait),
  open: openPostgres,
  backUp: postgresBackUp,
  restore: postgresRestore,
};

const engines: Readonly<Record<string, Engine>> = { sqlite, postgres, postgresql: postgres };

/** Throws an OperatorError, without a password, if a `--database` cannot name a store; opens nothing. */
export function assertDatabaseUrl(database: string): void {
  const { engine, address } = engineOf(database);
  engine.judge(address);
}

/** Opens the store that a `--database` names, for a server. Throws an OperatorError if it cannot. */
export function openServerStore(
  database: string,
  mode: OpenMode,
  observer: StoreObserver,
  wait: StoreWait = {},
): Promise<PlantStore> {
  const { engine, address } = engineOf(database);
  return engine.serve(address, mode, observer, wait);
}

/** Opens the store that a `--database` names, for one command, see openServerStore. */
export function openStore(
  database: string,
  mode: OpenMode,
  observe: OnUnavailable,
  wait: StoreWait = {},
): Promise<ReadablePlantStore> {
  const { engine, address } = engineOf(database);
  return engine.open(address, mode, observe, wait);
}

/** Copies the store that a `--database` names to a file. Throws an OperatorError if it cannot. */
export function backUpStore(database: string, file: string, mayReplace: boolean): Promise<StoreSize> {
  const { engine, address } = engineOf(database);
  return engine.backUp(address, file, mayReplace);
}

/** Makes a backup the store that a `--database` names. Throws an OperatorError if it cannot. */
export function restoreStore(file: string, database: string, mayReplace: boolean): Promise<StoreSize> {
  const { engine, address } = engineOf(database);
  return engine.restore(file, address, mayReplace);
}

function engineOf(database: string): { engine: Engine; address: string } {
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
