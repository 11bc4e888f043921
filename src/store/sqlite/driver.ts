// SQLite as Bun ships it. The one place that imports it.

import { constants } from "bun:sqlite";

export { Database, SQLiteError } from "bun:sqlite";

/** Flags for Database: without them a path is never read as a file: address, which can say that a file is immutable. */
export const { SQLITE_OPEN_READONLY: openReadOnly, SQLITE_OPEN_URI: openAddress } = constants;
