// Backup and restore of PostgreSQL are done with its own tools; these commands name them.

import { OperatorError } from "../../operator-error.ts";

/** Rejects with an OperatorError that names the tool. */
export async function backUp(): Promise<never> {
  throw new OperatorError(
    'backup is for SQLite; for PostgreSQL use "pg_dump --format=custom --file=FILE DATABASE", or pg_basebackup for the whole cluster',
    2,
  );
}

/** Rejects with an OperatorError that names the tool. */
export async function restore(): Promise<never> {
  throw new OperatorError(
    'restore is for SQLite; for PostgreSQL use "pg_restore --clean --if-exists --dbname=DATABASE FILE" with a file that pg_dump has written',
    2,
  );
}
