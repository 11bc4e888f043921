// The seam by which a cluster extends the engine, which knows no cluster: open-store.ts joins them.

import type { CommitHook, CreateQueue, GroupCommitLimits, Schedule } from "../group-commit.ts";
import type { PlantStore, StoreEvents } from "../plant-store.ts";
import type { PostgresUrl } from "./connection-url.ts";
import type { Pool, PoolClient } from "./driver.ts";
import type { Primary } from "./primary.ts";

export interface ClusterSupport {
  /** Rejects with an OperatorError if the schema must be changed on another node. */
  assertMayMigrate(connection: PoolClient): Promise<void>;

  /** Gives every node a copy of a new table, if the store is distributed over the cluster. */
  copyTable(connection: PoolClient, table: string): Promise<void>;

  /** Distributes a new table with rows of plants as the plants are, if they are distributed. */
  distributeBesidePlants(connection: PoolClient, table: string): Promise<void>;

  /** Makes one of two concurrent transactions fail that change tokens on different nodes. */
  serializeTokenChange(connection: PoolClient): Promise<void>;

  /** The SQL that measures the tables on all nodes, as `bytes`; undefined without a cluster. */
  bytesSql(pool: Pool): Promise<string | undefined>;

  /**
   * Opens the queues of all nodes; undefined without a cluster. Rejects if it cannot be reached.
   * `batchesInFlightMax` is the cluster's own.
   */
  openQueue(
    store: ClusterStore,
    limits: Omit<GroupCommitLimits, "batchesInFlightMax">,
    schedule: Schedule,
    hook: CommitHook,
  ): Promise<CreateQueue | undefined>;
}

/** The parts of an open store that its cluster uses. */
export interface ClusterStore {
  readonly store: Pick<PlantStore, "create" | "assertWritable">;
  readonly primary: Primary;
  readonly url: PostgresUrl;
  readonly events: ClusterEvents;
}

export type ClusterEvents = Pick<StoreEvents, "onUnavailable" | "onDegraded">;
