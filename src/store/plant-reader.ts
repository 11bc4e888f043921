// The interface by which an operator reads plants while a server runs: page by page, without delaying creates.

import type { NewPlant } from "../contract/plant.ts";

/**
 * The indexes that a search can use. Each slows every create, so an operator creates and drops them as needed:
 * - `newest`: the order in which plants were created since the index was.
 * - `name`: the first characters of names.
 * - `tag`: the first characters of tags.
 */
export const indexNames = ["newest", "name", "tag"] as const;
export type IndexName = (typeof indexNames)[number];

/**
 * - `building`, `dropping`: another session is building or dropping it.
 * - `broken`: building it was interrupted; searches do not use it, and it slows creates until it is dropped.
 */
export type IndexState = "none" | "ready" | "building" | "dropping" | "broken";
export type IndexStates = Readonly<Record<IndexName, IndexState>>;

/** Creates and drops indexes. Each change is on stable storage when its promise resolves. */
export interface PlantIndexes {
  states(): Promise<IndexStates>;
  /** Creates an index; does nothing if it exists. On SQLite creates of plants wait meanwhile, on PostgreSQL they continue. */
  create(name: IndexName): Promise<void>;
  /** Drops an index; does nothing if it does not exist. */
  drop(name: IndexName): Promise<void>;
}

/** Every method of PlantIndexes. */
export const plantIndexMethods = {
  states: true,
  create: true,
  drop: true,
} as const satisfies Readonly<Record<keyof PlantIndexes, true>>;

/** Names and tags are indexed, and so ordered, by this many characters: PostgreSQL rejects a row whose key is longer than 2,704 bytes. */
export const indexedCharacters = 100;

/** Longer names and tags are truncated to this many characters in a list. */
export const previewLength = 300;

/** Which plants to list, and where the page begins. */
export interface Search {
  /** Newest first, highest id first, by a prefix of the name, or by the tag. */
  readonly by: "newest" | "id" | "name" | "tag";
  /** The prefix of the name, at most `indexedCharacters` long, or the tag; empty for the other two. */
  readonly text: string;
  /** Where the previous page ended. */
  readonly after: Cursor | undefined;
  readonly plantsMax: number;
}

/** A position between two plants of an order. */
export interface Cursor {
  /** The id of the plant before the position; for newest first, the number of its create. */
  readonly number: bigint;
  /** The indexed characters of that plant's name, in the order of names. */
  readonly key?: string;
}

/** A plant as a list shows it. */
export interface PlantSummary {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  /** Whether name or tag is truncated. */
  readonly isTruncated: boolean;
}

export interface Page {
  readonly plants: readonly PlantSummary[];
  readonly order: "newest" | "id" | "name";
  /** Where the next page begins; undefined on the last page. */
  readonly next: Cursor | undefined;
  /** The lowest id that was searched, if a search without an index ended at its time limit. */
  readonly searchedDownTo: bigint | undefined;
}

/** `noIndex`: the order needs an index that does not exist. */
export type SearchResult = Page | "noIndex";

/** Reads plants while a server creates them. Rejects with an OperatorError if the store cannot be read. */
export interface PlantReader {
  search(search: Search): Promise<SearchResult>;
  /** Summaries of the stored plants with these ids, in the order of the ids. */
  withIds(ids: readonly bigint[]): Promise<PlantSummary[]>;
  /** One plant with its complete name and tag. */
  get(id: bigint): Promise<NewPlant | undefined>;
  indexStates(): Promise<IndexStates>;
  close(): Promise<void>;
}
