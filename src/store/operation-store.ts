// Reads and changes the store for operations other than the create: callers take turns, and lists
// delay nobody.

import { OperatorError } from "../base/operator-error.ts";
import { type Collection, collectionOf } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { StoreNode } from "./group-commit.ts";
import { Groups, Turns } from "./groups.ts";
import { PlantLocked, type PlantStore, PlantTooLarge } from "./plant-store.ts";
import type { ReadConnection } from "./shared/page.ts";
import type { EditOutcome, RecordedEdit } from "./shared/plant-edit.ts";
import { findPlants, type StoredPlant } from "./shared/plant-rows.ts";
import type { RecordedTransaction } from "./shared/transaction.ts";
import type { SqlConnection } from "./sql-connection.ts";

export interface OperationStore {
  /** Makes edits, in a transaction with those of others. */
  edit(edits: readonly RecordedEdit[]): Promise<EditOutcome[]>;
  /**
   * Reads one plant, in a query with others and without waiting for lists. It sees every change
   * that was acknowledged before, because its query starts after the call.
   */
  get(collection: Collection, id: PlantId): Promise<StoredPlant | undefined>;
  /** Reads lists. Never delays creates. */
  readonly read: Pick<ReadConnection, "dialect" | "inTime" | "query" | "page">;
  /** Commits a transaction, see PlantStore.transact. */
  transact(transaction: RecordedTransaction): Promise<EditOutcome>;
  /**
   * Runs work that reads a plant and then edits it. Other changes of this plant by `change` wait
   * for it; those of other plants share its transaction.
   */
  change<Result>(collection: Collection, id: PlantId, work: () => Promise<Result>): Promise<Result>;
}

/** How long a read or an edit of an operation waits for its turn. */
const waitMsMax = 10_000;

/**
 * Limits the memory of a group: with plants of the largest bodies it takes 64 MB to read them. On
 * SQLite it also limits how long the batches of creates wait for edits.
 */
const callsMax = 64;

/** Returns the node that has a plant: what is for one node is in groups of its own. */
export type NodeOf = (collection: Collection, id: PlantId) => StoreNode | undefined;

/**
 * Opens the store for the operations of each caller.
 *
 * @param nodeOf undefined where there is one node.
 * @param single reads single plants; lists get a connection of their own.
 * @param resources closes that connection.
 */
export async function openOperationStore(
  store: PlantStore,
  single: SqlConnection,
  resources: AsyncDisposableStack,
  nodeOf: NodeOf = () => undefined,
): Promise<(callerKey: string) => OperationStore> {
  const sql = resources.use(await store.openSql());
  const lists = new Turns(waitMsMax, sql.callsMax);
  /** The gets of each table, and the edits, of each node. */
  const gets = new Map<string, Groups<PlantId, StoredPlant | undefined>>();
  const edits = new Map<string, Groups<RecordedEdit, EditOutcome>>();
  const transactions = new Turns(waitMsMax, sql.callsMax);
  /** The changes of each plant that is being changed. */
  const changes = new Map<string, { readonly turns: Turns; count: number }>();
  return (caller) => ({
    edit: (some) =>
      Promise.all(
        some.map(async (edit) => {
          const node = nameOfUp(nodeOf(collectionOf(store.contract, edit.table), edit.edit.id));
          const own = found(edits, node, () => new Groups(limits, (each) => editEach(store, each)));
          return own.add(caller, edit);
        }),
      ),
    async get(collection, id) {
      const node = nameOfUp(nodeOf(collection, id));
      const key = `${collection.table} ${node}`;
      const read = async (ids: readonly PlantId[]) => {
        const stored = await findPlants(collection, single, ids);
        return ids.map((each) => stored.get(each));
      };
      return found(gets, key, () => new Groups(limits, read)).add(caller, id);
    },
    read: {
      dialect: sql.dialect,
      inTime: sql.inTime,
      query: (...query: Parameters<SqlConnection["query"]>) =>
        lists.run(caller, () => sql.query(...query)) as Promise<never[]>,
      page: (...page) => lists.run(caller, () => sql.page(...page)),
    },
    transact: (transaction) => transactions.run(caller, () => store.transact(transaction)),
    change({ table }, id, work) {
      const key = `${table} ${id}`;
      const own = changes.get(key) ?? { turns: new Turns(waitMsMax), count: 0 };
      changes.set(key, own);
      own.count++;
      return own.turns.run(caller, work).finally(() => {
        if (--own.count === 0) changes.delete(key);
      });
    },
  });
}

const limits = { callsMax, waitMsMax };

/** Throws an OperatorError if a node does not respond: what is for others must not wait for it. */
function nameOfUp(node: StoreNode | undefined): string {
  if (node?.isUp === false) throw new OperatorError(`${node.name} does not respond`);
  return node?.name ?? "";
}

/** The value of a key, which is made when it is first asked for. */
function found<Value>(values: Map<string, Value>, key: string, make: () => Value): Value {
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}

/** How often an edit of a plant that another program has locked is tried again, and after which pauses. */
const lockedTriesMax = 3;
const lockedPauseMs = 300;

/**
 * Makes edits in one transaction. Those of plants that another program has locked are tried again in
 * the next second, while other groups go on, so that only they fail.
 * If one becomes too large for a row, each is made in a transaction of its own.
 */
async function editEach(
  store: Pick<PlantStore, "edit" | "editFree">,
  edits: readonly RecordedEdit[],
): Promise<(EditOutcome | Promise<EditOutcome>)[]> {
  if (store.editFree === undefined) return await store.edit(edits);
  let outcomes: Awaited<ReturnType<typeof store.editFree>>;
  try {
    outcomes = await store.editFree(edits);
  } catch (error) {
    if (!(error instanceof PlantTooLarge) || edits.length === 1) throw error;
    return edits.map(async (edit) => (await editEach(store, [edit]))[0] as EditOutcome);
  }
  const locked = edits.filter((_, index) => outcomes[index] === undefined);
  const later = locked.length === 0 ? undefined : editLocked(store.editFree.bind(store), locked);
  return edits.map((edit, index) => outcomes[index] ?? outcomeOf(edit, later));
}

async function outcomeOf(
  edit: RecordedEdit,
  later: ReturnType<typeof editLocked> | undefined,
): Promise<EditOutcome> {
  const outcome = (await later)?.get(edit);
  if (outcome === undefined)
    throw new PlantLocked("another transaction holds a lock on what is to be changed; end it, or try again");
  return outcome;
}

async function editLocked(
  editFree: NonNullable<PlantStore["editFree"]>,
  locked: readonly RecordedEdit[],
): Promise<Map<RecordedEdit, EditOutcome>> {
  const made = new Map<RecordedEdit, EditOutcome>();
  for (let tries = 0; tries < lockedTriesMax && made.size < locked.length; tries++) {
    await Bun.sleep(lockedPauseMs);
    const left = locked.filter((edit) => !made.has(edit));
    for (const [index, outcome] of (await editFree(left)).entries())
      if (outcome !== undefined) made.set(left[index] as RecordedEdit, outcome);
  }
  return made;
}
