// Runs the console's calls that read plants: a page of a search, one plant, and the export of a
// search.

import { BadRequestError, respond } from "../../admin-pages/admin-responses.ts";
import { errorMessage } from "../../base/operator-error.ts";
import type { Collection } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { creatorNames } from "../../plants/stored-plants.ts";
import { findPlants, type StoredPlant } from "../../store/shared/plant-rows.ts";
import type { SqlConnection } from "../../store/sql-connection.ts";
import { exportText } from "../../transfer/export.ts";
import { formatNames } from "../../transfer/format-names.ts";
import type { ConsoleContext } from "../console-context.ts";
import { parseChoice, parseId } from "../parameters.ts";
import { type Filter, parseFilter, searchPlants } from "../reads/plant-search.ts";
import { listedLength, toShown } from "./shown-plant.ts";

/** Plants of one page: on SQLite a result crosses threads, and a plant may have a MiB. */
const plantsPerRead = 50;

/** Ids of one search of an export, and bytes of the plants of one read. */
const idsPerRead = 2_048;
const bytesPerRead = 2 ** 20;

/**
 * A page of a search, from the highest id down. It is short where the search has reached its time
 * limit.
 */
export async function listPlants(
  { collection, reader }: Pick<ConsoleContext, "collection" | "reader">,
  parameters: URLSearchParams,
) {
  const filter = parseFilter(collection, parameters);
  const after = parameters.get("after");
  const count = Number(parameters.get("count"));
  if (!(Number.isInteger(count) && count >= 1 && count <= plantsPerRead))
    throw new BadRequestError(`count must be from 1 to ${plantsPerRead}.`);
  const sql = await reader();
  const { ids, next, compared } = await searchPlants(collection, sql, filter, {
    after: after === null ? undefined : parseId(collection, after),
    isDescending: true,
    // One more tells whether there is a next page.
    plantsMax: count + 1,
  });
  const plants = await readPlants(collection, sql, ids.slice(0, count));
  const names = await creatorNames(sql, plants);
  return {
    plants: plants.map((plant) => toShown(collection, plant, names, listedLength)),
    /** The id from which the next page, or the rest of this one, continues. */
    next: (ids.length > count ? ids[count - 1] : next) ?? null,
    compared,
  };
}

/** One plant in full, or null. */
export async function getPlant(
  { collection, reader }: Pick<ConsoleContext, "collection" | "reader">,
  parameters: URLSearchParams,
) {
  const sql = await reader();
  const [plant] = await readPlants(collection, sql, [parseId(collection, parameters.get("id") ?? "")]);
  return plant === undefined ? null : toShown(collection, plant, await creatorNames(sql, [plant]));
}

/** The stored plants with these ids, in the order of the ids. */
async function readPlants(
  collection: Collection,
  sql: SqlConnection,
  ids: readonly PlantId[],
): Promise<StoredPlant[]> {
  const stored = await findPlants(collection, sql, ids);
  return ids.flatMap((id) => stored.get(id) ?? []);
}

/**
 * Downloads the plants of a search, some at a time. Each read is short, so that neither a large
 * store nor a slow download keeps a snapshot, which would keep SQLite from restarting its WAL.
 */
export async function exportPlants(
  { collection, reader, emit }: ConsoleContext,
  parameters: URLSearchParams,
) {
  const format = parseChoice(parameters, "format", formatNames);
  const found = readAll(collection, await reader(), parseFilter(collection, parameters));
  async function* texts() {
    try {
      yield* exportText(collection, found, format);
    } catch (error) {
      // It ends a response that has already begun.
      emit({ kind: "operationFailed", operation: "console export", reason: errorMessage(error) });
      throw error;
    }
  }
  return respond(texts(), 200, {
    "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
    "Content-Disposition": `attachment; filename="${fileNameOf(collection)}.${format}"`,
  });
}

/** A name for a file, such as "plants". */
function fileNameOf({ words }: Collection): string {
  return words.many.replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "") || "export";
}

async function* readAll(
  collection: Collection,
  sql: SqlConnection,
  filter: Filter,
): AsyncGenerator<StoredPlant[]> {
  let after: PlantId | undefined;
  do {
    const { ids, bytes, next } = await searchPlants(collection, sql, filter, {
      after,
      isDescending: false,
      plantsMax: idsPerRead,
    });
    for (let start = 0, end = 0; start < ids.length; start = end) {
      for (let sum = 0; end < ids.length && (end === start || sum < bytesPerRead); end++)
        sum += bytes[end] ?? 0;
      yield await readPlants(collection, sql, ids.slice(start, end));
    }
    after = next;
  } while (after !== undefined);
}
