// Defines how a store is read by SQL: its plants, for operations, and whatever an extra looks for. It never
// delays creates.

import { OperatorError } from "../base/operator-error.ts";

/** A value of a parameter. A number must be an integer. */
export type SqlValue = bigint | number | string | boolean | null;

/** A statement whose parameters are $1, $2 and so on, in every dialect. */
export interface SqlStatement {
  readonly sql: string;
  readonly parameters?: readonly SqlValue[];
  /**
   * Whether PostgreSQL keeps it with its plan: one that finds rows by their keys, or in their order,
   * and comes often.
   */
  readonly isPrepared?: boolean;
}

export const sqlMsMaxDefault = 5_000;

/** A call has reached its time limit. */
export class SqlTimeout extends OperatorError {
  constructor(message = "the store took too long to respond; try again when it is less busy") {
    super(message);
  }
}

/** A statement cannot be run as it is written: the mistake is its author's. */
export class WrongStatement extends OperatorError {
  static of(reason: string, sql: string): WrongStatement {
    return new WrongStatement(`${reason}, in the statement: ${sql.trim().replaceAll(/\s+/g, " ")}`);
  }
}

/**
 * Connections of its own. Calls reject with SqlTimeout after their time limit, with WrongStatement,
 * and otherwise with an OperatorError if the store cannot be used now. Its disposal waits for the calls
 * that are running; those that wait for them reject.
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

  /** Runs one statement that only reads, and resolves with its rows. */
  query<Row extends object>(sql: string, parameters?: readonly SqlValue[], msMax?: number): Promise<Row[]>;
}
