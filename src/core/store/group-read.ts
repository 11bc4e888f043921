// Group read: gets that arrive while a group is being read form the next group, so that one query
// reads for many callers, and a lone one waits for nobody. A get sees every change that was
// acknowledged before it, because its query starts after it has arrived.

import type { Collection, PlantColumns } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { list } from "./sql-work.ts";
import { CallerQueue, TurnTimeout } from "./turns.ts";

/** The columns of the times that responses have. */
export function timeColumns({ keepsChangeTime }: Pick<Collection, "keepsChangeTime">): string[] {
  return keepsChangeTime ? ["created_at", "changed_at"] : ["created_at"];
}

export interface TimeColumns {
  readonly created_at: bigint;
  readonly changed_at?: bigint | null;
}

/** The row of a plant, with its times. */
export type PlantRow = PlantColumns & TimeColumns;

/** Limits the memory of a group: with plants of the largest bodies it takes 64 MB. */
const groupPlantsMax = 64;

interface WaitingGet {
  readonly id: PlantId;
  readonly deadline: number;
  readonly response: PromiseWithResolvers<PlantRow | undefined>;
}

export class GroupRead {
  readonly #sql: Pick<SqlConnection, "query">;
  readonly #waitMsMax: number;
  readonly #select: string;
  readonly #waiting = new CallerQueue<WaitingGet>();
  #isReading = false;

  /** @param waitMsMax how long a get may wait until its group is read. */
  constructor(sql: Pick<SqlConnection, "query">, collection: Collection, waitMsMax: number) {
    this.#sql = sql;
    this.#waitMsMax = waitMsMax;
    const columns = ["id", ...timeColumns(collection), ...collection.fields.map(({ column }) => column)].join(
      ", ",
    );
    this.#select = `SELECT ${columns} FROM "${collection.table}" WHERE id IN `;
  }

  /** Reads one plant. Rejects with TurnTimeout, or as the store does. */
  get(caller: string, id: PlantId): Promise<PlantRow | undefined> {
    const response = Promise.withResolvers<PlantRow | undefined>();
    this.#waiting.push(caller, { id, deadline: performance.now() + this.#waitMsMax, response });
    if (!this.#isReading) void this.#readAll();
    return response.promise;
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    for (let group = this.#nextGroup(); group.length > 0; group = this.#nextGroup()) await this.#read(group);
    this.#isReading = false;
  }

  #nextGroup(): WaitingGet[] {
    const group: WaitingGet[] = [];
    while (group.length < groupPlantsMax) {
      const get = this.#waiting.shift();
      if (get === undefined) break;
      if (performance.now() > get.deadline) get.response.reject(new TurnTimeout("the store is busy"));
      else group.push(get);
    }
    return group;
  }

  async #read(group: readonly WaitingGet[]): Promise<void> {
    try {
      const ids = [...new Set(group.map(({ id }) => id))];
      // Few lengths, so that their statements stay prepared: an id more than once changes nothing.
      while (!Number.isInteger(Math.log2(ids.length))) ids.push(ids[0] as PlantId);
      const rows = await this.#sql.query<PlantRow & { readonly id: PlantId }>(this.#select + list(ids), ids);
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const { id, response } of group) response.resolve(byId.get(id));
    } catch (error) {
      for (const { response } of group) response.reject(error);
    }
  }
}
