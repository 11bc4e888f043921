// The store for operations other than the create: callers take turns, and lists delay nobody.

import type { Collection } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { GroupEdit } from "./group-edit.ts";
import { GroupRead, type PlantRow } from "./group-read.ts";
import type { EditOutcome, PlantEdit, RunPart } from "./plant-edit.ts";
import type { PlantStore } from "./plant-store.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { Turns } from "./turns.ts";

export interface OperationStore {
  /** Makes edits, in a transaction with those of others. */
  edit(edits: readonly PlantEdit[], run: RunPart): Promise<EditOutcome[]>;
  /** Reads one plant, in a group with others and without waiting for lists. */
  get(collection: Collection, id: PlantId): Promise<PlantRow | undefined>;
  /** Reads lists. Never delays creates. */
  readonly read: Pick<SqlConnection, "dialect" | "inTime" | "query">;
  /**
   * Runs work that reads a plant, without waiting for lists, and then edits it. Other changes of
   * this plant by `change` wait for it; those of other plants share its transaction.
   */
  change<Result>(
    collection: Collection,
    id: PlantId,
    work: (access: ChangeAccess) => Promise<Result>,
  ): Promise<Result>;
}

type ChangeAccess = Pick<OperationStore, "get" | "edit">;

/** How long a read or an edit of an operation waits for its turn. */
const turnMsMax = 10_000;

/**
 * Opens the store for the operations of each caller.
 *
 * @param single reads single plants; lists get a connection of their own.
 * @param resources closes that connection.
 */
export async function openOperationStore(
  store: PlantStore,
  single: SqlConnection,
  resources: AsyncDisposableStack,
): Promise<(callerKey: string) => OperationStore> {
  const sql = resources.use(await store.openSql());
  const reads = new Turns(turnMsMax);
  const gets = new Map(
    store.contract.collections.map((each) => [each.table, new GroupRead(single, each, turnMsMax)]),
  );
  const edits = new GroupEdit(store, turnMsMax);
  /** The changes of each plant that is being changed. */
  const changes = new Map<string, { readonly turns: Turns; count: number }>();
  return (caller) => {
    const access: ChangeAccess = {
      get: ({ table }, id) => (gets.get(table) as GroupRead).get(caller, id),
      edit: (some, run) => edits.edit(caller, some, run),
    };
    return {
      ...access,
      read: {
        dialect: sql.dialect,
        inTime: sql.inTime,
        query: (...query: Parameters<SqlConnection["query"]>) =>
          reads.run(caller, () => sql.query(...query)) as Promise<never[]>,
      },
      change({ table }, id, work) {
        const key = `${table} ${id}`;
        const own = changes.get(key) ?? { turns: new Turns(turnMsMax), count: 0 };
        changes.set(key, own);
        own.count++;
        return own.turns
          .run(caller, () => work(access))
          .finally(() => {
            if (--own.count === 0) changes.delete(key);
          });
      },
    };
  };
}
