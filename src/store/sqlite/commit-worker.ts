// The worker that holds the SQLite file open for writing, so that the network never waits for the disk.

import type { PlantIndexes } from "../plant-reader.ts";
import type { OpenMode } from "../plant-store.ts";
import type { TokenStore } from "../token-store.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import { SqliteStore } from "./store.ts";
import { decodeBatch, encodeOutcomes, notify, serveCalls } from "./worker-rpc.ts";

/** What the worker serves. */
export interface CommitWorker {
  readonly store: {
    open(path: string, mode: OpenMode, signals: SharedArrayBuffer): Promise<void>;
    /** Takes and returns what worker-rpc.ts encodes. */
    create(encodedBatch: string): Promise<string>;
    assertWritable(): Promise<void>;
    close(): Promise<void>;
  };
  readonly tokens: TokenStore;
  readonly indexes: PlantIndexes;
}

/** Why a batch could not be committed: the worker's notification. */
export type Unavailable = string;

let opened: SqliteStore | undefined;

serveCalls<CommitWorker>({
  store: {
    async open(path, mode, signals) {
      const onUnavailable = (reason: Unavailable) => notify(reason);
      opened = new SqliteStore(path, mode, onUnavailable, {
        checkpointThread: new CheckpointSignals(signals),
      });
    },
    create: async (encodedBatch) => encodeOutcomes(await store().create(decodeBatch(encodedBatch))),
    assertWritable: () => store().assertWritable(),
    close: () => store().close(),
  },
  get tokens() {
    return store().tokens;
  },
  get indexes() {
    return store().indexes;
  },
});

function store(): SqliteStore {
  if (opened === undefined) throw new Error("The store was called before it was opened");
  return opened;
}
