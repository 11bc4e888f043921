// Reads and changes the store for operations other than the create: callers take turns, and lists
// delay nobody.

import { OperatorError } from "../base/operator-error.ts";
import { unlessAborted } from "../base/time-limit.ts";
import { type Collection, collectionOf, representationOf } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { StoreNode } from "./group-commit.ts";
import { type GroupLimits, Groups, type RunGroup, Turns } from "./groups.ts";
import { type IsGone, ListReads } from "./list-reads.ts";
import { PlantLocked, type PlantStore } from "./plant-store.ts";
import type { FoundPlant } from "./shared/found-plants.ts";
import type { ListQuery } from "./shared/list-scan.ts";
import type { Page, PageQuery, PlantReads, ReadConnection } from "./shared/page.ts";
import type { EditOutcome, RecordedEdit } from "./shared/plant-edit.ts";
import { byId, type StoredPlant } from "./shared/plant-rows.ts";
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
  /** Reads one plant as `get` does, as the response of a GET has it, with its URL where that has it. */
  find(collection: Collection, id: PlantId, url: string): Promise<FoundPlant | undefined>;
  /** Reads lists. Never delays creates. */
  readonly read: Pick<SqlConnection, "dialect" | "inTime" | "query"> & {
    page(query: PageQuery): Promise<Page>;
    total(query: ListQuery): Promise<number | undefined>;
  };
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
 * Limits the memory of groups: with plants of the largest bodies it takes 64 MB to read them. On
 * SQLite it also limits how long the batches of creates wait for edits.
 */
const editLimits = { callsMax: 64, waitMsMax };
/** While one group is read, the next one arrives, and the responses to the one before are sent. */
const readLimits = { callsMax: 32, groupsMax: 2, waitMsMax };

/** Returns the node that has a plant: what is for one node is in groups of its own. */
export type NodeOf = (collection: Collection, id: PlantId) => StoreNode | undefined;

/** The node of a store that is no cluster. */
const onlyNode: StoreNode = { name: "", isUp: true };

/** How often an edit of a plant that another program has locked is tried again, and after which pauses. */
const lockedTriesMax = 3;
const lockedPauseMs = 300;

/**
 * Opens the store for the operations of each caller.
 *
 * @param nodeOf undefined where there is one node.
 * @param single reads single plants; lists get a connection of their own.
 * @param resources closes that connection.
 * @returns makes the store of a caller; `isGone` says whether he still waits for a list.
 */
export async function openOperationStore(
  store: PlantStore,
  single: PlantReads,
  resources: AsyncDisposableStack,
  nodeOf: NodeOf = () => undefined,
): Promise<(callerKey: string, isGone?: IsGone) => OperationStore> {
  const sql = resources.use(await store.openSql());
  const nodes = new WeakMap<StoreNode, NodeGroups>();
  const shared: Shared = {
    store,
    lists: new ListReads(store, sql, resources, waitMsMax),
    sql,
    transactions: new Turns(waitMsMax, sql.callsMax),
    groupsOf(collection, id) {
      const node = nodeOf(collection, id) ?? onlyNode;
      let groups = nodes.get(node);
      if (groups === undefined) {
        groups = new NodeGroups(node, store, single);
        nodes.set(node, groups);
      }
      return groups;
    },
    changes: new Map(),
  };
  return (caller, isGone) => new CallerStore(shared, caller, isGone);
}

/** Parts that the stores of all callers use. */
interface Shared {
  readonly store: PlantStore;
  readonly sql: ReadConnection;
  readonly lists: ListReads;
  readonly transactions: Turns;
  readonly groupsOf: (collection: Collection, id: PlantId) => NodeGroups;
  /** The changes of each plant that is being changed. */
  readonly changes: Map<string, PlantChanges>;
}

/** Each request has one: its methods are made once. */
class CallerStore implements OperationStore {
  readonly #shared: Shared;
  readonly #caller: string;
  readonly #isGone: IsGone | undefined;

  constructor(shared: Shared, caller: string, isGone: IsGone | undefined) {
    this.#shared = shared;
    this.#caller = caller;
    this.#isGone = isGone;
  }

  async edit(edits: readonly RecordedEdit[]): Promise<EditOutcome[]> {
    const [first] = edits;
    return edits.length === 1 && first !== undefined
      ? [await this.#editOne(first)]
      : Promise.all(edits.map((edit) => this.#editOne(edit)));
  }

  /** An edit of a plant that another program has locked is tried again, in groups of its own. */
  async #editOne(edit: RecordedEdit): Promise<EditOutcome> {
    const { store, groupsOf } = this.#shared;
    for (let tries = 0; ; tries++) {
      const { edits, locked } = groupsOf(collectionOf(store.contract, edit.table), edit.edit.id);
      try {
        return await (tries === 0 ? edits : locked).add(this.#caller, edit);
      } catch (error) {
        if (!(error instanceof PlantLocked) || tries === lockedTriesMax) throw error;
        await Bun.sleep(lockedPauseMs);
      }
    }
  }

  get(collection: Collection, id: PlantId): Promise<StoredPlant | undefined> {
    return this.#shared.groupsOf(collection, id).getsOf(collection).add(this.#caller, id);
  }

  find(collection: Collection, id: PlantId, url: string): Promise<FoundPlant | undefined> {
    return this.#shared.groupsOf(collection, id).findsOf(collection).add(this.#caller, { id, url });
  }

  get read(): OperationStore["read"] {
    const { sql, lists } = this.#shared;
    const [caller, isGone] = [this.#caller, this.#isGone];
    return {
      dialect: sql.dialect,
      inTime: sql.inTime,
      query: (...query: Parameters<SqlConnection["query"]>) =>
        lists.query(caller, ...query) as Promise<never[]>,
      page: (query) => lists.page(caller, query, isGone),
      total: (query) => lists.total(caller, query),
    };
  }

  transact(transaction: RecordedTransaction): Promise<EditOutcome> {
    const { transactions, store } = this.#shared;
    return transactions.run(this.#caller, () => store.transact(transaction));
  }

  change<Result>({ table }: Collection, id: PlantId, work: () => Promise<Result>): Promise<Result> {
    const { changes } = this.#shared;
    const key = `${table} ${id}`;
    let own = changes.get(key);
    if (own === undefined) {
      own = new PlantChanges(() => changes.delete(key));
      changes.set(key, own);
    }
    return own.run(this.#caller, work);
  }
}

interface Find {
  readonly id: PlantId;
  readonly url: string;
}

/** The changes of one plant, one after the other. Most are alone, and need no turns. */
class PlantChanges {
  readonly #onEnd: () => void;
  #count = 0;
  #first: { readonly caller: string; readonly running: Promise<unknown> } | undefined;
  #turns: Turns | undefined;

  /** @param onEnd called when none is left. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  run<Result>(caller: string, work: () => Promise<Result>): Promise<Result> {
    let running: Promise<Result>;
    if (this.#count++ === 0) {
      running = Promise.try(work);
      this.#first = { caller, running };
    } else running = this.#turnsAfterFirst().run(caller, work);
    return running.finally(() => {
      if (--this.#count === 0) this.#onEnd();
    });
  }

  #turnsAfterFirst(): Turns {
    if (this.#turns === undefined) {
      this.#turns = new Turns(waitMsMax);
      const { caller, running } = this.#first ?? {};
      // The first turn is that of the change that runs already.
      if (caller !== undefined) void this.#turns.run(caller, async () => running?.catch(() => undefined));
    }
    return this.#turns;
  }
}

/** The calls for the plants of one node. They reject while it is down, and when it goes down. */
class NodeGroups {
  readonly edits: EditGroups;
  /** Edits that are tried again. */
  readonly locked: EditGroups;
  readonly #node: StoreNode;
  readonly #single: PlantReads;
  readonly #gets = new Map<Collection, Groups<PlantId, StoredPlant | undefined>>();
  readonly #finds = new Map<Collection, Groups<Find, FoundPlant | undefined>>();

  constructor(node: StoreNode, store: PlantStore, single: PlantReads) {
    this.#node = node;
    this.#single = single;
    const edit = async (edits: readonly RecordedEdit[]) =>
      store.editEach === undefined ? store.edit(edits) : (await store.editEach(edits)).map(settled);
    this.edits = this.#groups(edit, editLimits);
    this.locked = this.#groups(edit, editLimits);
  }

  getsOf(collection: Collection): Groups<PlantId, StoredPlant | undefined> {
    let gets = this.#gets.get(collection);
    if (gets === undefined) {
      gets = this.#groups(async (ids) => {
        const stored = byId(collection, await this.#single.get(collection.table, ids));
        return ids.map((id) => stored.get(id));
      }, readLimits);
      this.#gets.set(collection, gets);
    }
    return gets;
  }

  findsOf(collection: Collection): Groups<Find, FoundPlant | undefined> {
    let finds = this.#finds.get(collection);
    if (finds === undefined) {
      const hasUrls = representationOf(collection, "get").urlName !== undefined;
      finds = this.#groups(
        (calls) =>
          this.#single.find({
            table: collection.table,
            ids: calls.map(({ id }) => id),
            urls: hasUrls ? calls.map(({ url }) => url) : [],
          }),
        readLimits,
      );
      this.#finds.set(collection, finds);
    }
    return finds;
  }

  #groups<Call, Result>(run: RunGroup<Call, Result>, limits: GroupLimits): Groups<Call, Result> {
    return new Groups(limits, (calls) => {
      const { isUp, name, down } = this.#node;
      if (!isUp) throw new OperatorError(`${name} does not respond`);
      return down === undefined ? run(calls) : unlessAborted(run(calls), down);
    });
  }
}

type EditGroups = Groups<RecordedEdit, EditOutcome>;

function settled(result: EditOutcome | Error): EditOutcome | Promise<EditOutcome> {
  return result instanceof Error ? Promise.reject(result) : result;
}
