// State that the parts of a simulation share: time, randomness, the trace, and the planted bug.

import type { CreateOutcome, GroupCommitLimits, PendingCreate } from "../../../src/store/group-commit.ts";
import type { PlantStore } from "../../../src/store/plant-store.ts";
import type { TokenStore } from "../../../src/store/shared/sql-tokens.ts";
import type { Random } from "../../support/random.ts";
import type { VirtualTime } from "../../support/virtual-time.ts";

/** The store of one server process, from its start to its end. */
export interface ProcessStore extends Pick<PlantStore, "create" | "batchesInFlightMax"> {
  readonly tokens: TokenStore;
  /** The process has ended: nothing that it began continues, except what it has already sent. */
  kill(): void;
}

export interface SimulationParts {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: (line: string) => void;
  readonly mutation: Mutation;
}

export type CreateBatch = ProcessStore["create"];

/** The group commit's create, which a request calls. */
export type CreateOne = (pending: PendingCreate) => Promise<CreateOutcome>;

/** A planted bug, which the simulation must find. The empty one is none. */
export interface Mutation {
  /** Wraps the creates of the engine of each server. */
  readonly createBatch?: (create: CreateBatch, random: Random) => CreateBatch;
  /** Replaces limits of the group commits. */
  readonly limits?: Partial<GroupCommitLimits>;
  /** Wraps the creates of the group commit of each server. */
  readonly createOne?: (create: CreateOne, random: Random) => CreateOne;
  /** Rewrites the SQL that SQLite executes. */
  readonly sqliteSql?: (sql: string) => string;
  /** Reports a failed fsync as another error. */
  readonly hidesFsync?: boolean;
}
