// Bun's SQLite, imported here and nowhere else.

import { constants } from "bun:sqlite";

export { Database, SQLiteError } from "bun:sqlite";

/** The operation of Database.fileControl that limits a database in memory: sqlite3.h. */
export const sizeLimitOperation = constants.SQLITE_FCNTL_SIZE_LIMIT;

/**
 * Flags of Database. With `openUri` a path that starts with file: is a URI, whose parameters can
 * say that a file is immutable.
 */
export const { SQLITE_OPEN_READONLY: openReadOnly, SQLITE_OPEN_URI: openUri } = constants;

/** How long a statement waits for a lock that another process holds. */
export const lockWaitMs = 2_000;
