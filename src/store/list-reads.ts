// Reads lists in the turns of their callers. One that takes long goes on with a connection of its own,
// so that those of others, which are short, do not wait for it.

import { collectionOf } from "../contract/contract.ts";
import { Turns } from "./groups.ts";
import { ListCounts } from "./list-counts.ts";
import type { PlantStore } from "./plant-store.ts";
import { isIndexed } from "./shared/list-indexes.ts";
import type { ListQuery } from "./shared/list-scan.ts";
import { listMsMax, type Page, type PageQuery, type ReadConnection } from "./shared/page.ts";
import { type SqlConnection, SqlTimeout } from "./sql-connection.ts";

/** A list that takes longer goes on elsewhere. */
const quickMs = 20;

/** One turn of a list that takes long. */
const turnMs = 100;

/** Whether nobody waits any more for a result. */
export type IsGone = () => boolean;

export class ListReads {
  readonly #store: PlantStore;
  readonly #sql: ReadConnection;
  readonly #quick: Turns;
  readonly #slow: Turns;
  readonly #counts = new ListCounts();
  #slowSql: Promise<ReadConnection> | undefined;

  /** @param resources closes the connections. */
  constructor(store: PlantStore, sql: ReadConnection, resources: AsyncDisposableStack, waitMsMax: number) {
    this.#store = store;
    this.#sql = sql;
    resources.defer(async () => (await this.#slowSql?.catch(() => undefined))?.[Symbol.asyncDispose]());
    this.#quick = new Turns(waitMsMax, sql.shortCallsMax);
    this.#slow = new Turns(waitMsMax, sql.callsMax);
  }

  query(caller: string, ...query: Parameters<SqlConnection["query"]>): Promise<object[]> {
    return this.#quick.run(caller, () => this.#sql.query(...query));
  }

  /** Reads a page. If its time is up, it has what was found, and says where to go on. */
  async page(caller: string, query: PageQuery, isGone: IsGone | undefined): Promise<Page> {
    const collection = collectionOf(this.#store.contract, query.table);
    const [first] = query.terms;
    const isSortedAtOnce = first !== undefined && !isIndexed(collection, first.key);
    let found = await this.#quick
      .run(caller, () => this.#sql.page(query, quickMs), isGone)
      .catch((error) => unfinished(error, query));
    for (const startedAt = performance.now(); found.rest !== undefined; ) {
      const leftMs = startedAt + listMsMax - performance.now();
      if (leftMs <= 0) break;
      const next = {
        ...query,
        ...found.rest,
        size: query.size - found.count,
        bytesMax: query.bytesMax - Buffer.byteLength(found.json),
      };
      const read = (sql: ReadConnection) =>
        sql.page(next, isSortedAtOnce ? listMsMax : Math.min(turnMs, leftMs));
      const more = await this.#runSlow(caller, read, isGone).catch((error) => unfinished(error, next));
      found = joined(found, more);
      if (isSortedAtOnce) break;
    }
    return found;
  }

  /** The number of plants that fit the conditions, see ListCounts. */
  total(caller: string, { table, conditions }: ListQuery): Promise<number | undefined> {
    const key = keyOf(table, conditions);
    const all = { table, conditions, terms: [], after: undefined, offset: Number.MAX_SAFE_INTEGER };
    return this.#counts.total(key, async (lastMs) => {
      let [total, ms] = [0, lastMs];
      for (let list: ListQuery | undefined = all; list !== undefined; ) {
        const own: ListQuery = list;
        const inSlow = () => this.#runSlow(caller, (sql) => sql.count(own, turnMs));
        const part = await (ms > quickMs
          ? inSlow()
          : this.#quick
              .run(caller, () => this.#sql.count(own, quickMs))
              .catch((error) => (error instanceof SqlTimeout ? inSlow() : Promise.reject(error))));
        total += part.count;
        ms += part.ms;
        list = part.rest && { ...all, ...part.rest };
      }
      return { total, ms: ms - lastMs };
    });
  }

  async #runSlow<Result>(
    caller: string,
    read: (sql: ReadConnection) => Promise<Result>,
    isGone?: IsGone,
  ): Promise<Result> {
    return this.#slow.run(caller, async () => read(await this.#openSlow()), isGone);
  }

  /** Opens the connection, again after a failure. */
  async #openSlow(): Promise<ReadConnection> {
    this.#slowSql ??= this.#store.openSql();
    try {
      return await this.#slowSql;
    } catch (error) {
      this.#slowSql = undefined;
      throw error;
    }
  }
}

/** The key of a count among those that are remembered. */
function keyOf(...list: unknown[]): string {
  return JSON.stringify(list, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
}

/** The page of a statement that was ended: it goes on where that began. */
function unfinished(error: unknown, query: PageQuery): Page {
  if (!(error instanceof SqlTimeout)) throw error;
  const rest = { after: query.after, offset: query.offset };
  return { json: "[]", count: 0, end: undefined, hasMore: true, isFull: false, isCutShort: false, rest };
}

function joined(one: Page, other: Page): Page {
  const parts = [one.json, other.json].map((json) => json.slice(1, -1)).filter((json) => json !== "");
  return {
    ...other,
    json: `[${parts.join(",")}]`,
    count: one.count + other.count,
    end: other.end ?? one.end,
  };
}
