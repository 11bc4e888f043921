// The plants in memory, and the queries of the console's search on them.

import { type NewPlant, optionalFields, plantsEqual, textFields, toColumns } from "../../contract/plant.ts";
import type { EditOutcome, PlantEdit } from "../plant-edit.ts";
import { type CountedPart, indexedCharacters, type PlantSummary, previewLength } from "../plant-reader.ts";
import {
  type IdRange,
  type PlantAtCursor,
  type PlantQueries,
  type SearchFilter,
  toCountedPart,
} from "../plant-search.ts";
import { compareWithStored, type ExportFilter, type Outcome } from "../plant-store.ts";

export class Plants implements PlantQueries {
  readonly findsTextInOrder = true;
  readonly #plants = new Map<bigint, NewPlant>();
  /** All plants ordered by id; undefined after a change. */
  #ordered: readonly NewPlant[] | undefined;

  create(plant: NewPlant): Outcome {
    const stored = this.#plants.get(plant.id);
    if (stored !== undefined) return compareWithStored(stored, plant);
    this.#plants.set(plant.id, plant);
    this.#ordered = undefined;
    return "created";
  }

  edit({ id, expected, replacement }: PlantEdit): EditOutcome {
    const stored = this.#plants.get(id);
    if (stored === undefined) return "missing";
    if (!plantsEqual(stored, expected)) return "changed";
    if (replacement === undefined) this.#plants.delete(id);
    else this.#plants.set(id, { ...replacement, id });
    this.#ordered = undefined;
    return "done";
  }

  get(id: bigint): NewPlant | undefined {
    return this.#plants.get(id);
  }

  /** The plants of an export, ordered by id. */
  select({ tag, sinceId }: ExportFilter): readonly NewPlant[] {
    return this.#all().filter(
      (plant) => (tag === undefined || plant.tag === tag) && (sinceId === undefined || plant.id > sinceId),
    );
  }

  countPart(afterId: bigint | undefined, plantsMax: number): CountedPart {
    const part = this.#all()
      .filter(({ id }) => afterId === undefined || id > afterId)
      .slice(0, plantsMax);
    const byTag = Map.groupBy(part, ({ tag }) => (tag === undefined ? null : cut(tag, indexedCharacters)));
    return toCountedPart(
      [...byTag].map(([tag, plants]) => ({ tag, plants: plants.length, last: plants.at(-1)?.id ?? 0n })),
    );
  }

  async byIds(ids: readonly bigint[]): Promise<PlantAtCursor[]> {
    return ids.flatMap((id) => this.#plants.get(id) ?? []).map(atCursor);
  }

  async byId(from: bigint, isDescending: boolean, plantsMax: number): Promise<PlantAtCursor[]> {
    return this.#from(from, isDescending).slice(0, plantsMax).map(atCursor);
  }

  async idRangeEnd(
    from: bigint,
    isDescending: boolean,
    plants: number,
    tag: string | undefined,
  ): Promise<bigint | undefined> {
    const matching = this.#from(from, isDescending).filter((plant) => tag === undefined || plant.tag === tag);
    return matching.slice(0, plants).at(-1)?.id;
  }

  async inIdRange(
    { prefix, tag }: SearchFilter,
    { min, max }: IdRange,
    isDescending: boolean,
    plantsMax: number,
  ): Promise<PlantAtCursor[]> {
    return this.#from(isDescending ? max : min, isDescending)
      .filter(
        (plant) =>
          plant.id >= min &&
          plant.id <= max &&
          (tag === undefined || plant.tag === tag) &&
          plant.name.startsWith(prefix?.text ?? ""),
      )
      .slice(0, plantsMax)
      .map(atCursor);
  }

  // A search calls these only where an index exists.
  byCreation = noIndex;
  byKey = noIndex;
  byText = noIndex;

  #all(): readonly NewPlant[] {
    this.#ordered ??= [...this.#plants.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1));
    return this.#ordered;
  }

  #from(from: bigint, isDescending: boolean): readonly NewPlant[] {
    const plants = isDescending ? this.#all().toReversed() : this.#all();
    return plants.filter(({ id }) => (isDescending ? id <= from : id >= from));
  }
}

async function noIndex(): Promise<never> {
  throw new Error("The journal has no indexes");
}

function atCursor(plant: NewPlant): PlantAtCursor {
  return { ...toSummary(plant), cursor: { order: "id", number: plant.id } };
}

function toSummary(plant: NewPlant): PlantSummary {
  const columns = { ...toColumns(plant), name: cut(plant.name, previewLength) };
  for (const field of optionalFields)
    columns[field] = columns[field] === null ? null : cut(columns[field], previewLength);
  const isTruncated = textFields.some((field) => columns[field] !== (plant[field] ?? null));
  return { ...columns, isTruncated };
}

/** The first characters of a text. */
function cut(text: string, characters: number): string {
  return text.length <= characters ? text : Array.from(text).slice(0, characters).join("");
}
