// The optional indexes: created and dropped while servers run, independent of the schema version.

import {
  type IndexName,
  type IndexStates,
  indexedCharacters,
  type OnIndexProgress,
  type PlantIndexes,
} from "../plant-reader.ts";
import type { Database } from "./driver.ts";
import { runImmediateTransaction } from "./immediate-transaction.ts";

interface Index {
  /** Its entries in sqlite_schema: the first alone is an index of an earlier version. */
  readonly entries: readonly string[];
  readonly create: string;
  /** Fills the index after its creation, where that statement does not. */
  readonly fill?: (database: Database, onProgress: OnIndexProgress | undefined) => void;
  /** Makes an index of an earlier version a current one. */
  readonly upgrade?: string;
  readonly drop: string;
}

// Milliseconds since the epoch.
const createdAt = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const arrivals = {
  byId: "CREATE INDEX plant_arrivals_by_id ON plant_arrivals (id)",
  insertTrigger: `CREATE TRIGGER plants_arrive AFTER INSERT ON plants
                  BEGIN INSERT INTO plant_arrivals (id, created_at) VALUES (new.id, ${createdAt}); END`,
  deleteTrigger: `CREATE TRIGGER plants_depart AFTER DELETE ON plants
                  BEGIN DELETE FROM plant_arrivals WHERE id = old.id; END`,
};

const indexes: Readonly<Record<IndexName, Index>> = {
  // The id is the rowid, so plants are stored in the order of ids; a second table stores the order of creation. The trigger
  // fills in the time, and SqlitePlants the token.
  newest: {
    entries: ["plants_arrive", "plants_depart"],
    create: `CREATE TABLE plant_arrivals (
               position   INTEGER PRIMARY KEY,
               id         INTEGER NOT NULL,
               created_at INTEGER,
               token      TEXT
             ) STRICT;
             ${arrivals.byId}; ${arrivals.insertTrigger}; ${arrivals.deleteTrigger}`,
    // Of plants that were deleted, and created again, only the last entry is kept.
    upgrade: `DROP TRIGGER plants_arrive;
              ALTER TABLE plant_arrivals ADD COLUMN created_at INTEGER;
              ALTER TABLE plant_arrivals ADD COLUMN token TEXT;
              ${arrivals.byId};
              DELETE FROM plant_arrivals WHERE id NOT IN (SELECT id FROM plants)
                OR position < (SELECT max(position) FROM plant_arrivals AS later WHERE later.id = plant_arrivals.id);
              ${arrivals.insertTrigger}; ${arrivals.deleteTrigger}`,
    drop: "DROP TRIGGER plants_arrive; DROP TRIGGER IF EXISTS plants_depart; DROP TABLE plant_arrivals",
  },
  name: {
    entries: ["plants_by_name"],
    create: `CREATE INDEX plants_by_name ON plants (substr(name, 1, ${indexedCharacters}))`,
    drop: "DROP INDEX plants_by_name",
  },
  tag: {
    entries: ["plants_by_tag"],
    create: `CREATE INDEX plants_by_tag ON plants (substr(tag, 1, ${indexedCharacters})) WHERE tag IS NOT NULL`,
    drop: "DROP INDEX plants_by_tag",
  },
  // FTS5 without the texts themselves, which it reads from the plants. Its rowids may be any int64, as ids are.
  text: {
    entries: ["plants_text", "plants_text_insert", "plants_text_delete", "plants_text_update"],
    create: `CREATE VIRTUAL TABLE plants_text
               USING fts5(name, tag, content = 'plants', content_rowid = 'id', tokenize = 'trigram');
             CREATE TRIGGER plants_text_insert AFTER INSERT ON plants BEGIN
               INSERT INTO plants_text (rowid, name, tag) VALUES (new.id, new.name, new.tag);
             END;
             CREATE TRIGGER plants_text_delete AFTER DELETE ON plants BEGIN
               INSERT INTO plants_text (plants_text, rowid, name, tag) VALUES ('delete', old.id, old.name, old.tag);
             END;
             CREATE TRIGGER plants_text_update AFTER UPDATE ON plants BEGIN
               INSERT INTO plants_text (plants_text, rowid, name, tag) VALUES ('delete', old.id, old.name, old.tag);
               INSERT INTO plants_text (rowid, name, tag) VALUES (new.id, new.name, new.tag);
             END`,
    fill: fillText,
    drop: `DROP TRIGGER plants_text_insert; DROP TRIGGER plants_text_delete; DROP TRIGGER plants_text_update;
           DROP TABLE plants_text`,
  },
};

/** Plants whose texts are indexed between two reports of progress: some 0.5 seconds. */
const filledPlants = 100_000;

/**
 * Memory in which FTS5 gathers what it indexes before it writes it, while the index is built: with its default of 1 MiB a build
 * takes twice as long, as more and smaller pieces are merged.
 */
const [buildBytes, defaultBytes] = [16 * 2 ** 20, 2 ** 20];

/** What the command 'rebuild' of FTS5 does, which reports no progress. */
function fillText(database: Database, onProgress: OnIndexProgress | undefined): void {
  const setMemory = database.query("INSERT INTO plants_text (plants_text, rank) VALUES ('hashsize', ?)");
  const end = database.query<{ id: bigint | null }, [bigint, number]>(
    "SELECT max(id) AS id FROM (SELECT id FROM plants WHERE id >= ? ORDER BY id LIMIT ?)",
  );
  const insert = database.query(
    "INSERT INTO plants_text (rowid, name, tag) SELECT id, name, tag FROM plants WHERE id BETWEEN ? AND ?",
  );
  const plants = Number(
    database.query<{ plants: bigint }, []>("SELECT count(*) AS plants FROM plants").get()?.plants ?? 0,
  );
  setMemory.run(buildBytes);
  let done = 0;
  for (let from = -(2n ** 63n); ; ) {
    const last = end.get(from, filledPlants)?.id ?? undefined;
    if (last === undefined) break;
    insert.run(from, last);
    done += filledPlants;
    onProgress?.({ share: Math.min(1, done / plants) });
    if (last === 2n ** 63n - 1n) break;
    from = last + 1n;
  }
  setMemory.run(defaultBytes);
}

export class SqliteIndexes implements PlantIndexes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async states(): Promise<IndexStates> {
    return indexStates(this.#database);
  }

  async create(name: IndexName, onProgress?: OnIndexProgress): Promise<void> {
    runImmediateTransaction(this.#database, () => {
      const state = indexStates(this.#database)[name];
      const { create, fill, upgrade } = indexes[name];
      if (state === "none") {
        this.#database.run(create);
        fill?.(this.#database, onProgress);
      } else if (state === "outdated" && upgrade !== undefined) this.#database.run(upgrade);
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
  const existing = new Set(database.query("SELECT name FROM sqlite_schema").values().flat());
  const state = (name: IndexName) => {
    const missing = indexes[name].entries.filter((entry) => !existing.has(entry));
    if (missing.length === 0) return "ready";
    return missing.length === indexes[name].entries.length ? "none" : "outdated";
  };
  return { newest: state("newest"), name: state("name"), tag: state("tag"), text: state("text") };
}

/** Whether the index "newest" exists with its current columns. */
export function recordsCreations(database: Database): boolean {
  return database.query("SELECT 1 FROM sqlite_schema WHERE name = 'plants_depart'").get() !== null;
}
