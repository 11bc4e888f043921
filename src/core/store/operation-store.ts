// The store for operations other than the create: callers take turns, and lists delay nobody.

import type { PlantId } from "../contract/plant-id.ts";
import { GroupRead, type PlantRow } from "./group-read.ts";
import type { PlantStore } from "./plant-store.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { Turns } from "./turns.ts";

export interface OperationStore extends Pick<PlantStore, "edit"> {
  /** Reads one plant, in a group with others and without waiting for lists. */
  get(id: PlantId): Promise<PlantRow | undefined>;
  /** Reads lists. Never delays creates. */
  readonly read: Pick<SqlConnection, "dialect" | "inTime" | "query">;
  /** Runs work that reads single plants, without waiting for lists, and then edits them. */
  change<Result>(work: (access: ChangeAccess) => Promise<Result>): Promise<Result>;
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
  const [reads, edits] = [new Turns(turnMsMax), new Turns(turnMsMax)];
  const gets = new GroupRead(single, store.collection, turnMsMax);
  return (caller) => ({
    get: (id) => gets.get(caller, id),
    read: {
      dialect: sql.dialect,
      inTime: sql.inTime,
      query: (...query: Parameters<SqlConnection["query"]>) =>
        reads.run(caller, () => sql.query(...query)) as Promise<never[]>,
    },
    // One edit at a time: on SQLite the batches of creates wait for edits that are queued.
    edit: (some, run) => edits.run(caller, () => store.edit(some, run)),
    change: (work) =>
      edits.run(caller, () =>
        work({ get: (id) => gets.get(caller, id), edit: (some, run) => store.edit(some, run) }),
      ),
  });
}
