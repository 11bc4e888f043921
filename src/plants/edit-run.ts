// Edits plants under one run: the history shows its edits, and undoes them, together.

import { parts } from "../base/parts.ts";
import type { Collection } from "../contract/contract.ts";
import type { PlantStore } from "../store/plant-store.ts";
import { type EditOutcome, editsMax, type PlantEdit, type RecordedEdit } from "../store/shared/plant-edit.ts";

/**
 * Who edits: an operator in the console, a command with the user of the operating system, or a
 * client with its token.
 */
export interface Editor {
  readonly by: "client" | "console" | "command";
  /** The name of the client's token, or its subject at the identity provider. */
  readonly token?: string;
  /** The address of the operator's browser. */
  readonly client?: string;
  readonly uid?: number;
  /** According to the environment, as is sudoUser. */
  readonly user?: string;
  /** The user who called sudo. */
  readonly sudoUser?: string;
}

/** 32 characters that people do not confuse, in their order. */
const runCharacters = "23456789abcdefghijkmnpqrstuvwxyz";

/** How long the first characters of runs are the same: 17.5 minutes. They come again after 34 years. */
const runPeriodMs = 2 ** 20;

/**
 * The longest pause between two transactions. A server that waits for the lock of a SQLite file
 * looks for it every 50 to 100 ms: without pauses it waits for two seconds, and its creates get
 * 503.
 */
export const pauseMsMax = 50;

/** Edits that the history shows, and undoes, together. */
export class EditRun {
  readonly id = nextRunId();
  /** How many edits were made. */
  readonly made = { updated: 0, deleted: 0, restored: 0 };
  readonly #store: Pick<PlantStore, "edit">;
  readonly #editor: string;
  readonly #pause: ((ms: number) => Promise<void>) | undefined;
  /** How long the transaction before took. */
  #lastMs = 0;
  #next = 0;

  /** @param pause leaves the lock of a file to other processes for as long as it was held. */
  constructor(store: Pick<PlantStore, "edit">, editor: Editor, pause?: (ms: number) => Promise<void>) {
    this.#store = store;
    this.#editor = JSON.stringify(editor);
    this.#pause = pause;
  }

  /** An edit as the history has it, which the caller makes. */
  record({ table, contractNumber }: Collection, edit: PlantEdit, editedAt: number): RecordedEdit {
    const { id: run } = this;
    return { table, contractNumber, run, editor: this.#editor, editedAt, edit, seq: this.#next++ };
  }

  /** Makes any number of edits, in transactions of at most editsMax. See PlantStore.edit. */
  async edit(
    collection: Collection,
    edits: readonly PlantEdit[],
    editedAt = Date.now(),
  ): Promise<EditOutcome[]> {
    const outcomes: EditOutcome[] = [];
    for (const some of parts(edits, editsMax)) {
      const recorded = some.map((edit) => this.record(collection, edit, editedAt));
      if (this.#lastMs > 0) await this.#pause?.(Math.min(this.#lastMs, pauseMsMax));
      const startedAt = performance.now();
      const committed = await this.#store.edit(recorded);
      this.#lastMs = performance.now() - startedAt;
      for (const [index, edit] of some.entries()) if (committed[index] === "done") this.#count(edit);
      outcomes.push(...committed);
    }
    return outcomes;
  }

  #count({ expected, replacement }: PlantEdit): void {
    if (replacement === undefined) this.made.deleted++;
    else if (expected === undefined) this.made.restored++;
    else this.made.updated++;
  }
}

export type EditCounts = Readonly<EditRun["made"]>;

const nextRunId = runIds();

/**
 * Makes names that can be typed. Those of a process come in their order, so that an index of them grows at
 * its end: with random ones each change wrote a page of it.
 */
export function runIds(now: () => number = Date.now): () => string {
  // Two processes have names of their own, as each begins with 40 random bits.
  const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  let number = Number(random >> 24n);
  return () => inCharacters(Math.floor(now() / runPeriodMs), 4) + inCharacters(++number, 8);
}

/** The last digits of a number, as many as `length`. */
function inCharacters(number: number, length: number): string {
  let text = "";
  let rest = number;
  for (let count = 0; count < length; count++) {
    text = `${runCharacters[rest % runCharacters.length]}${text}`;
    rest = Math.floor(rest / runCharacters.length);
  }
  return text;
}
