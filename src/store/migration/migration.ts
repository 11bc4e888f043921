// Finds the schema of a store that is opened, and brings it to the newest version and to a contract,
// with the SQL of every engine.

import { OperatorError } from "../../base/operator-error.ts";
import type { ContractCompiler } from "../../contract/compiler.ts";
import type { Contract, ContractSource } from "../../contract/contract.ts";
import { changeTimeColumn } from "../shared/plant-rows.ts";
import { query, type SqlWork } from "../shared/sql-work.ts";
import type { SqlStatement } from "../sql-connection.ts";
import { parseSchemas, schemasJson } from "./kept-schemas.ts";
import {
  collectionStatements,
  type Engine,
  fieldChecks,
  migrationStatements,
  newestVersion,
  type StoredTables,
  storedTables,
} from "./schema.ts";
import {
  type ContractChange,
  chooseContract,
  countSql,
  isSameSource,
  type MigrationReport,
  reportChange,
} from "./store-contract.ts";

/** The contract that a store was opened with last, as it is stored. */
export interface StoredContract {
  readonly text: string;
  readonly json: string | null;
  /** See kept-schemas.ts. */
  readonly schemas: string;
}

/** A store before it is opened. */
export interface FoundStore {
  /** 0 if there is none yet; then it has neither contract nor tables. */
  readonly version: number;
  readonly source: ContractSource | undefined;
  readonly schemas: string | null;
  readonly tables: StoredTables;
}

export const noStore: FoundStore = { version: 0, source: undefined, schemas: null, tables: new Map() };

/** A store whose version is not 0. */
export function* foundStore(
  engine: Engine,
  version: number,
  { text, json, schemas }: StoredContract,
): SqlWork<FoundStore> {
  return { version, source: { text, json: json ?? undefined }, schemas, tables: yield* storedTables(engine) };
}

/** Throws an OperatorError if a newer program has written a store. */
export function assertKnownVersion(version: number, store: string): void {
  if (version > newestVersion)
    throw new OperatorError(
      `${store} has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
    );
}

/** A store is to be created or migrated first. */
export class NotUpToDate extends OperatorError {}

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

/** What a store is brought to. */
export interface Migration extends Pick<ContractChoice, "dropFields"> {
  readonly contract: Contract;
  readonly change: ContractChange;
}

/** Undefined if nothing was done, as the store has another contract than the change is from. */
export type MigrationResult = MigrationReport | undefined;

/** How an engine finds and migrates a store that is being opened. */
interface OpeningStore {
  /** How messages call it. */
  readonly name: string;
  readonly mayMigrate: boolean;
  readonly find: () => FoundStore | Promise<FoundStore>;
  /** Runs upgradeWork in one transaction. */
  readonly migrate: (migration: Migration) => MigrationResult | Promise<MigrationResult>;
}

/** The contract to open a store with: its own by default. */
export interface ContractChoice {
  readonly compiler: ContractCompiler;
  readonly contract?: ContractSource | undefined;
  /**
   * The fields, and paths of collections, that the contract may drop although plants have values of
   * them.
   */
  readonly dropFields?: readonly string[] | undefined;
  /** Called once the store was created or migrated. */
  readonly onMigrated?: ((report: MigrationReport) => void) | undefined;
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
export async function openContract(
  { name, mayMigrate, find, migrate }: OpeningStore,
  { compiler, contract: wanted, dropFields, beforeMigration, onMigrated }: ContractChoice,
): Promise<Contract> {
  for (;;) {
    const found = await find();
    const { contract, change } = await chooseContract(found.source, found.schemas, wanted, compiler);
    if (isUpToDate(found, contract)) return contract;
    if (!mayMigrate) throw notUpToDate(name, found.version, wanted);
    await beforeMigration?.(wanted && contract);
    const report = await migrate({ contract, change, dropFields });
    // Another process may have changed the contract meanwhile.
    if (report === undefined) continue;
    onMigrated?.(report);
    return contract;
  }
}

/** Whether a store has the newest version, this contract, and a column for each of its fields. */
function isUpToDate({ version, source, tables }: FoundStore, contract: Contract): boolean {
  return (
    version === newestVersion &&
    isSameSource(source, contract.source) &&
    contract.collections.every(({ table, fields, keepsChangeTime }) => {
      const columns = tables.get(table);
      return (
        columns !== undefined &&
        fields.every(({ columnName }) => columns.has(columnName)) &&
        (!keepsChangeTime || columns.has(changeTimeColumn))
      );
    })
  );
}

/**
 * Upgrades a store to the newest version and to a contract, in the caller's transaction.
 *
 * @param found the store in this transaction.
 * @param keep writes the newest version and the contract.
 */
export function* upgradeWork(
  engine: Engine,
  { version, source, schemas }: FoundStore,
  { contract, change, dropFields }: Migration,
  keep: (contract: StoredContract) => readonly SqlStatement[],
): SqlWork<MigrationResult> {
  if (source !== undefined && !isSameSource(change.from, source)) return undefined;
  yield migrationStatements(version, engine).map((sql) => ({ sql }));
  const tables = yield* storedTables(engine);
  const counted = yield change.dropped.map((part) => ({ sql: countSql(part) }));
  const counts = counted.map(([row]) => Number((row as { readonly plants: bigint | string }).plants));
  const report = reportChange(change, counts, dropFields);
  for (const { sql, error } of fieldChecks(change.added, engine, tables))
    if ((yield* query(sql)).length > 0) throw error;
  yield collectionStatements(contract.collections, engine, tables).map((sql) => ({ sql }));
  const { text, json = null } = contract.source;
  yield keep({ text, json, schemas: schemasJson(parseSchemas(schemas), contract.collections) });
  return report;
}
