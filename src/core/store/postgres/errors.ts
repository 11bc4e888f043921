// Classifies errors of PostgreSQL by SQLSTATE (its manual, appendix A), and words them for
// operators.

import { OperatorError } from "../../operator-error.ts";
import { DatabaseError } from "./driver.ts";

/** No host accepts writes now; the message has the reason of each. */
export class NoPrimary extends Error {
  /** See isRefusal. */
  readonly isRefusal: boolean;

  constructor(message: string, isRefusal = false) {
    super(message);
    this.isRefusal = isRefusal;
  }
}

/** Whether a host has responded, and plants must not be committed on it. */
export function isRefusal(error: unknown): boolean {
  return error instanceof NoPrimary && error.isRefusal;
}

/** A commit is on disk, but its wait for the standby was cancelled. A retry waits again. */
export class UnreplicatedCommit extends Error {
  constructor() {
    super("the wait for the synchronous standby was cancelled");
  }
}

/**
 * - `connectionLost`: the connection or its host cannot be used any more; find the primary, and
 *   retry.
 * - `retryable`: a retry on the same host may succeed.
 * - `rowError`: an error of some row; the other rows may be committed.
 * - `rejected`: any other error that the database reports.
 * - `internalError`: not an error of the database.
 */
export type Failure = "connectionLost" | "retryable" | "rowError" | "rejected" | "internalError";

// Connection exceptions, shutdown, "cannot connect now", read-only transaction (a standby).
const connectionLostStates = /^(?:08...|57P0[1235]|25006)$/;
// Serialization failure and deadlock; CockroachDB's restarts are 40001, its ambiguous commits
// 40003. Too many connections. Lock and statement timeouts.
const retryableStates = /^(?:40001|40P01|40003|53300|55P03|57014)$/;
// Data exceptions, integrity constraints, program limits.
const rowErrorStates = /^(?:22...|23...|54...)$/;
const lockNotAvailable = "55P03";
const undefinedTable = "42P01";
// A prepared statement that does not exist, or exists already.
const nameLostStates = /^(?:26000|42P05)$/;

/** Whether a table does not exist. */
export function isUndefinedTable(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === undefinedTable;
}

/** Whether a statement ended because it waited too long for a lock of another transaction. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === lockNotAvailable;
}

/** Whether prepared statements are not the connection's own: a pooler shares the session. */
export function isNameLost(error: unknown): boolean {
  return error instanceof DatabaseError && nameLostStates.test(error.code ?? "");
}

/** Whether a change of the schema has changed the result of a prepared statement. */
function isPlanOutdated({ code, routine }: DatabaseError): boolean {
  // The state is that of everything unsupported, and the message depends on the server's language.
  return code === "0A000" && routine === "RevalidateCachedQuery";
}

/** Classifies what was thrown, as an `internalError` unless it is of the database or its client. */
export function classifyError(error: unknown): Failure {
  if (error instanceof NoPrimary) return "connectionLost";
  if (error instanceof UnreplicatedCommit) return "retryable";
  if (error instanceof DatabaseError) {
    const state = error.code ?? "";
    if (connectionLostStates.test(state)) return "connectionLost";
    if (retryableStates.test(state) || isNameLost(error) || isPlanOutdated(error)) return "retryable";
    return rowErrorStates.test(state) ? "rowError" : "rejected";
  }
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError)
    return "internalError";
  // All connections of the pool are busy with other batches; the host itself may be fine.
  if (error.message === "timeout exceeded when trying to connect") return "retryable";
  return isConnectionError(error) ? "connectionLost" : "internalError";
}

/** A message in one line: Citus quotes that of another node, which has several. */
export function oneLine(message: string): string {
  return message.trim().replaceAll(/\s*\n\s*/g, " ");
}

/** The reason of an error, for an operator. */
export function errorReason(error: unknown): string {
  if (error instanceof DatabaseError) return `${oneLine(error.message)} (${error.code})`;
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || code || error.name;
}

/** Rejects with an OperatorError if the database is the cause, otherwise with the same error. */
export async function rejectForOperator(error: unknown): Promise<never> {
  if (error instanceof OperatorError || classifyError(error) === "internalError") throw error;
  throw new OperatorError(`the database request failed: ${errorReason(error)}; fix the cause, and try again`);
}

/** The client's own errors are recognised by their messages: few have a class or a code. */
function isConnectionError(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  const messages =
    /connection|timeout|terminated|not queryable|after calling end|SSL|certificate|socket|closed/i;
  return (
    (code !== undefined && /^(?:E[A-Z]+|CERT_|ERR_TLS|ERR_SSL|UNABLE_|SELF_SIGNED|DEPTH_ZERO)/.test(code)) ||
    messages.test(error.message)
  );
}
