// The ids of records without one, where the server makes ids: from a key of the import and the
// number of the record, so that an import that is repeated or continued creates nothing twice.

import type { Collection } from "../contract/contract.ts";
import type { IdFormat, PlantId } from "../contract/plant-id.ts";
import { idOfKey } from "../plants/new-ids.ts";

/** Not the issuer of a client, whose Idempotency-Key may be the same. */
const issuer = "import";

export class NumberedIds {
  readonly #idOf: (number: string) => PlantId;
  /** The number of the record that is being read. */
  #number = 1;
  #isUsed = false;

  constructor({ id: { format }, path }: Collection, key: string) {
    this.#idOf = (number) => idOfKey(format as IdFormat, { issuer, name: key }, path, number);
  }

  /** Makes the id of the record. */
  readonly make = (): PlantId => {
    this.#isUsed = true;
    return this.#idOf(String(this.#number));
  };

  /** Ends the record, and returns whether its id was made. */
  endRecord(): boolean {
    const wasUsed = this.#isUsed;
    this.#isUsed = false;
    this.#number++;
    return wasUsed;
  }
}

/** The ids of an import with a key; undefined where each record must have its own. */
export function numberedIds(collection: Collection, key: string | undefined): NumberedIds | undefined {
  return key === undefined || collection.id.isRequired ? undefined : new NumberedIds(collection, key);
}
