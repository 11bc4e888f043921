// Stores plants on PostgreSQL: commits on the primary of its hosts, several batches at a time.

import { OperatorError } from "../../base/operator-error.ts";
import type { Contract, ContractCompiler } from "../../contract/contract.ts";
import type { CreateQueue, QueueContext, QueueLimits, ServerStore } from "../group-commit.ts";
import { foundContract } from "../migration/migration.ts";
import {
  type NewEntry,
  type OnUnavailable,
  type OpenMode,
  type OpenOptions,
  type Outcome,
  PlantLocked,
  PlantTooLarge,
} from "../plant-store.ts";
import { type ForgottenEdits, forgetWork } from "../shared/forgotten-edits.ts";
import { ContractChanged, type EditOutcome, type RecordedEdit, recordedEdits } from "../shared/plant-edit.ts";
import { SqlTokens, type TokenStore } from "../shared/sql-tokens.ts";
import type { SqlWork } from "../shared/sql-work.ts";
import {
  isOfOneResource,
  type RecordedTransaction,
  TransactionConflict,
  transactionWork,
} from "../shared/transaction.ts";
import { apart, isTableLocked, partLockMs } from "./apart.ts";
import { type PostgresUrl, parsePostgresUrl } from "./connection-url.ts";
import {
  classifyError,
  errorReason,
  isConflict,
  isLockTimeout,
  isOfRow,
  isOutdated,
  isTooLarge,
  rejectForOperator,
} from "./errors.ts";
import type { HostPool, Queries } from "./host-pool.ts";
import { findOther, openSchema, rewriteTable } from "./migrations.ts";
import { createPlants, probe } from "./plants.ts";
import { Primary } from "./primary.ts";
import { PostgresSqlConnection } from "./sql-connection.ts";
import { runWork, toStatement } from "./sql-work.ts";

/** How long the edits of one caller wait for a lock. */
const lockMsMax = 1_000;

/** How long edits of several callers wait for a lock that holds up all of them. */
const groupLockMsMax = 100;

/** The coordinator of a cluster, or the only server. */
export interface Coordinator {
  readonly url: PostgresUrl;
  readonly primary: Primary;
  readonly contract: Contract;
  readonly onUnavailable: OnUnavailable;
}

/** The parts of a store on several nodes, of which PostgreSQL itself has none: see ../citus. */
export interface Cluster {
  /** Opens the queue of creates; undefined where one group commit for the whole store will do. */
  openQueue(
    coordinator: Coordinator,
    limits: QueueLimits,
    context: QueueContext,
  ): Promise<CreateQueue | undefined>;
  /** Whether the plants are on several nodes, which have no snapshot in common. */
  isDistributed(coordinator: Queries): Promise<boolean>;
  /** The size of the plants on nodes besides the coordinator. */
  bytesOnNodes(coordinator: Queries): Promise<number>;
}

export class PostgresStore implements ServerStore {
  readonly engine = "postgres";
  readonly tokens: TokenStore;
  contract: Contract;
  readonly batchesInFlightMax: number;
  readonly #compiler: ContractCompiler;
  readonly #onUnavailable: OnUnavailable;
  readonly #url: PostgresUrl;
  readonly #primary: Primary;
  readonly #edits: Primary;
  readonly #cluster: Cluster;

  private constructor(
    { url, primary, contract, onUnavailable }: Coordinator,
    cluster: Cluster,
    compiler: ContractCompiler,
  ) {
    this.contract = contract;
    this.#compiler = compiler;
    this.batchesInFlightMax = url.connectionsMax;
    this.#onUnavailable = onUnavailable;
    this.#url = url;
    this.#primary = primary;
    this.#cluster = cluster;
    this.#edits = new Primary({ ...url, connectionsMax: 1, isPipelined: true });
    const inTransaction =
      <Result>(work: () => SqlWork<Result>) =>
      (pool: HostPool) =>
        pool.transaction((connection) => runWork(connection, work()));
    this.tokens = new SqlTokens({
      read: (work) => primary.withRetry((pool) => runWork(pool, work())).catch(rejectForOperator),
      change: (work) => primary.withRetry(inTransaction(work)).catch(rejectForOperator),
      record: (work) => primary.once(inTransaction(work)).catch(rejectForOperator),
    });
  }

  /**
   * Opens the store at a URL, see parsePostgresUrl; `create` creates or upgrades the schema.
   * Rejects with an OperatorError.
   */
  static async open(
    address: string,
    mode: OpenMode,
    onUnavailable: OnUnavailable,
    { cluster, ...options }: OpenOptions & { readonly cluster: Cluster },
  ): Promise<PostgresStore> {
    const url = parsePostgresUrl(address);
    const primary = new Primary(url, options);
    try {
      const contract = await openSchema(primary, mode === "create", options);
      return new PostgresStore({ url, primary, contract, onUnavailable }, cluster, options.compiler);
    } catch (error) {
      await primary.close();
      if (error instanceof OperatorError || classifyError(error) === "internalError") throw error;
      throw new OperatorError(
        `cannot open the store: ${errorReason(error)}; check that the database runs and --database is right`,
      );
    }
  }

  openQueue(limits: QueueLimits, context: QueueContext): Promise<CreateQueue | undefined> {
    const coordinator = {
      primary: this.#primary,
      url: this.#url,
      contract: this.contract,
      onUnavailable: this.#onUnavailable,
    };
    return this.#cluster.openQueue(coordinator, limits, context).catch(rejectForOperator);
  }

  async takeOverContract(): Promise<Contract | undefined> {
    // Creates report a database that cannot be reached.
    const found = await this.#primary
      .once((pool) => findOther(pool, this.contract.number))
      .catch((error) => rejectForOperator(error).catch(ignoreOperatorError));
    if (found === undefined) return undefined;
    this.contract = await foundContract(found, this.#compiler);
    return this.contract;
  }

  create(batch: readonly NewEntry[], createdAt = Date.now()): Promise<Outcome[]> {
    return createPlants(this.#primary, batch, createdAt, this.#onUnavailable);
  }

  edit(edits: readonly RecordedEdit[]): Promise<EditOutcome[]> {
    return this.#edit(edits, lockMsMax).catch((error) => this.#rejectEdit(error));
  }

  editEach(edits: readonly RecordedEdit[]): Promise<(EditOutcome | OperatorError)[]> {
    return apart<RecordedEdit, EditOutcome | OperatorError>(
      edits,
      (some, isPart) => this.#edit(some, isPart ? partLockMs : groupLockMsMax),
      (error) => this.#refusal(error),
    ).catch((error) => this.#rejectEdit(error));
  }

  /** @param lockMs see TransactionOptions. */
  #edit(edits: readonly RecordedEdit[], lockMs: number): Promise<EditOutcome[]> {
    const edit = async (connection: Queries) => {
      const { result, last } = await runWork(connection, recordedEdits(this.contract, edits));
      return { result, last: last.map(toStatement) };
    };
    // Not repeated after a lost connection, as the edits may have been made.
    return this.#edits.once((pool) => pool.transactionEndingWith(edit, { isByKey: true, lockMs }));
  }

  async #rejectEdit(error: unknown): Promise<never> {
    throw (
      (await this.#refusal(error)) ??
      (isOutdated(error) ? new ContractChanged() : await rejectForOperator(error))
    );
  }

  /** Why a single edit cannot be made; undefined for the error of any of them. */
  async #refusal(error: unknown): Promise<OperatorError | undefined> {
    if (isTooLarge(error)) return new PlantTooLarge(errorReason(error));
    if (isOfRow(error)) return new OperatorError(`the database refuses it: ${errorReason(error)}`);
    if (!isLockTimeout(error) || (await this.#edits.once(isTableLocked))) return undefined;
    return new PlantLocked("another transaction holds a lock on what is to be changed; end it, or try again");
  }

  async transact(transaction: RecordedTransaction): Promise<EditOutcome> {
    if (await this.#edits.once((pool) => this.#cluster.isDistributed(pool)).catch(rejectForOperator)) {
      if (!isOfOneResource(transaction))
        throw new Error(
          "on Citus a transaction reads and changes one resource, by its id; use PostgreSQL for transactions of several",
        );
      const [outcome = "done"] = transaction.edits.length === 0 ? [] : await this.edit(transaction.edits);
      return outcome;
    }
    const commit = async (connection: Queries) => {
      try {
        const last = await runWork(connection, transactionWork(this.contract, transaction));
        return { result: "done" as const, last: last.map(toStatement) };
      } catch (error) {
        if (!(error instanceof TransactionConflict)) throw error;
        return { result: "changed" as const, last: [{ text: "ROLLBACK" }] };
      }
    };
    return this.#edits
      .once((pool) =>
        pool.transactionEndingWith(commit, { mode: "ISOLATION LEVEL SERIALIZABLE", lockMs: lockMsMax }),
      )
      .catch((error) => (isConflict(error) ? "changed" : this.#rejectEdit(error)));
  }

  forget(edits: ForgottenEdits): Promise<number> {
    return this.#edits
      .once((pool) => pool.transaction((connection) => runWork(connection, forgetWork(edits))))
      .catch(rejectForOperator);
  }

  purge(): Promise<readonly string[]> {
    return rewriteTable(this.#primary, "edits").catch(rejectForOperator);
  }

  assertWritable(): Promise<void> {
    return this.#primary.once((pool) => probe(pool, this.contract));
  }

  bytesOnDisk(): Promise<number> {
    const bytesOf = async (pool: Queries) => {
      const { rows } = await pool.query<{ bytes: string }>(bytesSql);
      return Number(rows[0]?.bytes) + (await this.#cluster.bytesOnNodes(pool));
    };
    return this.#primary.once(bytesOf).catch(rejectForOperator);
  }

  async openSql(): Promise<PostgresSqlConnection> {
    return new PostgresSqlConnection(this.#url, this.contract);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#primary.close(), this.#edits.close()]);
  }
}

function ignoreOperatorError(error: unknown): undefined {
  if (!(error instanceof OperatorError)) throw error;
}

/** The tables with their indexes; the WAL belongs to the cluster, and is not counted. */
const bytesSql = `SELECT sum(pg_total_relation_size(to_regclass(quote_ident(name)))) AS bytes
  FROM (SELECT name FROM collections UNION VALUES ('tokens'), ('creators'), ('edits')) AS tables`;
