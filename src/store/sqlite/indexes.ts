// The optional indexes: created and dropped while servers run, independent of the schema version.

import { type IndexName, type IndexStates, indexedCharacters, type PlantIndexes } from "../plant-reader.ts";
import { runImmediateTransaction } from "./connection.ts";
import type { Database } from "./driver.ts";

/** For each index its entry in sqlite_schema, and the statements that create and drop it. */
const indexes: Readonly<Record<IndexName, { entry: string; create: string; drop: string }>> = {
  // The id is the rowid, so plants are stored in the order of ids; a second table stores the order of creation.
  newest: {
    entry: "plants_arrive",
    create: `CREATE TABLE plant_arrivals (position INTEGER PRIMARY KEY, id INTEGER NOT NULL) STRICT;
             CREATE TRIGGER plants_arrive AFTER INSERT ON plants
             BEGIN INSERT INTO plant_arrivals (id) VALUES (new.id); END`,
    drop: "DROP TRIGGER plants_arrive; DROP TABLE plant_arrivals",
  },
  name: {
    entry: "plants_by_name",
    create: `CREATE INDEX plants_by_name ON plants (substr(name, 1, ${indexedCharacters}))`,
    drop: "DROP INDEX plants_by_name",
  },
  tag: {
    entry: "plants_by_tag",
    create: `CREATE INDEX plants_by_tag ON plants (substr(tag, 1, ${indexedCharacters})) WHERE tag IS NOT NULL`,
    drop: "DROP INDEX plants_by_tag",
  },
};

export class SqliteIndexes implements PlantIndexes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async states(): Promise<IndexStates> {
    return indexStates(this.#database);
  }

  async create(name: IndexName): Promise<void> {
    runImmediateTransaction(this.#database, () => {
      if (indexStates(this.#database)[name] === "none") this.#database.run(indexes[name].create);
    });
  }

  async drop(name: IndexName): Promise<void> {
    runImmediateTransaction(this.#database, () => {
      if (indexStates(this.#database)[name] !== "none") this.#database.run(indexes[name].drop);
    });
  }
}

/** Never `broken`, as every change is a transaction. */
export function indexStates(database: Database): IndexStates {
  const entries = new Set(database.query("SELECT name FROM sqlite_schema").values().flat());
  const state = (name: IndexName) => (entries.has(indexes[name].entry) ? "ready" : "none");
  return { newest: state("newest"), name: state("name"), tag: state("tag") };
}
