// Classifies errors of SQLite, and words them for operators.

import { statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { OperatorError } from "../../base/operator-error.ts";
import { WrongStatement } from "../sql-connection.ts";
import { isFailedFsync } from "./disk-failure.ts";
import { SQLiteError } from "./driver.ts";
import { resolvedPath } from "./files.ts";

/** The least size of a -shm file, which SQLite creates when it opens a store. */
const sharedMemoryBytes = 32_768;

/** Why a batch was not committed. Throws an fsync that failed, and what no operator can correct. */
export function failureReason(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  if (isFailedFsync(error) || !(error instanceof SQLiteError)) throw error;
  return `${error.message} (${error.code})`;
}

/**
 * Why a file or a folder next to it cannot be used, as an operator sees it: SQLite names neither
 * the disk that is full nor the right that is missing.
 */
export function describeError({ message, code = "" }: SQLiteError, path: string): string {
  const folder = dirname(resolve(resolvedPath(path)));
  if (code === "SQLITE_FULL" || (code.startsWith("SQLITE_IOERR") && isFull(folder)))
    return `the disk of ${folder} is full`;
  if (/^SQLITE_(?:CANTOPEN|READONLY)/.test(code))
    return `this user may not open or write it or its folder ${folder} (${message})`;
  return message;
}

function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < sharedMemoryBytes;
}

/** SQLite's error as an operator sees it; a failed fsync and any other error unchanged. */
export function readError(error: unknown): unknown {
  if (!(error instanceof SQLiteError) || isFailedFsync(error)) return error;
  const advice = /^SQLITE_(?:CORRUPT|NOTADB)/.test(error.code ?? "") ? "; restore a backup" : "";
  return new OperatorError(`the store cannot be used: ${error.message}${advice}`);
}

/** The error of a statement that is wrong, or has too few values; undefined for another. */
export function wrongStatement(error: unknown, sql: string): WrongStatement | undefined {
  if (!(error instanceof Error) || error instanceof OperatorError) return undefined;
  // Bun throws a plain Error for the values of parameters.
  const isOther = error instanceof SQLiteError && !/^SQLITE_(?:ERROR|RANGE|READONLY)$/.test(error.code ?? "");
  return isOther ? undefined : WrongStatement.of(error.message, sql);
}
