// Reads a page whose JSON PostgreSQL writes, so that the server gets one text in place of rows.

import { type Contract, collectionOf } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { bytesSql, type Page, type PageQuery, pageWork, scannedPage, type Traits } from "../shared/page.ts";
import { listedJsonSql } from "../shared/plant-json.ts";
import type { SqlWork } from "../shared/sql-work.ts";

/**
 * The bytes of a plant of such a page: PostgreSQL may write 1,000 of them for nothing, where their
 * texts are too long for a page together.
 */
const plantBytesMax = 16_384;

interface WrittenPage {
  /** Null if the texts of its plants are too long. */
  readonly json: string | null;
  /** The plants of the page, and one more if there is one. */
  readonly count: bigint;
  readonly last: PlantId | null;
}

/** See ReadConnection.page. */
export function* writtenPageWork(
  contract: Contract,
  traits: Traits,
  page: PageQuery,
  ms: number,
): SqlWork<Page> {
  const { table, after, offset, size, bytesMax, conditions, terms } = page;
  const deadline = performance.now() + ms;
  const collection = collectionOf(contract, table);
  const plantJson = listedJsonSql(traits.dialect, collection);
  if (plantJson === undefined || conditions.length + terms.length + offset > 0)
    return yield* pageWork(contract, traits, page, ms);
  const from = after === undefined ? "" : "WHERE id > $1";
  const sql = `SELECT CASE WHEN written = count AND octet_length(json) <= ${bytesMax - 2} THEN json END AS json, count, last
    FROM (SELECT array_to_string((array_agg(json))[:${size}], ',') AS json, count(json) AS written, count(*) AS count,
        (array_agg(id))[least(count(*), ${size})] AS last
      FROM (SELECT id, CASE WHEN ${bytesSql(collection)} <= ${plantBytesMax} THEN ${plantJson} END AS json FROM "${table}" ${from}
        ORDER BY id LIMIT ${size + 1}) AS found) AS page`;
  const parameters = after === undefined ? [] : [after.id];
  const [[found] = []] = yield [{ sql, parameters, isPrepared: true }];
  const { json, count, last } = found as WrittenPage;
  if (json === null && last !== null) return yield* scannedPage(collection, traits, page, deadline);
  const isFull = count > size;
  return {
    json: `[${json ?? ""}]`,
    count: isFull ? size : Number(count),
    end: last === null ? undefined : { values: [], id: last },
    hasMore: isFull,
    isFull,
    isCutShort: false,
    rest: undefined,
  };
}
