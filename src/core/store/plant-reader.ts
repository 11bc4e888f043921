// The interface by which an operator reads plants while a server runs: page by page, without delaying creates.

import type { NewPlant, PlantColumns } from "../contract/plant.ts";

/**
 * The indexes that a search can use. Each slows every create, so an operator creates and drops them as needed:
 * - `newest`: the order in which plants were created since the index was, with the time and the token of each.
 * - `name`: the first characters of names.
 * - `tag`: the first characters of tags.
 * - `text`: every three characters in a row of names and tags, whatever their case.
 */
export const indexNames = ["newest", "name", "tag", "text"] as const;
export type IndexName = (typeof indexNames)[number];

/**
 * - `outdated`: an earlier version built it, with less in it; creating it again upgrades it.
 * - `building`, `dropping`: another session is building or dropping it.
 * - `broken`: building it was interrupted; searches do not use it, and it slows creates until it is dropped.
 */
export type IndexState = "none" | "ready" | "outdated" | "building" | "dropping" | "broken";
export type IndexStates = Readonly<Record<IndexName, IndexState>>;

/** How far an index is that is being built. */
export interface IndexProgress {
  /** From 0 to 1, of the phase if there is one; undefined where the phase has no length. */
  readonly share: number | undefined;
  /** The phase of PostgreSQL, which builds in several, and waits in some for other transactions. */
  readonly phase?: string;
}

/** Called while an index is being built, at least some times in a minute, by the engines and for the indexes that can tell. */
export type OnIndexProgress = (progress: IndexProgress) => void;

/** Creates and drops indexes. Each change is on stable storage when its promise resolves. */
export interface PlantIndexes {
  states(): Promise<IndexStates>;
  /**
   * Creates an index, or upgrades an outdated one; does nothing if it exists. On SQLite creates of plants wait meanwhile, on
   * PostgreSQL they continue.
   */
  create(name: IndexName, onProgress?: OnIndexProgress): Promise<void>;
  /** Drops an index; does nothing if it does not exist. */
  drop(name: IndexName): Promise<void>;
}

/** Names and tags are indexed, and so ordered, by this many characters: PostgreSQL rejects a row whose key is longer than 2,704 bytes. */
export const indexedCharacters = 100;

/** The index "text" finds texts of at least this many characters: SQLite's and PostgreSQL's trigrams have three. */
export const textCharactersMin = 3;

/** Longer texts are truncated to this many characters in a list. */
export const previewLength = 300;

/** The orders of a list; plants with the same name or tag are ordered by id. `tag` lists only plants that have one. */
export const orders = ["id", "name", "tag", "created"] as const;
export type Order = (typeof orders)[number];

/** Which plants to list, in which order, and where the page begins. */
export interface Search {
  /**
   * With the index "text": what the name or the tag contains, whatever its case. Otherwise, and where it is shorter than
   * `textCharactersMin`, how the name begins. Empty for all plants; at most `indexedCharacters` long.
   */
  readonly text: string;
  /** Only plants with exactly this tag. */
  readonly tag: string | undefined;
  /** The order of all plants. Those that are searched for come in the order of the index that finds them: by id, highest first, or by name. */
  readonly order: Order;
  readonly isDescending: boolean;
  /** Where the previous page ended or, for a page backward, the next one begins. */
  readonly cursor: Cursor | undefined;
  /** Whether the page ends at the cursor, and does not begin there. */
  readonly isBackward: boolean;
  readonly plantsMax: number;
}

/** A position between two plants of an order. */
export interface Cursor {
  readonly order: Order;
  /** The id of the plant beside the position; in the order of creation, the number of its create. */
  readonly number: bigint;
  /** The indexed characters of that plant's name or tag, in the order of names or tags. */
  readonly key?: string;
}

/** A plant as a list shows it. */
export interface PlantSummary extends PlantColumns {
  readonly id: bigint;
  /** Whether a text is truncated. */
  readonly isTruncated: boolean;
}

export interface Page {
  readonly plants: readonly PlantSummary[];
  readonly order: Order;
  readonly isDescending: boolean;
  /** How the text was searched for. */
  readonly match: "contains" | "begins" | undefined;
  /** Where the pages before and after this one end and begin; undefined if there are none. */
  readonly previous: Cursor | undefined;
  readonly next: Cursor | undefined;
  /** The last id that was searched, if a search without an index ended at its time limit. */
  readonly searchedTo: bigint | undefined;
}

/** `noIndex`: the order needs an index that does not exist. */
export type SearchResult = Page | "noIndex";

/** When and by whom a plant was created, as far as the index "newest" has recorded it. */
export interface Creation {
  readonly id: bigint;
  /** Milliseconds since the epoch, by the clock of the store. */
  readonly createdAt: number | null;
  /** The name of the token, or of an identity provider's subject; null for an import, SQL, and servers of earlier versions. */
  readonly token: string | null;
}

/** The plants of an id range, counted. */
export interface CountedPart {
  readonly plants: number;
  /** The highest id that was counted: the next part continues after it. Undefined if no plant was left. */
  readonly lastId: bigint | undefined;
  /** The plants of each tag, by its first `indexedCharacters` characters. */
  readonly tags: readonly (readonly [tag: string, plants: number])[];
}

/** Reads plants while a server creates them. Rejects with an OperatorError if the store cannot be read. */
export interface PlantReader {
  search(search: Search): Promise<SearchResult>;
  /** Summaries of the stored plants with these ids, in the order of the ids. */
  withIds(ids: readonly bigint[]): Promise<PlantSummary[]>;
  /** One plant with its complete texts. */
  get(id: bigint): Promise<NewPlant | undefined>;
  /** The recorded creations of plants with these ids, in any order; none without the index "newest". */
  creations(ids: readonly bigint[]): Promise<Creation[]>;
  /**
   * How many plants were created since each of some times, by the index "newest", deleted ones in part; undefined without
   * it.
   */
  createdSince(times: readonly number[]): Promise<number[] | undefined>;
  /** Counts at most `plantsMax` plants with greater ids than `afterId`. */
  countPart(afterId: bigint | undefined, plantsMax: number): Promise<CountedPart>;
  indexStates(): Promise<IndexStates>;
  close(): Promise<void>;
}
