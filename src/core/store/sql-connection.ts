// The interface through which an extra runs its own SQL on a store, while servers create plants.

import { OperatorError } from "../operator-error.ts";

/**
 * - `read`: never delays creates.
 * - `write`: on SQLite each call runs between two batches, which wait for it, so each should take
 *   some milliseconds.
 */
export type SqlAccess = "read" | "write";

/** A value of a parameter. A number must be an integer. */
export type SqlValue = bigint | number | string | boolean | null;

/** A statement whose parameters are $1, $2 and so on, in every dialect. */
export interface SqlStatement {
  readonly sql: string;
  readonly parameters?: readonly SqlValue[];
}

export const sqlMsMaxDefault = 5_000;

/** A call has reached its time limit. A transaction was rolled back. */
export class SqlTimeout extends OperatorError {
  constructor(message = "the store took too long to respond; try again when it is less busy") {
    super(message);
  }
}

/**
 * A connection of its own. Calls run one after the other. They reject with SqlTimeout after their
 * time limit, and otherwise with an OperatorError if the store cannot be used now. Its disposal
 * waits for the call that is running; those that wait for it reject.
 *
 * Integers come as bigint, PostgreSQL's `numeric` as text; SQLite has 0n and 1n for booleans.
 */
export interface SqlConnection extends AsyncDisposable {
  readonly dialect: "sqlite" | "postgres";

  /**
   * A condition that is always true, and the first one on the rows that a statement scans: SQLite
   * can only end a statement where it evaluates it. It takes 0.06 µs a row.
   */
  readonly inTime: string;

  /** Runs one statement, and resolves with its rows. */
  query<Row extends object>(sql: string, parameters?: readonly SqlValue[], msMax?: number): Promise<Row[]>;

  /** Runs a transaction of at most `msMax`; resolves with the rows of its last statement. */
  transaction<Row extends object>(statements: readonly SqlStatement[], msMax?: number): Promise<Row[]>;
}
