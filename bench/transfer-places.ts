// Where plants are moved to and from: a store of each engine, and the engine's own tool for it.

import { rmSync } from "node:fs";
import { plantstore } from "./plantstore.ts";
import type { BenchPostgres } from "./postgres-server.ts";
import { runToEnd } from "./processes.ts";
import { rowsInFile } from "./row-count.ts";

/** A store that our command and the engine's own tool both work on. */
export interface Place {
  /** As `--database` takes it. */
  readonly database: string;
  readonly toolImport: (csv: string) => readonly string[];
  readonly toolExport: readonly string[];
  /** How many plants it has. */
  readonly rows: () => Promise<number>;
  readonly remove: () => Promise<void>;
}

/** An engine, with a new and empty store whenever one is asked for. */
export interface PlaceMaker {
  readonly engine: string;
  readonly tools: { readonly import: string; readonly export: string };
  readonly newPlace: () => Promise<Place>;
}

export function sqlitePlaces(folder: string): PlaceMaker {
  let made = 0;
  return {
    engine: "SQLite",
    tools: { import: "sqlite3 .import", export: "sqlite3 .mode json" },
    newPlace: async () => {
      const file = `${folder}/place-${made++}.db`;
      await makeTables(`sqlite:${file}`);
      return {
        database: `sqlite:${file}`,
        toolImport: (csv) => ["sqlite3", file, `.import --csv --skip 1 ${csv} plants`],
        toolExport: ["sqlite3", "-json", file, "SELECT id, name, tag FROM plants ORDER BY id"],
        rows: async () => rowsInFile(file),
        remove: async () => {
          for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
        },
      };
    },
  };
}

export function postgresPlaces(server: BenchPostgres): PlaceMaker {
  let made = 0;
  return {
    engine: "PostgreSQL",
    tools: { import: "psql \\copy", export: "psql \\copy to" },
    newPlace: async () => {
      const name = `place_${made++}`;
      const database = await server.createDatabase(name);
      await makeTables(database);
      const psql = ["psql", "--no-psqlrc", "--quiet", database, "--command"];
      return {
        database,
        toolImport: (csv) => [...psql, `\\copy plants FROM '${csv}' CSV HEADER`],
        toolExport: [...psql, "\\copy (SELECT id, name, tag FROM plants ORDER BY id) TO STDOUT CSV"],
        rows: () => server.rowsIn(name),
        remove: () => server.dropDatabase(name),
      };
    },
  };
}

/** The tool writes to the very table that ours writes to, in the same journal mode. */
async function makeTables(database: string): Promise<void> {
  await runToEnd([plantstore, "migrate", "--database", database]);
}
