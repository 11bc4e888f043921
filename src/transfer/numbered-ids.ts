// The ids of records without one, where the server makes ids: from a key of the import and the
// number of the record, so that an import that is repeated or continued creates nothing twice.

import type { Collection } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { ChosenId, CreateKey } from "../plants/new-ids.ts";

/** Not the issuer of a client, whose Idempotency-Key may be the same. */
const issuer = "import";

export class NumberedIds {
  readonly #collection: Collection;
  readonly #key: string;
  /** The number of the record that is being read. */
  #number = 1;
  #chosen: ChosenId | undefined;

  constructor(collection: Collection, key: string) {
    this.#collection = collection;
    this.#key = key;
  }

  /** Makes the id of the record. */
  readonly make = (): PlantId => {
    const key = new CreateKey(this.#collection, { issuer, name: this.#key }, String(this.#number));
    this.#chosen = new ChosenId(this.#collection, key, () => {
      throw new Error("A record has a key");
    });
    return this.#chosen.first();
  };

  /** Ends the record, and returns its ids if they were made. */
  endRecord(): ChosenId | undefined {
    const chosen = this.#chosen;
    this.#chosen = undefined;
    this.#number++;
    return chosen;
  }
}

/** The ids of an import with a key; undefined where each record must have its own. */
export function numberedIds(collection: Collection, key: string | undefined): NumberedIds | undefined {
  return key === undefined || collection.id.isRequired ? undefined : new NumberedIds(collection, key);
}
