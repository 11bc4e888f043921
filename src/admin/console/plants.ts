// The plants of the store, as the console shows them: lists page by page, one whole plant, and the real create.

import { parseInt64 } from "../../contract/int64.ts";
import { newPlantJson } from "../../contract/plant.ts";
import {
  indexedCharacters,
  type Page,
  type PlantReader,
  type PlantSummary,
  type Search,
} from "../../store/plant-reader.ts";
import type { RecentCreates } from "../../store/recent-creates.ts";
import { decodeCursor, encodeCursor, noSuchPage } from "./cursor.ts";
import { BadRequest, json, streamed } from "./responses.ts";

export interface PlantsDependencies {
  readonly reader: () => Promise<PlantReader>;
  readonly latest: RecentCreates;
  /** The public listener's own way of answering POST {base}/plants. */
  readonly create: (headers: Headers, body: string) => Promise<Response>;
}

/** A list, and what the page must say of it. */
interface Listed {
  readonly plants: readonly PlantSummary[];
  readonly order: Page["order"];
  /** `memory`: this server's latest creates alone, as the store keeps no order of creation. */
  readonly from: "store" | "memory";
  readonly next: string | undefined;
  readonly searchedDownTo: bigint | undefined;
}

const plantsPerPage = 50;

/** Memory that an export is counted with: a plant of the largest body, unless that is configured. */
const exportedBytes = 2 ** 20;

export class Plants {
  readonly #needs: PlantsDependencies;

  constructor(needs: PlantsDependencies) {
    this.#needs = needs;
  }

  async list(parameters: URLSearchParams): Promise<Response> {
    const { plants, order, from, next, searchedDownTo } = await this.#listed(parameters);
    return json({ plants, order, from, next: next ?? null, searchedDownTo: searchedDownTo ?? null });
  }

  /** The same plants, whole, as `plantstore export` prints them and `plantstore import` takes them. */
  async export(parameters: URLSearchParams): Promise<Response> {
    const reader = await this.#needs.reader();
    const { plants } = await this.#listed(parameters);
    const lines = async function* () {
      // One at a time: each may be as large as a body.
      for (const { id } of plants) {
        const plant = await reader.get(id);
        if (plant !== undefined) yield new TextEncoder().encode(`${newPlantJson(plant)}\n`);
      }
    };
    return streamed(lines(), exportedBytes, {
      "Content-Type": "application/x-ndjson",
      "Content-Disposition": 'attachment; filename="plants.ndjson"',
    });
  }

  async one(parameters: URLSearchParams): Promise<Response> {
    const id = readId(parameters.get("id") ?? "");
    const plant = await (await this.#needs.reader()).get(id);
    return json(plant === undefined ? null : { ...plant, tag: plant.tag ?? null });
  }

  /** Sends a body through the real operation, and gives its answer as it is. */
  async create({ token, body }: { token: string; body: string }): Promise<Response> {
    if (!/^[\x21-\x7e]*$/.test(token))
      throw new BadRequest("No client can send such a token; paste it anew.");
    const headers = new Headers({ "Content-Type": "application/json" });
    if (token !== "") headers.set("Authorization", `Bearer ${token}`);
    const created = await this.#needs.create(headers, body);
    const requestId = created.headers.get("x-request-id");
    return json({ status: created.status, requestId, answer: await created.json() });
  }

  async #listed(parameters: URLSearchParams): Promise<Listed> {
    const { by, text, after } = readSearch(parameters);
    const reader = await this.#needs.reader();
    if (by === "id" && text !== "") return onePage(await reader.withIds([readId(text)]));

    // A page of another order was begun: newest first goes on by id where nothing newer is known.
    const isById = by === "id" || (by === "newest" && after?.list === "id");
    const search = { by: isById ? "id" : by, text, after: after?.place, plantsMax: plantsPerPage } as const;
    // What began in memory goes on there, whether an index was made meanwhile or not.
    const found = after?.list === "latest" ? "noIndex" : await reader.search(search);
    if (found === "noIndex") {
      if (after?.list === "newest") throw new BadRequest(noSuchPage);
      return this.#latest(reader, search);
    }
    const isEmpty = found.plants.length === 0 && found.next === undefined;
    if (isEmpty && found.order === "newest" && after === undefined) return this.#highestIds();
    const next = found.next && encodeCursor(found.order, found.next);
    return { ...found, from: "store", next };
  }

  /** In place of newest first where nothing is known of that yet, so that there is something to see. */
  #highestIds(): Promise<Listed> {
    return this.#listed(new URLSearchParams({ by: "id" }));
  }

  /** The newest of this server. */
  async #latest(reader: PlantReader, { after, plantsMax }: Search): Promise<Listed> {
    const { ids, next } = this.#needs.latest.page(after?.number, plantsMax);
    if (ids.length === 0 && after === undefined) return this.#highestIds();
    return {
      plants: await reader.withIds(ids),
      order: "newest",
      from: "memory",
      next: next === undefined ? undefined : encodeCursor("latest", { number: next }),
      searchedDownTo: undefined,
    };
  }
}

function onePage(plants: readonly PlantSummary[]): Listed {
  return { plants, order: "id", from: "store", next: undefined, searchedDownTo: undefined };
}

function readSearch(parameters: URLSearchParams) {
  const by = (["newest", "id", "name", "tag"] as const).find((one) => one === parameters.get("by"));
  if (by === undefined) throw new BadRequest("The search must be by newest, id, name or tag.");
  const text = parameters.get("text") ?? "";
  if (by === "name" && Array.from(text).length > indexedCharacters)
    throw new BadRequest(`The beginning of a name may have ${indexedCharacters} characters; leave some out.`);
  if (!text.isWellFormed() || text.includes("\0")) throw new BadRequest("No plant holds such a character.");
  const after = parameters.get("after");
  return { by, text, after: after === null ? undefined : decodeCursor(after) };
}

function readId(text: string): bigint {
  const id = parseInt64(text.trim());
  if (id === undefined) throw new BadRequest("An id is an integer of 64 bits, such as 42 or -7.");
  return id;
}
