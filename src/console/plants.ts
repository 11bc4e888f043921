// The console's calls that read plants: a page of a search, one plant, and the export of a search.

import { respond } from "../admin-responses.ts";
import { type NewPlant, toNewPlant } from "../core/contract/plant.ts";
import { errorMessage } from "../core/operator-error.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { exportText } from "../operations/export.ts";
import { formatNames } from "../operations/format.ts";
import type { ConsoleContext } from "./context.ts";
import { parseId } from "./parse-id.ts";
import { type PlantRow, readPlants, versionOf } from "./plant-rows.ts";
import { type Filter, findPlants, parseFilter } from "./plant-search.ts";
import { BadRequestError } from "./responses.ts";

/** Plants of one read: on SQLite its result crosses threads, and a plant may have a MiB. */
const plantsPerRead = 50;

/** Ids of one search of an export. */
const idsPerRead = 500;

/** Longer texts are cut in a list, in UTF-16 code units. */
const listedLength = 300;

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
  const plants = await readPlants(sql, ids.slice(0, count));
  return {
    plants: plants.map((plant) => shortened(versioned(plant))),
    /** The id from which the next page, or the rest of this one, continues. */
    next: (ids.length > count ? ids[count - 1] : next) ?? null,
    compared,
  };
}

/** One plant in full, or null. */
export async function getPlant({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const [plant] = await readPlants(await reader(), [parseId(parameters.get("id") ?? "")]);
  return plant === undefined ? null : versioned(plant);
}

function versioned(plant: PlantRow) {
  return { ...plant, version: versionOf(toNewPlant(plant.id, plant)) };
}

function shortened<Shown extends PlantRow>(plant: Shown): Shown {
  const shown = Object.entries(plant).map(([name, value]) => [
    name,
    typeof value === "string" ? value.slice(0, listedLength) : value,
  ]);
  return Object.fromEntries(shown);
}

/**
 * Downloads the plants of a search, some at a time. Each read is short, so that neither a large
 * store nor a slow download keeps a snapshot, which would keep SQLite from restarting its WAL.
 */
export async function exportPlants({ reader, emit }: ConsoleContext, parameters: URLSearchParams) {
  const format = formatNames.find((one) => one === parameters.get("format"));
  if (format === undefined) throw new BadRequestError("The format must be ndjson or csv.");
  const texts = exportText(readAll(await reader(), parseFilter(parameters)), format);
  const onFailed = (error: unknown) =>
    emit({ kind: "operationFailed", operation: "console export", reason: errorMessage(error) });
  return respond(streamOf(encode(texts), onFailed), 200, {
    "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
    "Content-Disposition": `attachment; filename="plants.${format}"`,
  });
}

/** A stream whose pieces are made when the client has read those before. */
function streamOf(
  pieces: AsyncGenerator<Uint8Array>,
  onFailed: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          onFailed(error);
          throw error;
        }
      },
      cancel: () => void pieces.return(undefined),
    },
    { highWaterMark: 0 },
  );
}

async function* encode(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) if (text !== "") yield encoder.encode(text);
}

async function* readAll(sql: SqlConnection, filter: Filter): AsyncGenerator<NewPlant[]> {
  let after: bigint | undefined;
  do {
    const { ids, next } = await findPlants(sql, filter, {
      after,
      isDescending: false,
      plantsMax: idsPerRead,
    });
    for (let at = 0; at < ids.length; at += plantsPerRead) {
      const plants = await readPlants(sql, ids.slice(at, at + plantsPerRead));
      yield plants.map((plant) => toNewPlant(plant.id, plant));
    }
    after = next;
  } while (after !== undefined);
}
