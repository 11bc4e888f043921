// The console's calls for plants: search by pages, export of a page, and one plant.

import { parseInt64 } from "../../contract/int64.ts";
import { newPlantJson } from "../../contract/plant.ts";
import {
  type Cursor,
  indexedCharacters,
  type Page,
  type PlantReader,
  type PlantSummary,
  type Search,
} from "../../store/plant-reader.ts";
import type { RecentCreates } from "../../store/recent-creates.ts";
import { BadRequestError, respondJson, respondStream } from "../responses.ts";

export interface PlantsDependencies {
  readonly reader: () => Promise<PlantReader>;
  readonly recentCreates: RecentCreates;
}

/** A page of plants as the console shows it. */
interface PlantPage {
  readonly plants: readonly PlantSummary[];
  readonly order: Page["order"];
  /** `memory`: the last creates of this server only, as the store does not record the order of creation. */
  readonly from: "store" | "memory";
  /** An encoded ListCursor. */
  readonly next: string | undefined;
  readonly searchedDownTo: bigint | undefined;
}

/** A list that cursors belong to: an order of the store, or the last creates of this server, which has positions of its own. */
type List = Page["order"] | "latest";

interface ListCursor {
  readonly list: List;
  readonly cursor: Cursor;
}

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
    const { plants, order, from, next, searchedDownTo } = await this.#search(parameters);
    return respondJson({ plants, order, from, next: next ?? null, searchedDownTo: searchedDownTo ?? null });
  }

  /** The plants of a page in full, in the format of `plantstore export` and `plantstore import`. */
  async export(parameters: URLSearchParams): Promise<Response> {
    const reader = await this.#dependencies.reader();
    const { plants } = await this.#search(parameters);
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
    const plant = await (await this.#dependencies.reader()).get(id);
    return respondJson(plant === undefined ? null : { ...plant, tag: plant.tag ?? null });
  }

  async #search(parameters: URLSearchParams): Promise<PlantPage> {
    const { by, text, after } = parseSearch(parameters);
    const reader = await this.#dependencies.reader();
    if (by === "id" && text !== "") return singlePage(await reader.withIds([parseId(text)]));

    // "Newest first" lists by id if no order of creation is recorded, and its next pages stay in that order.
    const isById = by === "id" || (by === "newest" && after?.list === "id");
    const search = { by: isById ? "id" : by, text, after: after?.cursor, plantsMax: plantsPerPage } as const;
    // A list from memory continues there, whether or not an index has been built since.
    const result = after?.list === "latest" ? "noIndex" : await reader.search(search);
    if (result === "noIndex") {
      if (after?.list === "newest") throw new BadRequestError(noSuchPage);
      return this.#recentCreates(reader, search);
    }
    const isEmpty = result.plants.length === 0 && result.next === undefined;
    if (isEmpty && result.order === "newest" && after === undefined) return this.#highestIds();
    const next = result.next && encodeCursor({ list: result.order, cursor: result.next });
    return { ...result, from: "store", next };
  }

  /** Shown in place of an empty list of the newest plants. */
  #highestIds(): Promise<PlantPage> {
    return this.#search(new URLSearchParams({ by: "id" }));
  }

  async #recentCreates(reader: PlantReader, { after, plantsMax }: Search): Promise<PlantPage> {
    const { ids, next } = this.#dependencies.recentCreates.page(after?.number, plantsMax);
    if (ids.length === 0 && after === undefined) return this.#highestIds();
    return {
      plants: await reader.withIds(ids),
      order: "newest",
      from: "memory",
      next: next === undefined ? undefined : encodeCursor({ list: "latest", cursor: { number: next } }),
      searchedDownTo: undefined,
    };
  }
}

function singlePage(plants: readonly PlantSummary[]): PlantPage {
  return { plants, order: "id", from: "store", next: undefined, searchedDownTo: undefined };
}

/** The search of a request. Throws a BadRequestError. */
export function parseSearch(parameters: URLSearchParams) {
  const by = (["newest", "id", "name", "tag"] as const).find((one) => one === parameters.get("by"));
  if (by === undefined) throw new BadRequestError("The search must be by newest, id, name or tag.");
  const text = parameters.get("text") ?? "";
  if (by === "name" && Array.from(text).length > indexedCharacters)
    throw new BadRequestError(`A search by name may have at most ${indexedCharacters} characters.`);
  if (!text.isWellFormed() || text.includes("\0"))
    throw new BadRequestError("The search has a character that no name or tag can have.");
  const after = parameters.get("after");
  return { by, text, after: after === null ? undefined : decodeCursor(after) };
}

function parseId(text: string): bigint {
  const id = parseInt64(text.trim());
  if (id === undefined) throw new BadRequestError("An id must be a 64-bit integer, such as 42 or -7.");
  return id;
}

/** The list, the number and, in the order of names, the name's prefix in base64url, joined with dots. */
function encodeCursor({ list, cursor: { number, key } }: ListCursor): string {
  const parts = [list, String(number)];
  if (key !== undefined) parts.push(Buffer.from(key).toString("base64url"));
  return parts.join(".");
}

/** Throws a BadRequestError for a text that `encodeCursor` did not return. */
function decodeCursor(text: string): ListCursor {
  const [, list, digits = "", key] =
    /^(newest|latest|id|name)\.(-?\d{1,19})(?:\.([A-Za-z0-9_-]{0,600}))?$/.exec(text) ?? [];
  const number = list === undefined ? undefined : BigInt(digits);
  if (number === undefined || BigInt.asIntN(64, number) !== number) throw new BadRequestError(noSuchPage);
  const cursor = key === undefined ? { number } : { number, key: Buffer.from(key, "base64url").toString() };
  return { list: list as List, cursor };
}
