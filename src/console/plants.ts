// The console's calls for plants: search by pages, export of a page, one plant, and its edits.

import { ApiError } from "../core/contract/errors.ts";
import { parseInt64 } from "../core/contract/int64.ts";
import {
  type NewPlant,
  newPlantJson,
  parseNewPlantJson,
  plantsEqual,
  toColumns,
} from "../core/contract/plant.ts";
import type { EditOutcome, PlantEdit } from "../core/store/plant-edit.ts";
import {
  type Creation,
  type Cursor,
  type IndexStates,
  indexedCharacters,
  type Order,
  orders,
  type Page,
  type PlantReader,
  type PlantSummary,
} from "../core/store/plant-reader.ts";
import type { RecentCreates } from "./recent-creates.ts";
import { BadRequestError, respondError, respondJson, respondStream } from "./responses.ts";

export interface PlantsDependencies {
  readonly reader: () => Promise<PlantReader>;
  readonly recentCreates: RecentCreates;
  readonly edit: (edit: PlantEdit) => Promise<EditOutcome>;
  /** Called after an edit that was made, with the address of the operator's browser. */
  readonly onEdited: (edit: PlantEdit, client: string) => void;
  /** The limit of a body of the public operation. */
  readonly bodyBytesMax: number;
}

/** A page of plants as the console shows it. */
interface PlantPage {
  readonly plants: readonly PlantSummary[];
  readonly order: Order;
  readonly isDescending: boolean;
  /** `memory`: the last creates of this server only, as the store does not record the order of creation. */
  readonly from: "store" | "memory";
  readonly match: Page["match"];
  /** Encoded cursors. */
  readonly previous: string | undefined;
  readonly next: string | undefined;
  readonly searchedTo: bigint | undefined;
}

/** A list that cursors belong to: an order of the store, or the last creates of this server, which has positions of its own. */
type List = Order | "latest";

interface ListCursor {
  readonly list: List;
  readonly cursor: Omit<Cursor, "order">;
}

type Parameters = ReturnType<typeof parseSearch>;

const plantsPerPage = 50;

/** Memory that an export is counted with: a plant of the largest body, unless that limit is configured. */
const exportedPlantBytes = 2 ** 20;

const noSuchPage = "There is no such page; start again from the first one.";

export class Plants {
  readonly #dependencies: PlantsDependencies;

  constructor(dependencies: PlantsDependencies) {
    this.#dependencies = dependencies;
  }

  async list(parameters: URLSearchParams): Promise<Response> {
    const search = parseSearch(parameters);
    const reader = await this.#dependencies.reader();
    const states = await reader.indexStates();
    const withId = search.at === undefined ? await findPlantWithId(reader, search, states) : undefined;
    const page = withId?.isAlone ? emptyPage : await this.#search(reader, search);
    const { plants, order, isDescending, from, match, previous, next, searchedTo } = page;
    const shown =
      withId === undefined ? plants : [withId.plant, ...plants.filter(({ id }) => id !== withId.plant.id)];
    return respondJson({
      plants: await withCreations(reader, shown),
      order,
      isDescending,
      from,
      match: match ?? null,
      previous: previous ?? null,
      next: next ?? null,
      searchedTo: searchedTo ?? null,
      hasPlantWithId: withId !== undefined,
      unavailableOrders: unavailableOrders(search, states, order),
      recordsCreations: states.newest === "ready",
    });
  }

  /** The plants of a page in full, in the format of `plantstore export` and `plantstore import`. */
  async export(parameters: URLSearchParams): Promise<Response> {
    const reader = await this.#dependencies.reader();
    const { plants } = await this.#search(reader, parseSearch(parameters));
    const lines = async function* () {
      // One at a time, as each may be as large as a body.
      for (const { id } of plants) {
        const plant = await reader.get(id);
        if (plant !== undefined) yield new TextEncoder().encode(`${newPlantJson(plant)}\n`);
      }
    };
    return respondStream(lines(), exportedPlantBytes, {
      "Content-Type": "application/x-ndjson",
      "Content-Disposition": 'attachment; filename="plants.ndjson"',
    });
  }

  /** One plant in full, or null. */
  async get(parameters: URLSearchParams): Promise<Response> {
    const id = parseId(parameters.get("id") ?? "");
    const reader = await this.#dependencies.reader();
    const plant = await reader.get(id);
    if (plant === undefined) return respondJson(null);
    const [shown] = await withCreations(reader, [toColumns(plant)]);
    return respondJson(shown);
  }

  /**
   * Changes a plant, unless it is no longer the expected one. Both are bodies of the public operation, validated as there.
   *
   * @param client the address of the operator's browser.
   */
  change(
    { expected, replacement }: { expected: string; replacement: string },
    client: string,
  ): Promise<Response> {
    const from = parsePlant(expected);
    if (Buffer.byteLength(replacement) > this.#dependencies.bodyBytesMax)
      throw new BadRequestError(
        `The plant is larger than the ${this.#dependencies.bodyBytesMax} bytes that --body-bytes-max allows.`,
      );
    const to = parsePlant(replacement);
    if (from.id !== to.id) throw new BadRequestError("The id of a plant cannot be changed.");
    if (plantsEqual(from, to))
      throw new BadRequestError("Nothing was changed: name and tag are as they were.");
    return this.#edit({ id: from.id, expected: from, replacement: to }, client);
  }

  /** Deletes a plant, unless it is no longer the expected one. */
  delete({ expected }: { expected: string }, client: string): Promise<Response> {
    const plant = parsePlant(expected);
    return this.#edit({ id: plant.id, expected: plant, replacement: undefined }, client);
  }

  async #edit(edit: PlantEdit, client: string): Promise<Response> {
    const outcome = await this.#dependencies.edit(edit);
    if (outcome === "done") {
      this.#dependencies.onEdited(edit, client);
      return respondJson({});
    }
    if (outcome === "missing")
      return respondError(404, `Plant ${edit.id} is not in the store any more. Nothing was saved.`);
    return respondError(409, `Plant ${edit.id} has changed since you opened it. Nothing was saved.`);
  }

  async #search(reader: PlantReader, search: Parameters): Promise<PlantPage> {
    const { text, tag, order, isDescending, at, isBackward } = search;
    // A list from memory continues there, whether or not an index has been built since.
    if (at?.list === "latest") return this.#recentCreates(reader, at.cursor.number);
    const cursor = at && { ...at.cursor, order: at.list };
    const request = { text, tag, order, isDescending, cursor, isBackward, plantsMax: plantsPerPage };
    const result = await reader.search(request);
    if (result !== "noIndex") return toPlantPage(result);
    if (order === "created") {
      if (at?.list === "created") throw new BadRequestError(noSuchPage);
      return this.#recentCreates(reader, undefined);
    }
    const byId = await reader.search({ ...request, order: "id" });
    if (byId === "noIndex") throw new Error("The order of ids needs no index");
    return toPlantPage(byId);
  }

  /** The plant whose id is the text: it comes first, whatever else the text is found in. */
  async #recentCreates(reader: PlantReader, after: bigint | undefined): Promise<PlantPage> {
    const { ids, next, previous } = this.#dependencies.recentCreates.page(after, plantsPerPage);
    const encode = (number: bigint | undefined) =>
      number === undefined ? undefined : encodeCursor({ list: "latest", cursor: { number } });
    return {
      plants: await reader.withIds(ids),
      order: "created",
      isDescending: true,
      from: "memory",
      match: undefined,
      previous: encode(previous),
      next: encode(next),
      searchedTo: undefined,
    };
  }
}

const emptyPage: PlantPage = {
  ...{ plants: [], order: "id", isDescending: true, from: "store", match: undefined },
  ...{ previous: undefined, next: undefined, searchedTo: undefined },
};

function toPlantPage({ previous, next, ...page }: Page): PlantPage {
  const encode = (cursor: Cursor | undefined) => cursor && encodeCursor({ list: cursor.order, cursor });
  return { ...page, from: "store", previous: encode(previous), next: encode(next) };
}

/** The plants with what is recorded of their creation. */
async function withCreations<Shown extends { readonly id: bigint }>(
  reader: PlantReader,
  plants: readonly Shown[],
) {
  const creations = await reader.creations(plants.map(({ id }) => id));
  const byId = new Map(creations.map((creation) => [creation.id, creation]));
  return plants.map((plant) => ({ ...plant, ...shownCreation(byId.get(plant.id)) }));
}

function shownCreation(creation: Creation | undefined) {
  const { createdAt = null, token = null } = creation ?? {};
  return { createdAt: createdAt === null ? null : new Date(createdAt).toISOString(), token };
}

/** Why the plants cannot be sorted by each order, in a sentence; orders that are available are absent. */
function unavailableOrders({ text, tag }: Parameters, states: IndexStates, actual: Order) {
  const isSearch = text !== "" || tag !== undefined;
  const reason = (order: Order): string | undefined => {
    if (isSearch)
      return order === actual
        ? undefined
        : `The results of this search come by ${actual}: its index has them in this order.`;
    if (order === "id") return undefined;
    const index = order === "created" ? "newest" : order;
    const isReady = states[index] === "ready" || (order === "created" && states[index] === "outdated");
    if (isReady) return undefined;
    return order === "created"
      ? 'The order of creation is not recorded. Build the index "newest" to record it from then on.'
      : `Sorting by ${order} needs the index "${index}". Build it below.`;
  };
  return Object.fromEntries(orders.map((order) => [order, reason(order)]));
}

/**
 * The plant whose id is the text of a search, which comes before those that the text is found in. `isAlone`: without an index
 * an id is not worth a scan of all names for its digits.
 */
export async function findPlantWithId(
  reader: PlantReader,
  { text, tag }: Pick<Parameters, "text" | "tag">,
  { text: texts, name }: IndexStates,
): Promise<{ plant: PlantSummary; isAlone: boolean } | undefined> {
  const id = tag === undefined ? parseInt64(text.trim()) : undefined;
  const [plant] = id === undefined ? [] : await reader.withIds([id]);
  return plant && { plant, isAlone: texts !== "ready" && name !== "ready" };
}

/** The search of a request. Throws a BadRequestError. */
export function parseSearch(parameters: URLSearchParams) {
  const order = orders.find((one) => one === (parameters.get("sort") ?? "id"));
  if (order === undefined) throw new BadRequestError("The order must be id, name, tag or created.");
  const direction = parameters.get("direction") ?? "descending";
  if (direction !== "ascending" && direction !== "descending")
    throw new BadRequestError("The direction must be ascending or descending.");
  const text = parameters.get("text") ?? "";
  const tag = parameters.get("tag") ?? undefined;
  if (Array.from(text).length > indexedCharacters)
    throw new BadRequestError(`A search may have at most ${indexedCharacters} characters.`);
  if (!isStorable(text) || !isStorable(tag ?? ""))
    throw new BadRequestError("The search has a character that no name or tag can have.");
  const [after, before] = [parameters.get("after"), parameters.get("before")];
  const cursor = after ?? before;
  return {
    ...{ text, tag, order },
    isDescending: direction === "descending",
    at: cursor === null ? undefined : decodeCursor(cursor),
    isBackward: after === null && before !== null,
  };
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function parseId(text: string): bigint {
  const id = parseInt64(text.trim());
  if (id === undefined) throw new BadRequestError("An id must be a 64-bit integer, such as 42 or -7.");
  return id;
}

/** The plant of a body of the public operation. Throws a BadRequestError with the message of that operation. */
function parsePlant(body: string): NewPlant {
  const plant = parseNewPlantJson(body);
  if (plant instanceof ApiError) throw new BadRequestError(plant.message);
  return plant;
}

/** The list, the number and, in the order of names or tags, the beginning of the name or tag in base64url, joined with dots. */
function encodeCursor({ list, cursor: { number, key } }: ListCursor): string {
  const parts = [list, String(number)];
  if (key !== undefined) parts.push(Buffer.from(key).toString("base64url"));
  return parts.join(".");
}

/** Throws a BadRequestError for a text that `encodeCursor` did not return. */
function decodeCursor(text: string): ListCursor {
  const [, list, digits = "", key] =
    /^(created|latest|id|name|tag)\.(-?\d{1,19})(?:\.([A-Za-z0-9_-]{0,600}))?$/.exec(text) ?? [];
  const number = list === undefined ? undefined : BigInt(digits);
  if (number === undefined || BigInt.asIntN(64, number) !== number) throw new BadRequestError(noSuchPage);
  const cursor = key === undefined ? { number } : { number, key: Buffer.from(key, "base64url").toString() };
  return { list: list as List, cursor };
}
