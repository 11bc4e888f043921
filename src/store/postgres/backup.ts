// PostgreSQL has its own tools for copies, and they know what a copy of ours could not.

import { OperatorError } from "../../operator-error.ts";

/** Says which tool to use. */
export async function backUp(): Promise<never> {
  throw new OperatorError(
    'backup is for SQLite; for PostgreSQL use "pg_dump --format=custom --file=FILE DATABASE", or pg_basebackup for the whole cluster',
    2,
  );
}

/** Says which tool to use. */
export async function restore(): Promise<never> {
  throw new OperatorError(
    'restore is for SQLite; for PostgreSQL use "pg_restore --clean --if-exists --dbname=DATABASE FILE" with what pg_dump has written',
    2,
  );
}
