// SQLite as Bun ships it. The one place that imports it.

export { Database, SQLiteError, type Statement } from "bun:sqlite";
