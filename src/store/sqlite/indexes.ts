// The optional indexes: made and dropped while servers run, and no part of the schema's version.

import { type IndexName, type IndexStates, indexedCharacters, type PlantIndexes } from "../plant-reader.ts";
import type { Database } from "./driver.ts";
import { runImmediateTransaction } from "./immediate-transaction.ts";

/** For each, what tells that it is there, and the statements that make and drop it. */
const indexes: Readonly<Record<IndexName, { entry: string; create: string; drop: string }>> = {
  // The id is the row's own number, so that a table cannot keep the order of creation: a second one does.
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

/** Never `broken`: a change is a transaction. */
export function indexStates(database: Database): IndexStates {
  const entries = new Set(database.query("SELECT name FROM sqlite_schema").values().flat());
  const stateOf = (name: IndexName) => (entries.has(indexes[name].entry) ? "ready" : "none");
  return { newest: stateOf("newest"), name: stateOf("name"), tag: stateOf("tag") };
}
