// Commits batches in a worker that has the SQLite file open for writing, so that the network never
// waits for the disk.

import { collectionOf } from "../../contract/contract.ts";
import { receivedContract, type SentContract } from "../../contract/sent-contract.ts";
import type { NewEntry } from "../plant-store.ts";
import { CheckpointSignals } from "./checkpoint-signals.ts";
import { openChosen } from "./chosen-contract.ts";
import { outcomesText, readEdits } from "./sent-edits.ts";
import { BatchMemory, editsAt } from "./shared-batch.ts";
import { SharedText } from "./shared-text.ts";
import { SqliteStore } from "./store.ts";
import { notify, serveCalls } from "./worker-rpc.ts";

/** An entry as a message has it, in which there are no functions. */
interface SentEntry extends Omit<NewEntry, "collection"> {
  readonly table: string;
}

let isClosed = false;

const calls = serveCalls(openStore);

/** @param memory of batches, and of the checkpoint thread's signals. */
export async function openStore(path: string, contract: SentContract, memory: SharedArrayBuffer) {
  const checkpointThread = new CheckpointSignals(memory);
  const store = SqliteStore.use(path, openChosen(path, receivedContract(contract)), notify, checkpointThread);
  const batches = { memory: new BatchMemory(store.contract.collections, memory) };
  void serveMemory(store, batches, new SharedText(memory, editsAt));
  const close = async () => {
    const mayTerminate = await store.close();
    isClosed = true;
    return mayTerminate;
  };
  const served: Pick<SqliteStore, "edit" | "transact" | "forget" | "purge" | "assertWritable"> = store;
  return {
    store: served,
    plants: {
      // For a batch that does not fit into the memory, or comes while another one is in it: the
      // console creates plants beside the group commit.
      create: (batch: readonly SentEntry[], createdAt: number) =>
        store.create(
          batch.map(({ table, ...entry }) => ({ ...entry, collection: collectionOf(store.contract, table) })),
          createdAt,
        ),
    },
    tokens: store.tokens,
    thread: { close },
    contracts: {
      findOther: (number: number | undefined) => store.findOther(number),
      /** No batch may be in the memory. */
      use: async (sent: SentContract) => {
        store.useContract(receivedContract(sent));
        batches.memory = new BatchMemory(store.contract.collections, memory);
      },
    },
  };
}

/**
 * Commits one batch and the edits of one call after the other. Between them it serves one message, for
 * which it returns to the event loop: the next one is often there before this thread looks, and others
 * follow it.
 */
async function serveMemory(
  store: SqliteStore,
  batches: { readonly memory: BatchMemory },
  edits: SharedText,
): Promise<void> {
  // The response to the call that opened the store comes first.
  await calls.next;
  while (!isClosed) {
    if (batches.memory.wait(calls.count, edits) === "message") await calls.next;
    // The message may have exchanged the memory of batches, or closed the store.
    if (!isClosed && edits.isSent)
      edits.respond(await outcomesText(() => store.edit(readEdits(store.contract, edits.read()))));
    if (!isClosed && batches.memory.hasBatch) await commit(store, batches.memory);
  }
}

async function commit(store: SqliteStore, batch: BatchMemory): Promise<void> {
  try {
    batch.writeOutcomes(await store.create(batch.readBatch(), batch.createdAt));
  } catch (error) {
    batch.writeFailure(error);
  }
  batch.finish();
}
