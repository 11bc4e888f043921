// Bun's SQLite, imported here and nowhere else.

import { constants } from "bun:sqlite";

export { Database, SQLiteError } from "bun:sqlite";

/** Flags of Database. With `openUri` a path that starts with file: is a URI, whose parameters can say that a file is immutable. */
export const { SQLITE_OPEN_READONLY: openReadOnly, SQLITE_OPEN_URI: openUri } = constants;
