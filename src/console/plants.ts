// The console's calls that read plants: a page of a search, one plant, and the export of a search.

import { countCodeUnits } from "../core/contract/fields.ts";
import type { NewPlant } from "../core/contract/plant.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { exportText } from "../operations/export.ts";
import { formatNames } from "../operations/format.ts";
import type { ConsoleContext } from "./context.ts";
import { parseId } from "./parse-id.ts";
import { findPlant, inFull, type PlantSummary, summaries, versionOf } from "./plant-rows.ts";
import { type Filter, findPlants, parseFilter } from "./plant-search.ts";
import { BadRequestError, respondDownload } from "./responses.ts";

/** Plants of one read: on SQLite its result crosses threads. */
const plantsPerRead = 500;

/**
 * Memory that an export is counted with: a page, or a plant of the largest body, unless that limit
 * is configured.
 */
const exportedBytes = 2 ** 20;

/** UTF-16 code units of plants that are read before they are sent. */
const chunkCodeUnitsMax = 2 ** 18;

/** A page of a search, from the highest id down. It is short where the search has reached its time limit. */
export async function listPlants({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const filter = parseFilter(parameters);
  const after = parameters.get("after");
  const count = Number(parameters.get("count"));
  if (!(Number.isInteger(count) && count >= 1 && count <= plantsPerRead))
    throw new BadRequestError(`count must be from 1 to ${plantsPerRead}.`);
  const sql = await reader();
  const { ids, next, compared } = await findPlants(sql, filter, {
    after: after === null ? undefined : parseId(after),
    isDescending: true,
    // One more tells whether there is a next page.
    plantsMax: count + 1,
  });
  const plants = [];
  for (const plant of await summaries(sql, ids.slice(0, count)))
    plants.push({ ...plant, version: versionOf(await inFull(sql, plant)) });
  return {
    plants,
    /** The id from which the next page, or the rest of this one, continues. */
    next: (ids.length > count ? ids[count - 1] : next) ?? null,
    compared,
  };
}

/** One plant in full, or null. */
export async function getPlant({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const id = parseId(parameters.get("id") ?? "");
  const sql = await reader();
  const plant = await findPlant(sql, id);
  if (plant === undefined) return null;
  const { isTruncated: _, ...shown } = plant;
  return { ...shown, version: versionOf(await inFull(sql, plant)) };
}

/**
 * Downloads the plants of a search, some at a time. Each read is short, so that neither a large
 * store nor a slow download keeps a snapshot, which would keep SQLite from restarting its WAL.
 */
export async function exportPlants({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const format = formatNames.find((one) => one === parameters.get("format"));
  if (format === undefined) throw new BadRequestError("The format must be ndjson or csv.");
  const texts = exportText(readPlants(await reader(), parseFilter(parameters)), format);
  return respondDownload(encode(texts), exportedBytes, {
    "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
    "Content-Disposition": `attachment; filename="plants.${format}"`,
  });
}

async function* encode(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) if (text !== "") yield encoder.encode(text);
}

async function* readPlants(sql: SqlConnection, filter: Filter): AsyncGenerator<NewPlant[]> {
  let after: bigint | undefined;
  do {
    const { ids, next } = await findPlants(sql, filter, {
      after,
      isDescending: false,
      plantsMax: plantsPerRead,
    });
    yield* allInFull(sql, await summaries(sql, ids));
    after = next;
  } while (after !== undefined);
}

async function* allInFull(sql: SqlConnection, found: readonly PlantSummary[]): AsyncGenerator<NewPlant[]> {
  let plants: NewPlant[] = [];
  let codeUnits = 0;
  for (const summary of found) {
    const plant = await inFull(sql, summary);
    if (plant === undefined) continue;
    plants.push(plant);
    codeUnits += countCodeUnits(plant);
    if (codeUnits < chunkCodeUnitsMax) continue;
    yield plants;
    plants = [];
    codeUnits = 0;
  }
  if (plants.length > 0) yield plants;
}
