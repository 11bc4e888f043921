// Finds the schema of a store that is opened, and brings it to the newest version and to a contract,
// with the SQL of every engine.

import { OperatorError } from "../../base/operator-error.ts";
import type { Contract, ContractCompiler, ContractSource } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { keepsKeys, keyColumn } from "../shared/create-key.ts";
import { type ListIndex, listIndexes } from "../shared/list-indexes.ts";
import { query, type SqlWork } from "../shared/sql-work.ts";
import type { SqlStatement } from "../sql-connection.ts";
import {
  type ContractChange,
  compareContracts,
  countSql,
  isSameSource,
  type MigrationReport,
  newStore,
  type Renames,
  reportChange,
  sameContract,
} from "./contract-change.ts";
import { NotUpToDate } from "./not-up-to-date.ts";
import { Scan } from "./scan.ts";
import {
  changeStatements,
  type Engine,
  fillStatements,
  literal,
  migrationStatements,
  newestVersion,
  storedIndexes,
  storedTables,
} from "./schema.ts";
import { markerOf, renamedJson, type StoredTables, withStoredNames } from "./stored-names.ts";

/** The contract that a store was opened with last, as it is stored. */
export interface StoredContract {
  /** How many contracts the store has had. */
  readonly number: number;
  readonly text: string;
  readonly json: string | null;
  /** See stored-names.ts. */
  readonly renamed: string;
}

/** A store before it is opened. */
export interface FoundStore {
  /** 0 if there is none yet; then it has neither contract nor tables. */
  readonly version: number;
  readonly number: number;
  readonly source: ContractSource | undefined;
  readonly renamed: string | null;
  readonly tables: StoredTables;
}

export const noStore: FoundStore = {
  version: 0,
  number: 0,
  source: undefined,
  renamed: null,
  tables: new Map(),
};

/** A store whose version is not 0. */
export function* foundStore(
  engine: Engine,
  version: number,
  { number, text, json, renamed }: StoredContract,
): SqlWork<FoundStore> {
  const source = { text, json: json ?? undefined };
  return { version, number: Number(number), source, renamed, tables: yield* storedTables(engine) };
}

/** Throws an OperatorError if a newer program has written a store. */
export function assertKnownVersion(version: number, store: string): void {
  if (version > newestVersion)
    throw new OperatorError(
      `${store} has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
    );
}

/** The error of a store that is not up to date, and may not be migrated. */
export function notUpToDate(store: string, version: number, wanted?: ContractSource): NotUpToDate {
  if (version === 0)
    return new NotUpToDate(`there is no plant store in ${store}; run "plantstore migrate" first`);
  return new NotUpToDate(
    wanted === undefined
      ? `${store} is not up to date; run "plantstore migrate" first`
      : `${store} has another contract; run "plantstore migrate" with this --contract first`,
  );
}

/** The state that a store is brought to. */
export interface Migration extends Pick<ContractChoice, "dropFields"> {
  readonly contract: Contract;
  readonly change: ContractChange;
  /** Checks that what is stored fits the contract. */
  readonly scan: Scan;
}

/** The creation of a store. */
export function newMigration(engine: Engine, contract: Contract): Migration {
  const change = newStore(contract);
  return { contract, change, scan: new Scan(engine, change) };
}

/** Undefined if nothing was done, as the store has another contract than the change is from. */
export type MigrationResult = MigrationReport | undefined;

/** How an engine finds and migrates a store that is being opened. */
interface OpeningStore {
  readonly engine: Engine;
  /** How messages call it. */
  readonly name: string;
  readonly mayMigrate: boolean;
  readonly find: () => FoundStore | Promise<FoundStore>;
  /** Runs work in a transaction, for which it may wait. */
  readonly transaction: <Result>(
    work: () => SqlWork<Result>,
    mode?: "read" | "write",
  ) => Result | Promise<Result>;
  /** Runs upgradeWork in one transaction. */
  readonly migrate: (migration: Migration) => MigrationResult | Promise<MigrationResult>;
  /**
   * Deletes what was dropped from the files, also what a migration that was killed has left. Resolves
   * with a sentence about what stays there.
   */
  readonly erase: (change: ContractChange, onProgress: OnProgress) => Promise<readonly string[]>;
  /** Makes an index, while creates go on as far as the engine can, in place of one that is not complete. */
  readonly makeIndex: (index: ListIndex) => Promise<void>;
}

/** Called with the rows of a task that are done, and how many there are. */
export type OnProgress = (done: number, rows: number) => void;

/** The contract to open a store with: its own by default. */
export interface ContractChoice {
  readonly compiler: ContractCompiler;
  readonly contract?: ContractSource | undefined;
  /**
   * The fields, and paths of collections, that the contract may drop although plants have values of
   * them. They are deleted. Without it, what is being deleted may stay for the next migration.
   */
  readonly dropFields?: readonly string[] | undefined;
  readonly renames?: Renames | undefined;
  /** Called once the store was created or migrated, with sentences about what is left to do. */
  readonly onMigrated?: ((report: MigrationReport, notes: readonly string[]) => void) | undefined;
  readonly onProgress?: OnProgress | undefined;
  /** Called before an index is made, with a sentence. */
  readonly onIndex?: ((sentence: string) => void) | undefined;
  /**
   * Called before the store is created or migrated, with the contract that is wanted, if any, and
   * again if another process comes first. If it rejects, the store stays as it is. Only servers
   * call it.
   */
  readonly beforeMigration?: ((wanted: Contract | undefined) => Promise<void>) | undefined;
}

/**
 * Chooses the contract of a store, and, if it may, brings its schema to the newest version and to
 * that contract, once if several processes start. Rejects with an OperatorError.
 */
export async function openContract(store: OpeningStore, choice: ContractChoice): Promise<Contract> {
  const { name, mayMigrate, find, migrate, erase } = store;
  const { compiler, contract: wanted, dropFields, renames, beforeMigration, onMigrated } = choice;
  const onProgress = choice.onProgress ?? (() => undefined);
  for (;;) {
    const found = await find();
    const { contract, change } = await chooseContract(found, wanted, compiler, renames);
    if (isUpToDate(found, contract)) {
      if (mayMigrate && dropFields !== undefined) await erase(change, onProgress);
      if (mayMigrate) await makeIndexes(store, contract, choice.onIndex);
      return contract;
    }
    if (!mayMigrate) throw notUpToDate(name, found.version, wanted);
    await beforeMigration?.(wanted && contract);
    const scan = await prepared(store, change, dropFields, onProgress);
    const report = await migrate({ contract, change, dropFields, scan });
    // Another process may have changed the contract meanwhile.
    if (report === undefined) continue;
    const notes = report.dropped.length > 0 ? await erase(change, onProgress) : [];
    onMigrated?.(report, notes);
    // Found again, with the number and the names that the store has given it.
    const migrated = await find();
    if (!isSameSource(migrated.source, contract.source)) continue;
    const taken = withStoredNames(contract, migrated);
    await makeIndexes(store, taken, choice.onIndex);
    return taken;
  }
}

/** Makes the indexes of lists that a store lacks, also after a migration that was killed. */
async function makeIndexes(
  { engine, transaction, makeIndex }: OpeningStore,
  { collections }: Contract,
  onIndex: ContractChoice["onIndex"],
): Promise<void> {
  const wanted = listIndexes(collections, engine);
  if (wanted.length === 0) return;
  const { complete } = await transaction(() => storedIndexes(engine), "read");
  for (const index of wanted.filter(({ name }) => !complete.includes(name))) {
    onIndex?.(`making the index of ${index.collection.path} by "${index.member}"`);
    await makeIndex(index);
  }
}

/**
 * The contract to open a store with, with the names that the store has for it: the one that is wanted,
 * or else its own. Rejects with an OperatorError if the store cannot take it over.
 */
async function chooseContract(
  found: FoundStore,
  wanted: ContractSource | undefined,
  compiler: ContractCompiler,
  renames: Renames | undefined,
): Promise<{ readonly contract: Contract; readonly change: ContractChange }> {
  const { source: own } = found;
  const chosen = wanted ?? own;
  const json = chosen?.json ?? (wanted === undefined || wanted.text === own?.text ? own?.json : undefined);
  const contract = withStoredNames(await compiler(chosen && { ...chosen, json }), found);
  if (own === undefined) return { contract, change: newStore(contract) };
  if (isSameSource(own, contract.source)) return { contract, change: sameContract(contract) };
  const stored = withStoredNames(await compiler(own), found);
  const change = compareContracts(stored, contract, renames);
  return { contract: change.contract, change };
}

/**
 * The contract that a store has now, for a server that knows an earlier one. Rejects with an
 * OperatorError if this program cannot read it.
 */
export async function foundContract(found: FoundStore, compiler: ContractCompiler): Promise<Contract> {
  return withStoredNames(await compiler(found.source), found);
}

/** Whether a store has the newest version, this contract, and a column for each of its fields. */
function isUpToDate({ version, source, tables }: FoundStore, contract: Contract): boolean {
  return (
    version === newestVersion &&
    isSameSource(source, contract.source) &&
    contract.collections.every((collection) => {
      const columns = tables.get(collection.table)?.columns;
      return (
        columns !== undefined &&
        collection.fields.every(({ columnName }) => columns.has(columnName)) &&
        (!keepsKeys(collection) || columns.has(keyColumn))
      );
    })
  );
}

/** Rows of a transaction between which creates go on, so that the write-ahead log stays short. */
const partRowsMax = 2_000;

/**
 * Does what takes long before the contract is switched: reads what is stored, if it may not fit, and
 * gives plants the defaults that are required. Rejects with an OperatorError if a plant does not fit,
 * or would lose values.
 */
async function prepared(
  { engine, transaction }: OpeningStore,
  change: ContractChange,
  dropFields: readonly string[] | undefined,
  onProgress: OnProgress,
): Promise<Scan> {
  const scan = new Scan(engine, change);
  if (change.from === undefined) return scan;
  // Counting takes long, and must not keep creates waiting.
  await transaction(() => reportWork(change, dropFields), "read");
  if (scan.isNeeded) {
    const rows = await transaction(() => scan.count(), "read");
    await transaction(() => scan.begin());
    try {
      await scan.readAll(transaction, (done) => onProgress(done, rows));
    } catch (error) {
      await transaction(() => scan.end());
      throw error;
    }
  }
  for (const { stored, fields } of change.kept)
    for (const [before, after] of fields)
      await inParts(transaction, stored.table, (where) =>
        fillStatements(before, after, stored.table, engine, { column: before.column, where }),
      );
  return scan;
}

/**
 * Runs statements on all rows of a table, in transactions of some of them.
 *
 * @param write takes a further condition, and returns none if there is nothing to do.
 */
export async function inParts(
  transaction: OpeningStore["transaction"],
  table: string,
  write: (where: string) => readonly string[],
  onPart: (rows: number) => void = () => undefined,
): Promise<void> {
  if (write("").length === 0) return;
  for (let after: PlantId | undefined; ; ) {
    const part = await transaction(function* () {
      const from = after === undefined ? "" : ` WHERE id > ${idLiteral(after)}`;
      const [row] = yield* query<{ last: PlantId | null; rows: bigint | string }>(
        `SELECT max(id) AS last, count(*) AS rows
         FROM (SELECT id FROM "${table}"${from} ORDER BY id LIMIT ${partRowsMax}) AS part`,
      );
      if (row?.last == null) return undefined;
      const range = `${after === undefined ? "" : ` AND id > ${idLiteral(after)}`} AND id <= ${idLiteral(row.last)}`;
      yield write(range).map((sql) => ({ sql }));
      return { last: row.last, rows: Number(row.rows) };
    });
    if (part === undefined) return;
    after = part.last;
    onPart(part.rows);
  }
}

/** PostgreSQL's client returns an int8 as decimal digits, which a bigint compares with, too. */
function idLiteral(id: PlantId): string {
  return typeof id === "bigint" ? String(id) : literal(id, "sqlite");
}

/** Counts what a change drops, and reports the change. Throws an OperatorError as reportChange does. */
function* reportWork(
  change: ContractChange,
  dropFields: readonly string[] | undefined,
): SqlWork<MigrationReport> {
  const counted = yield change.dropped.map((part) => ({ sql: countSql(part) }));
  const counts = counted.map(([row]) => Number((row as { readonly plants: bigint | string }).plants));
  return reportChange(change, counts, dropFields);
}

/**
 * Upgrades a store to the newest version and to a contract, in the caller's transaction.
 *
 * @param found the store in this transaction.
 * @param keep writes the newest version and the contract.
 */
export function* upgradeWork(
  engine: Engine,
  { version, number, source }: FoundStore,
  { contract, change, dropFields, scan }: Migration,
  keep: (contract: StoredContract) => readonly SqlStatement[],
): SqlWork<MigrationResult> {
  if (source === undefined ? change.from !== undefined : !isSameSource(change.from, source)) return undefined;
  yield migrationStatements(version, engine).map((sql) => ({ sql }));
  yield* scan.finish();
  const report = yield* reportWork(change, dropFields);
  const wanted = new Set(listIndexes(contract.collections, engine).map(({ name }) => name));
  const { complete, others } = yield* storedIndexes(engine);
  const unwanted = [...complete, ...others].filter((name) => !wanted.has(name));
  yield unwanted.map((name) => ({ sql: `DROP INDEX "${name}"` }));
  const names = { marker: markerOf(number + 1), newName };
  const statements = changeStatements(change, engine, yield* storedTables(engine), names);
  yield statements.map((sql) => ({ sql }));
  const { text, json = null } = contract.source;
  yield keep({ number: number + 1, text, json, renamed: renamedJson(contract) });
  return report;
}

/** The start of the names of what SQLite still has of what was dropped. */
export const droppedPrefix = "x_dropped_";

function newName(): string {
  return droppedPrefix + Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
}
