// How an operator reads plants while a server runs: page by page, and never in the way of a create.

import type { NewPlant } from "../contract/plant.ts";

/**
 * The indexes that searching can use. Each costs every create, so that an operator makes and drops them as need be:
 * - `newest`: the order in which plants were created, from the moment it was made.
 * - `name`: the beginnings of names.
 * - `tag`: the tags.
 */
export const indexNames = ["newest", "name", "tag"] as const;
export type IndexName = (typeof indexNames)[number];

/**
 * - `building`, `dropping`: a session on the store is about it at this moment.
 * - `broken`: an attempt to build it was interrupted; it is not used, and slows creates all the same until it is dropped.
 */
export type IndexState = "none" | "ready" | "building" | "dropping" | "broken";
export type IndexStates = Readonly<Record<IndexName, IndexState>>;

/** Makes and drops indexes. Each change is on stable storage when it resolves. */
export interface PlantIndexes {
  states(): Promise<IndexStates>;
  /** Makes an index; nothing happens if it is there. On SQLite no plant is created meanwhile, on PostgreSQL they are. */
  create(name: IndexName): Promise<void>;
  /** Drops an index; nothing happens if there is none. */
  drop(name: IndexName): Promise<void>;
}

/** Names and tags are indexed, and so ordered, by so many characters: PostgreSQL refuses a row whose key is over 2,704 bytes. */
export const indexedCharacters = 100;

/** Of longer names and tags a list shows the beginning. */
export const previewLength = 300;

/** Which plants, and from where on. */
export interface Search {
  /** Newest first, highest id first, by the beginning of the name, or by the tag. */
  readonly by: "newest" | "id" | "name" | "tag";
  /** The beginning of the name, of `indexedCharacters` at most, or the tag; nothing for the other two. */
  readonly text: string;
  /** Where the page before this one ended. */
  readonly after: Cursor | undefined;
  readonly plantsMax: number;
}

/** A place between two plants of an order. */
export interface Cursor {
  /** The id of the plant before it; newest first, its position. */
  readonly number: bigint;
  /** The indexed characters of that plant's name, where names are in order. */
  readonly key?: string;
}

/** A plant as a list shows it. */
export interface PlantSummary {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  /** Whether name or tag is longer than what is shown. */
  readonly isTruncated: boolean;
}

export interface Page {
  readonly plants: readonly PlantSummary[];
  readonly order: "newest" | "id" | "name";
  /** Where the next page begins; undefined if there is none. */
  readonly next: Cursor | undefined;
  /** Set where a search without an index was broken off as it took too long: what lies above is searched. */
  readonly searchedDownTo: bigint | undefined;
}

/** `noIndex`: that order is kept by an index, and there is none. */
export type SearchResult = Page | "noIndex";

/** Reads plants beside a server that creates them. Rejects with an OperatorError if the store cannot be read. */
export interface PlantReader {
  search(search: Search): Promise<SearchResult>;
  /** Those of the ids that are stored, in the order of the ids. */
  withIds(ids: readonly bigint[]): Promise<PlantSummary[]>;
  /** One plant, whole. */
  get(id: bigint): Promise<NewPlant | undefined>;
  indexStates(): Promise<IndexStates>;
  close(): Promise<void>;
}
