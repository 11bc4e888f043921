// Where engines are chosen: one line an engine.

import { OperatorError } from "../operator-error.ts";
import type { ObserveUnavailable, PlantStore, ReadablePlantStore, StoreObserver } from "./plant-store.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";
import { SqliteThread } from "./sqlite/sqlite-thread.ts";

interface Engine {
  /** Opens for a server, and makes the store if there is none. `batchesInFlightMax`: commits it takes at a time. */
  serve(address: string, observer: StoreObserver): Promise<{ store: PlantStore; batchesInFlightMax: number }>;
  /** Opens for one command. */
  open(
    address: string,
    mode: "create" | "existing",
    observe: ObserveUnavailable,
  ): Promise<ReadablePlantStore>;
}

const sqlite: Engine = {
  serve: async (path, observer) => ({
    store: await SqliteThread.open(path, observer),
    batchesInFlightMax: 1,
  }),
  open: async (path, mode, observe) => new SqliteStore(path, mode, observe),
};

const engines: Readonly<Record<string, Engine>> = { sqlite };

/** Opens the store that a `--database` names, for a server. Throws an OperatorError if it cannot. */
export function serveStore(database: string, observer: StoreObserver) {
  const { engine, address } = engineOf(database);
  return engine.serve(address, observer);
}

/** Opens the store that a `--database` names, for one command. Throws an OperatorError if it cannot. */
export function openStore(
  database: string,
  mode: "create" | "existing",
  observe: ObserveUnavailable,
): Promise<ReadablePlantStore> {
  const { engine, address } = engineOf(database);
  return engine.open(address, mode, observe);
}

function engineOf(database: string): { engine: Engine; address: string } {
  const [, scheme = "", address = ""] = /^([a-z]+):(.+)$/.exec(database) ?? [];
  const engine = Object.hasOwn(engines, scheme) ? engines[scheme] : undefined;
  if (engine === undefined) {
    throw new OperatorError(
      `--database is "${database}", but must be sqlite:FILE, such as sqlite:plantstore.db`,
      2,
    );
  }
  return { engine, address };
}
