// The names of the files next to a database.

/**
 * All suffixes of SQLite's own files: the WAL, its shared index, and the rollback journal of other
 * modes.
 */
export const sidecarSuffixes = ["-wal", "-shm", "-journal"];

/** The suffix of the failure marker, a file next to a store whose disk has failed. */
export const failureMarkerSuffix = "-disk-failed";

/**
 * The suffix that makes a name that of a file next to a store, so that no database may have it;
 * undefined otherwise.
 */
export function reservedSuffix(path: string): string | undefined {
  return [...sidecarSuffixes, failureMarkerSuffix].find((suffix) => path.endsWith(suffix));
}
