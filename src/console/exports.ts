// The console's export: downloads all plants or those of a search, page by page of the list.
// Each page is a short read, so that neither a large store nor a slow download keeps a snapshot,
// which would keep SQLite from restarting its WAL.

import { countCodeUnits } from "../core/contract/fields.ts";
import type { NewPlant } from "../core/contract/plant.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { exportText } from "../operations/export.ts";
import { formatNames } from "../operations/format.ts";
import type { ConsoleContext } from "./context.ts";
import { inFull, type PlantSummary } from "./plant-rows.ts";
import type { Filter } from "./plant-search.ts";
import { parseSearch, searchPages } from "./plants.ts";
import { BadRequestError, respondDownload } from "./responses.ts";

/**
 * Memory that an export is counted with: a page, or a plant of the largest body, unless that limit
 * is configured.
 */
const exportedBytes = 2 ** 20;

/** UTF-16 code units of plants that are read before they are sent. */
const chunkCodeUnitsMax = 2 ** 18;

export async function exportPlants({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const format = formatNames.find((one) => one === parameters.get("format"));
  if (format === undefined) throw new BadRequestError("The format must be ndjson or csv.");
  const plants = readPlants(await reader(), parseSearch(parameters));
  const texts = exportText(plants, format, ",");
  return respondDownload(encode(texts), exportedBytes, {
    "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
    "Content-Disposition": `attachment; filename="plants.${format}"`,
  });
}

async function* encode(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) if (text !== "") yield encoder.encode(text);
}

/** All plants of a search in full, some at a time, those that the list of the console shows. */
async function* readPlants(sql: SqlConnection, filter: Filter): AsyncGenerator<NewPlant[]> {
  for await (const page of searchPages(sql, filter)) yield* allInFull(sql, page);
}

async function* allInFull(
  sql: SqlConnection,
  summaries: readonly PlantSummary[],
): AsyncGenerator<NewPlant[]> {
  let plants: NewPlant[] = [];
  let codeUnits = 0;
  for (const summary of summaries) {
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
