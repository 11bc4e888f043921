// SQLite as Bun ships it. The one place that imports it.

export { Database, SQLiteError } from "bun:sqlite";
