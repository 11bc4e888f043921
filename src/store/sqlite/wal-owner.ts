// Keeps a write-ahead log and its database together. SQLite deletes a WAL beside an empty database,
// and replays one beside any other into it, whichever store it is of.

import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { OperatorError } from "../../base/operator-error.ts";
import { isEmpty, resolvedPath } from "./files.ts";

/** The offset of the read and write versions in the header of a database file, each one byte. */
const versionsAt = 18;

/** The version of rollback modes, which a backup has; 2 is that of WAL. */
const rollbackVersion = 1;

/**
 * Throws an OperatorError if the file at a path cannot be the one whose WAL lies beside it: it is
 * missing, empty, or in a rollback mode, such as a backup. Call it before this process opens the
 * file: closing a file loses every POSIX lock on it.
 */
export function assertOwnWal(path: string): void {
  const resolved = resolvedPath(path);
  const wal = `${resolved}-wal`;
  const found = findMismatch(resolved, wal);
  if (found === undefined) return;
  throw new OperatorError(
    `${wal} holds commits of another database: ${found}; put the file back that ${wal} belongs to, or move ${wal} away`,
  );
}

function findMismatch(resolved: string, wal: string): string | undefined {
  try {
    // Looked at first: a process that creates the store writes the database before the WAL.
    if (isEmpty(wal)) return undefined;
    if (!existsSync(resolved)) return `there is no ${resolved}`;
    if (isEmpty(resolved)) return `${resolved} is empty`;
    const isRollback = readVersions(resolved).every((version) => version === rollbackVersion);
    return isRollback ? `${resolved} is a backup, which "plantstore restore" puts in place` : undefined;
  } catch {
    // Opening the file reports why it cannot be read.
    return undefined;
  }
}

function readVersions(path: string): Uint8Array {
  const versions = new Uint8Array(2);
  const descriptor = openSync(path, "r");
  try {
    readSync(descriptor, versions, 0, versions.length, versionsAt);
    return versions;
  } finally {
    closeSync(descriptor);
  }
}
