// What a failure of PostgreSQL means for a batch. SQLSTATEs: PostgreSQL manual, appendix A.

import { OperatorError } from "../../operator-error.ts";
import { DatabaseError } from "./driver.ts";

/** No host takes writes at present; the message says why for each. */
export class NoPrimary extends Error {}

/** A plant was neither inserted nor found: somebody deleted it in between. */
export class ConcurrentlyDeleted extends Error {}

/**
 * - `lost`: the connection or its host is of no use any more; look for the host that takes writes, and try again.
 * - `again`: the same once more may go well.
 * - `alone`: something about the rows; each of them may go well by itself.
 * - `refused`: anything else that the database says.
 * - `fault`: not the database's doing.
 */
export type Failure = "lost" | "again" | "alone" | "refused" | "fault";

// Connection exceptions, administrator's and crash shutdown, "cannot connect now", read-only transaction (a standby).
const lostStates = /^(?:08...|57P0[1235]|25006)$/;
// Serialization failure and deadlock; CockroachDB's restarts are 40001, its unknown commits 40003. Too many connections.
// Time limits of a lock and of a statement.
const againStates = /^(?:40001|40P01|40003|53300|55P03|57014)$/;

const lockNotAvailable = "55P03";

/** Whether a statement was ended because it waited too long for another transaction. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === lockNotAvailable;
}
// Data exceptions, integrity constraints, program limits.
const aloneStates = /^(?:22...|23...|54...)$/;

export function failureOf(error: unknown): Failure {
  if (error instanceof NoPrimary) return "lost";
  if (error instanceof ConcurrentlyDeleted) return "again";
  if (error instanceof DatabaseError) {
    const state = error.code ?? "";
    if (lostStates.test(state)) return "lost";
    if (againStates.test(state)) return "again";
    return aloneStates.test(state) ? "alone" : "refused";
  }
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return "fault";
  // All connections are busy with other batches; the host may be in the best of health.
  if (error.message === "timeout exceeded when trying to connect") return "again";
  return isConnectionError(error) ? "lost" : "fault";
}

/** What an operator should read of a failure. */
export function reasonOf(error: unknown): string {
  if (error instanceof DatabaseError) return `${error.message} (${error.code})`;
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || code || error.name;
}

/** Rejects with what an operator can do something about, where the database is the cause. */
export async function rejectForOperator(error: unknown): Promise<never> {
  if (error instanceof OperatorError || failureOf(error) === "fault") throw error;
  throw new OperatorError(`the database could not do it: ${reasonOf(error)}; see to it, and try again`);
}

/** The client's own errors have no class and no code: its messages are all there is to know them by. */
function isConnectionError(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  const messages =
    /connection|timeout|terminated|not queryable|after calling end|SSL|certificate|socket|closed/i;
  return (
    (code !== undefined && /^(?:E[A-Z]+|CERT_|ERR_TLS|ERR_SSL|UNABLE_|SELF_SIGNED|DEPTH_ZERO)/.test(code)) ||
    messages.test(error.message)
  );
}
