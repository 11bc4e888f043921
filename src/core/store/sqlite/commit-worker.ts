// The worker that holds the SQLite file open for writing, so that the network never waits for the
// disk.

import type { EditOutcome, EditRun, PlantEdit } from "../plant-edit.ts";
import type { NewEntry, OpenMode, Outcome } from "../plant-store.ts";
import type { TokenStore } from "../token-store.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import { BatchReceiver } from "./shared-batch.ts";
import type { SqlCall } from "./sql-statements.ts";
import { SqliteStore } from "./store.ts";
import { notify, serveCalls } from "./worker-rpc.ts";

/** The methods that the worker serves. */
export interface CommitWorker {
  readonly store: {
    /** @param memory of batches, and of the checkpoint thread's signals. */
    open(path: string, mode: OpenMode, memory: SharedArrayBuffer): Promise<void>;
    /** For a batch that does not fit into the memory, or comes while another one is in it. */
    create(batch: readonly NewEntry[]): Promise<Outcome[]>;
    edit(edits: readonly PlantEdit[], run: EditRun): Promise<EditOutcome[]>;
    runSql(call: SqlCall): Promise<object[]>;
    assertWritable(): Promise<void>;
    close(): Promise<void>;
  };
  readonly tokens: TokenStore;
}

let opened: SqliteStore | undefined;
let isClosed = false;

const calls = serveCalls<CommitWorker>({
  store: {
    async open(path, mode, memory) {
      opened = new SqliteStore(path, mode, notify, { checkpointThread: new CheckpointSignals(memory) });
      void serveBatches(opened, new BatchReceiver(memory));
    },
    create: (batch) => store().create(batch),
    edit: (edits, run) => store().edit(edits, run),
    runSql: (call) => store().runSql(call),
    assertWritable: () => store().assertWritable(),
    async close() {
      await store().close();
      isClosed = true;
    },
  },
  get tokens() {
    return store().tokens;
  },
});

function store(): SqliteStore {
  if (opened === undefined) throw new Error("The store was called before it was opened");
  return opened;
}

/**
 * Commits one batch after the other. Between them it serves calls, for which it returns to the
 * event loop.
 */
async function serveBatches(store: SqliteStore, batches: BatchReceiver): Promise<void> {
  // The response to the call that opened the store comes first.
  await calls.next;
  while (!isClosed) {
    if (batches.wait(calls.count) === "message") await calls.next;
    else await commit(store, batches);
  }
}

async function commit(store: SqliteStore, batches: BatchReceiver): Promise<void> {
  const { batch } = batches;
  try {
    batch.writeOutcomes(await store.create(batch.readBatch()));
  } catch (error) {
    batch.writeFailure(error);
  }
  batches.finish();
}
