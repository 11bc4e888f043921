// Classifies errors of PostgreSQL by SQLSTATE (its manual, appendix A), and words them for
// operators.

import { OperatorError } from "../../base/operator-error.ts";
import { DatabaseError } from "./driver.ts";

/**
 * The connection to a host cannot be used any more or cannot be made, or no host accepts writes.
 *
 * @param cause an error of the client library, or the reason.
 */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super(errorReason(cause), { cause });
  }
}

/**
 * An error of the client library as ConnectionLost; errors of the database and of programs stay.
 */
export function withConnectionLost(error: unknown): unknown {
  const isOther =
    error instanceof DatabaseError || error instanceof TypeError || error instanceof ConnectionLost;
  return isOther ? error : new ConnectionLost(error);
}

/**
 * - `connectionLost`: the connection or its host cannot be used any more; find the primary, and
 *   retry.
 * - `retryable`: a retry on the same host may succeed.
 * - `rejected`: any other error that the database reports.
 * - `internalError`: not an error of the database.
 */
export type Failure = "connectionLost" | "retryable" | "rejected" | "internalError";

// Connection exceptions, shutdown, "cannot connect now", time-outs that end a session, read-only
// transaction (a standby).
const connectionLostStates = /^(?:08...|57P0[1235]|25P0[34]|25006)$/;
// Serialization failure and deadlock, too many connections, lock and statement timeouts.
const retryableStates = /^(?:40001|40P01|53300|55P03|57014)$/;
const undefinedTable = "42P01";
const undefinedColumn = "42703";
const lockNotAvailable = "55P03";

/** The pool's error if all of its connections stay busy; the host itself may be fine. */
const allBusyMessage = "timeout exceeded when trying to connect";

export function isUndefinedTable(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === undefinedTable;
}

/** Whether a statement has waited for a lock for as long as it may. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === lockNotAvailable;
}

/** Whether a row, or an entry of its index, is larger than PostgreSQL can store. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof DatabaseError && /^54...$/.test(error.code ?? "");
}

/** Whether one row may have caused an error: data exceptions, constraints, and limits of a row. */
export function isOfRow(error: unknown): boolean {
  return error instanceof DatabaseError && /^(?:22|23|54)...$/.test(error.code ?? "");
}

/** Whether a serialisable transaction has met another one: no serial order has both. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && /^(?:40001|40P01|55P03)$/.test(error.code ?? "");
}

/** Classifies what was thrown, as an `internalError` unless it is of the database or its client. */
export function classifyError(error: unknown): Failure {
  if (error instanceof ConnectionLost)
    return error.message === allBusyMessage ? "retryable" : "connectionLost";
  if (!(error instanceof DatabaseError)) return "internalError";
  const state = error.code ?? "";
  if (connectionLostStates.test(state)) return "connectionLost";
  return retryableStates.test(state) ? "retryable" : "rejected";
}

/** The reason of an error, for an operator. */
export function errorReason(error: unknown): string {
  // Citus quotes the message of another node, which has several lines.
  if (error instanceof DatabaseError)
    return `${error.message.trim().replaceAll(/\s*\n\s*/g, " ")} (${error.code})`;
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || code || error.name;
}

/**
 * Whether a table or a column is not there: the contract of the store has changed, or is being changed.
 */
export function isOutdated(error: unknown): boolean {
  return isUndefinedTable(error) || (error instanceof DatabaseError && error.code === undefinedColumn);
}

/** Rejects with an OperatorError if the database is the cause, otherwise with the same error. */
export async function rejectForOperator(error: unknown): Promise<never> {
  if (error instanceof OperatorError || classifyError(error) === "internalError") throw error;
  throw new OperatorError(`the database request failed: ${errorReason(error)}; fix the cause, and try again`);
}
