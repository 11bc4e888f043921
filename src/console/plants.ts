// The console's calls for plants: search by pages, one plant, and its edits.

import { AdminError } from "../core/admin/request-bodies.ts";
import { ApiError } from "../core/contract/errors.ts";
import { isStorable } from "../core/contract/field-types.ts";
import { fieldNames, groupField } from "../core/contract/fields.ts";
import { parseInt64 } from "../core/contract/int64.ts";
import { type NewPlant, parseNewPlantJson, plantsEqual } from "../core/contract/plant.ts";
import type { PlantEdit } from "../core/store/plant-edit.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import type { ConsoleContext } from "./context.ts";
import type { Edits } from "./edits.ts";
import { orders } from "./orders.ts";
import { parseId } from "./parse-id.ts";
import { type Cursor, listPlants, orderedCharacters } from "./plant-list.ts";
import { findPlant, inFull, type PlantSummary, versionOf } from "./plant-rows.ts";
import type { Filter } from "./plant-search.ts";
import { BadRequestError } from "./responses.ts";

const plantsPerPage = 50;

/** Plants of one read of many: its result crosses threads on SQLite. */
const plantsPerRead = 500;

const noSuchPage = "There is no such page; start again from the first one.";

export async function listPage({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const search = { ...parseSearch(parameters), plantsMax: plantsPerPage };
  const sql = await reader();
  const { previous, next, searchedTo, ...page } = await listPlants(sql, search);
  const plants = [];
  for (const plant of page.plants) plants.push({ ...plant, version: versionOf(await inFull(sql, plant)) });
  return {
    ...page,
    plants,
    previous: previous === undefined ? null : encodeCursor(previous),
    next: next === undefined ? null : encodeCursor(next),
    searchedTo: searchedTo ?? null,
  };
}

/** One plant in full, or null. */
export async function getPlant({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const id = parseId(parameters.get("id") ?? "");
  const plant = await findPlant(await reader(), id);
  if (plant === undefined) return null;
  const { isTruncated: _, ...shown } = plant;
  return shown;
}

/**
 * Changes a plant, unless it is no longer the expected one. Both are bodies of the public operation,
 * validated as there.
 */
export function changePlant(
  { bodyBytesMax }: ConsoleContext,
  edits: Edits,
  { expected, replacement }: { expected: string; replacement: string },
  client: string,
): Promise<void> {
  const from = parsePlant(expected);
  if (Buffer.byteLength(replacement) > bodyBytesMax)
    throw new BadRequestError(
      `The plant is larger than the ${bodyBytesMax} bytes that --body-bytes-max allows.`,
    );
  const to = parsePlant(replacement);
  if (from.id !== to.id) throw new BadRequestError("The id of a plant cannot be changed.");
  if (plantsEqual(from, to))
    throw new BadRequestError(`Nothing was changed: ${fieldNames.join(" and ")} are as they were.`);
  return editPlant(edits, { id: from.id, expected: from, replacement: to }, client);
}

/** Deletes a plant, unless it is no longer the expected one. */
export function deletePlant(edits: Edits, { expected }: { expected: string }, client: string): Promise<void> {
  const plant = parsePlant(expected);
  return editPlant(edits, { id: plant.id, expected: plant, replacement: undefined }, client);
}

async function editPlant(edits: Edits, edit: PlantEdit, client: string): Promise<void> {
  const outcome = await edits.edit(edit, client);
  if (outcome === "done") return;
  if (outcome === "missing")
    throw new AdminError(404, `Plant ${edit.id} is not in the store any more. Nothing was saved.`);
  throw new AdminError(409, `Plant ${edit.id} has changed since you opened it. Nothing was saved.`);
}

/** All plants that the list shows for a search, some at a time. */
export async function* searchPages(
  sql: SqlConnection,
  filter: Filter,
): AsyncGenerator<readonly PlantSummary[]> {
  const search = { ...filter, order: "id", isDescending: false, isBackward: false } as const;
  let cursor: Cursor | undefined;
  do {
    const page = await listPlants(sql, { ...search, cursor, plantsMax: plantsPerRead });
    yield page.plants;
    cursor = page.next;
  } while (cursor !== undefined);
}

/** The search of a request. Throws a BadRequestError. */
export function parseSearch(parameters: URLSearchParams) {
  const order = orders.find((one) => one === (parameters.get("sort") ?? "id"));
  if (order === undefined)
    throw new BadRequestError(`The order must be ${orders.slice(0, -1).join(", ")} or ${orders.at(-1)}.`);
  const direction = parameters.get("direction") ?? "descending";
  if (direction !== "ascending" && direction !== "descending")
    throw new BadRequestError("The direction must be ascending or descending.");
  const [after, before] = [parameters.get("after"), parameters.get("before")];
  const cursor = after ?? before;
  return {
    ...parseFilter(parameters),
    order,
    isDescending: direction === "descending",
    cursor: cursor === null ? undefined : decodeCursor(cursor),
    isBackward: after === null && before !== null,
  };
}

/** The filters of a request, which the page has parsed from what was typed. */
function parseFilter(parameters: URLSearchParams): Filter {
  const words = parameters.getAll("word").filter((word) => word !== "");
  const group = parameters.has("ungrouped") ? null : (parameters.get("group") ?? undefined);
  const creator = parameters.get("token") ?? undefined;
  const texts = [...words, group ?? "", creator ?? ""];
  if (Array.from(words.join("")).length > orderedCharacters)
    throw new BadRequestError(`A search may have at most ${orderedCharacters} characters.`);
  if (!texts.every(isStorable))
    throw new BadRequestError("The search has a character that no plant can have.");
  const [idMin, idMax] = [parameters.get("idMin"), parameters.get("idMax")];
  const [from, end] = [parameters.get("createdFrom"), parameters.get("createdEnd")];
  const created = [Number(from), Number(end)] as const;
  if (!created.every(Number.isSafeInteger)) throw new BadRequestError("A time must be an integer.");
  return {
    words,
    group: groupField === undefined ? undefined : group,
    creator,
    ids: idMin === null || idMax === null ? undefined : [parseId(idMin), parseId(idMax)],
    created: from === null || end === null ? undefined : created,
  };
}

/**
 * The plant of a body of the public operation. Throws a BadRequestError with the message of that
 * operation.
 */
function parsePlant(body: string): NewPlant {
  const plant = parseNewPlantJson(body);
  if (plant instanceof ApiError) throw new BadRequestError(plant.message);
  return plant;
}

/** The order, the id and, unless that is the order, the key in base64url, joined with dots. */
function encodeCursor({ order, id, key }: Cursor): string {
  const parts = [order, String(id)];
  if (key !== undefined) parts.push(Buffer.from(key).toString("base64url"));
  return parts.join(".");
}

/** Throws a BadRequestError for a text that `encodeCursor` did not return. */
function decodeCursor(text: string): Cursor {
  const [, name, digits = "", encoded] =
    /^(\w+)\.(-?\d{1,19})(?:\.([A-Za-z0-9_-]{0,600}))?$/.exec(text) ?? [];
  const order = orders.find((one) => one === name);
  const id = parseInt64(digits);
  if (order === undefined || id === undefined) throw new BadRequestError(noSuchPage);
  if (order === "id") return { order, id };
  const key = Buffer.from(encoded ?? "", "base64url").toString();
  if (!isStorable(key) || (order === "created" && !/^-?\d{1,16}$/.test(key)))
    throw new BadRequestError(noSuchPage);
  return { order, id, key };
}
