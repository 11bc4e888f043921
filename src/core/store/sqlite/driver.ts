// Bun's SQLite, imported here and nowhere else.

import { constants } from "bun:sqlite";

export { Database, SQLiteError } from "bun:sqlite";

/** The operation of Database.fileControl that limits a database in memory: sqlite3.h. */
export const sizeLimitOperation = constants.SQLITE_FCNTL_SIZE_LIMIT;

/** How long a statement waits for a lock that another process holds. */
export const lockWaitMs = 2_000;
