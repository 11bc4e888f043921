// Whether a copy of a store is whole.

import { OperatorError } from "../../operator-error.ts";
import type { StoreSize } from "../plant-store.ts";
import { Database, SQLiteError } from "./driver.ts";
import { countPlants } from "./export.ts";
import { bytesOnDisk } from "./files.ts";
import { schemaVersion } from "./migrations.ts";

/**
 * Reads all of a copy that nobody else has open, and makes one file of it, without a write-ahead log. Throws an
 * OperatorError unless it is a whole store of this program's, or of an earlier version.
 *
 * @param name What the operator calls it.
 */
export function verifyCopy(path: string, name: string): StoreSize {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, create: false, strict: true, safeIntegers: true });
    const version = schemaVersion(database, name);
    if (version === 0) throw new OperatorError(`${name} holds no plant store`);
    database.run("PRAGMA journal_mode = DELETE");
    const [[verdict] = []] = database.query("PRAGMA integrity_check(1)").values();
    if (verdict !== "ok")
      throw new OperatorError(`${name} is damaged: ${String(verdict).replace(/\s+/g, " ")}`);
    return { plants: countPlants(database, {}), bytes: bytesOnDisk(path), schemaVersion: version };
  } catch (error) {
    if (error instanceof SQLiteError) throw new OperatorError(`${name} is no whole store: ${error.message}`);
    throw error;
  } finally {
    database?.close();
  }
}
