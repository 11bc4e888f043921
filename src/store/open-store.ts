// Chooses the engine by the scheme of --database.

import { resolve } from "node:path";
import { OperatorError } from "../base/operator-error.ts";
import type { ServerStore } from "./group-commit.ts";
import type { OnUnavailable, OpenMode, OpenOptions, PlantStore, StoreEvents } from "./plant-store.ts";
import { parsePostgresUrl, toLocation } from "./postgres/connection-url.ts";
import { reservedSuffix } from "./sqlite/files.ts";

/** Names a store and opens it by its address. Each call rejects with an OperatorError. */
interface StoreAddress {
  /** A path, or hosts and a database without a password, for operators. */
  readonly location: string;
  /** The path of the store's file; undefined on PostgreSQL. */
  readonly file?: string;
  /** Loads what openForServer needs, while a start loads other parts. */
  readonly load: () => Promise<unknown>;
  /** Opens the store for a server. */
  openForServer(mode: OpenMode, events: StoreEvents, options: OpenOptions): Promise<ServerStore>;
  /** Opens the store for one command. */
  open(mode: OpenMode, onUnavailable: OnUnavailable, options: OpenOptions): Promise<PlantStore>;
}

// Parts of an engine are imported on first use: the PostgreSQL client takes 20 ms to load.

function sqlite(path: string): StoreAddress {
  // A URL of other tools or of SQLite: its parameters would become part of the file's name.
  if (/^\/\/|^file:|\?/.test(path))
    throw new OperatorError(
      "after sqlite: comes the path of a file, without parameters, such as sqlite:plants.db or sqlite:/var/plants.db",
      2,
    );
  const suffix = reservedSuffix(path);
  if (suffix !== undefined)
    throw new OperatorError(
      `a name that ends with ${suffix} is reserved for a file next to a store; name another file`,
      2,
    );
  const load = () => import("./sqlite/worker-store.ts");
  return {
    location: resolve(path),
    file: path,
    load,
    openForServer: async (mode, events, options) => {
      const { SqliteWorkerStore } = await load();
      return SqliteWorkerStore.open(path, mode, events, options);
    },
    open: async (mode, onUnavailable, options) => {
      const { SqliteStore } = await import("./sqlite/store.ts");
      return SqliteStore.open(path, mode, onUnavailable, options);
    },
  };
}

function postgres(address: string): StoreAddress {
  const load = () => Promise.all([import("./postgres/store.ts"), import("./citus/citus.ts")]);
  const open = async (mode: OpenMode, onUnavailable: OnUnavailable, options: OpenOptions) => {
    const [{ PostgresStore }, { citus }] = await load();
    return PostgresStore.open(address, mode, onUnavailable, { ...options, cluster: citus });
  };
  return {
    location: toLocation(parsePostgresUrl(address)),
    load,
    openForServer: (mode, { onUnavailable }, options) => open(mode, onUnavailable, options),
    open,
  };
}

const engines = new Map([
  ["sqlite", sqlite],
  ["postgres", postgres],
  ["postgresql", postgres],
]);

/**
 * The store that --database names; opens nothing. Throws an OperatorError, without a password, if
 * it names none.
 */
export function storeAt(database: string): StoreAddress {
  const [, scheme = "", address = ""] = /^([a-z]+):(.+)$/.exec(database) ?? [];
  const engine = engines.get(scheme);
  if (engine === undefined)
    throw new OperatorError(
      "it must be sqlite:FILE or postgres://user:password@host/database, in one line",
      2,
    );
  return engine(address);
}
