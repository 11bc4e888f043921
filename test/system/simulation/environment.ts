// The interface of a simulated environment: the stores of the servers, their faults, and the plants that are durable.

import type { GroupCommit, GroupCommitLimits } from "../../../src/store/group-commit.ts";
import type { PlantStore } from "../../../src/store/plant-store.ts";
import type { TokenStore } from "../../../src/store/token-store.ts";
import type { Random } from "../../support/random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A store as one server process has it, from its start to its end. */
export interface ProcessStore extends Pick<PlantStore, "create" | "batchesInFlightMax"> {
  readonly tokens: TokenStore;
  /** The process is gone from now on: nothing that it began goes on, but for what has left it already. */
  kill(): void;
  close(): Promise<void>;
}

export interface Environment {
  readonly engine: string;
  /** A store for a server that starts. `fail` is called when the engine says that the server cannot go on. */
  start(fail: () => void): ProcessStore;
  /** Begins to go wrong, in the ways that this seed has drawn; each returns after a while by itself. */
  trouble(): void;
  /** Everything works from now on. */
  heal(): void;
  /** How long a batch is tried before it may be given up as unavailable, where nothing but the way to the store is broken. */
  readonly retryMsMax: number;
  /** When the store itself last said no, which needs no second try. */
  readonly lastRefusalAt: number;
  /** What an engine threw that it should have answered. */
  readonly faults: readonly string[];
  /** Whether engines now and then throw instead of giving outcomes, as after an internal error. */
  readonly engineThrows: boolean;
  /** A plant as it is stored in a way that survives whatever comes, as JSON. */
  durablePlant(id: bigint): string | undefined;
  /** All of them. */
  durable(): ReadonlyMap<bigint, string>;
  close(): void;
}

export interface EnvironmentParts {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: (line: string) => void;
  readonly mutation: Mutation;
}

/** What a request needs of the group commit. */
export type Creating = Pick<GroupCommit, "create" | "isFullFor">;

/** A bug that is put in, to see that the simulation finds it. The empty one is none. */
export interface Mutation {
  /** Wraps the engine of each server. */
  readonly store?: (store: ProcessStore, parts: { time: VirtualTime; random: Random }) => ProcessStore;
  /** Instead of what the servers' group commits are bounded by. */
  readonly limits?: Partial<GroupCommitLimits>;
  /** Wraps the group commit of each server. */
  readonly groupCommit?: (groupCommit: GroupCommit, parts: { time: VirtualTime; random: Random }) => Creating;
  /** The SQL that SQLite gets to see. */
  readonly sqliteSql?: (sql: string) => string;
  /** An fsync that failed looks like any other write. */
  readonly hidesFsync?: boolean;
  /** PostgreSQL does not report its standbys. */
  readonly concealsStandbys?: boolean;
  /** PostgreSQL commits as it is configured, whatever a transaction sets. */
  readonly ignoresSettings?: boolean;
  /** A batch is not tried again. */
  readonly dropsRetries?: boolean;
  /** The servers' clock for tokens. */
  readonly clock?: (wallNow: () => number) => () => number;
  /** The token store as the servers see it. */
  readonly tokens?: (tokens: TokenStore) => TokenStore;
}
