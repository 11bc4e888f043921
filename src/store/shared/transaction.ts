// Commits what a transaction has read and changed: it is read again, and if all is as it was found, the
// changes are made. No lock is held while the work of a transaction thinks.

import type { Contract } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { type SqlStatement, SqlTimeout } from "../sql-connection.ts";
import { type RecordedEdit, recordedEdits } from "./plant-edit.ts";
import type { SqlWork } from "./sql-work.ts";

/** A statement that was read, and what it found. */
export interface RecordedRead extends SqlStatement {
  /** See digestOf. */
  readonly found: string;
  /** The resource that was read by its id; undefined for a statement that reads others. */
  readonly resource: ResourceKey | undefined;
}

interface ResourceKey {
  readonly table: string;
  readonly id: PlantId;
}

/** All that a transaction depends on, and all that it changes: plain data. */
export interface RecordedTransaction {
  readonly reads: readonly RecordedRead[];
  readonly edits: readonly RecordedEdit[];
}

/** Something is no longer as the transaction has found it: nothing was changed. */
export class TransactionConflict extends Error {}

/**
 * Compares, and makes the edits, in the caller's transaction, which it leaves with TransactionConflict.
 * Returns the statements that end it.
 */
export function* transactionWork(
  contract: Contract,
  { reads, edits }: RecordedTransaction,
): SqlWork<readonly SqlStatement[]> {
  const found = reads.length === 0 ? [] : yield reads;
  if (reads.some((read, index) => digestOf(found[index] ?? []) !== read.found))
    throw new TransactionConflict();
  if (edits.length === 0) return [];
  const { result, last } = yield* recordedEdits(contract, edits);
  if (result.includes("changed")) throw new TransactionConflict();
  return last;
}

/** How long one query of a transaction may take on SQLite, where creates wait while it is repeated. */
export const readMsMax = 200;

/** How long all reads of a transaction may take when they are repeated there. */
const readsMsMax = 400;

/** Runs all of it, see transactionWork, for SQLite. Throws SqlTimeout if the reads take long. */
export function* wholeTransaction(contract: Contract, { reads, edits }: RecordedTransaction): SqlWork<void> {
  const deadline = performance.now() + readsMsMax;
  for (const read of reads) {
    yield* transactionWork(contract, { reads: [read], edits: [] });
    if (performance.now() > deadline) throw new SqlTimeout("a transaction reads too much; read fewer rows");
  }
  const last = yield* transactionWork(contract, { reads: [], edits });
  if (last.length > 0) yield last;
}

/**
 * Identifies rows, in any order: a statement without ORDER BY may find them in another one. Connections
 * differ in the types that they have for integers.
 */
export function digestOf(rows: readonly object[]): string {
  const asText = (_: string, value: unknown) =>
    typeof value === "bigint" || typeof value === "number" ? String(value) : value;
  const texts = rows.map((row) => JSON.stringify(row, asText)).toSorted();
  return Bun.SHA256.hash(JSON.stringify(texts), "base64url");
}

/** Whether a transaction concerns a single resource, so that it is an edit that compares. */
export function isOfOneResource({ reads, edits }: RecordedTransaction): boolean {
  const keys = [
    ...reads.map(({ resource }) => resource && `${resource.table} ${resource.id}`),
    ...edits.map(({ table, edit: { id } }) => `${table} ${id}`),
  ];
  return keys[0] !== undefined && keys.every((key) => key === keys[0]);
}
