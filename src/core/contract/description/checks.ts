// The checks of a description's schemas. The validator is loaded for the first one that is needed: a
// contract of plain fields, such as the Plant Store's, needs none.

import type { SchemaCheck } from "../schema/schema-check.ts";
import type { SchemaReader } from "../schema/schema-reader.ts";
import type { Place } from "./place.ts";

export class Checks {
  #reader: SchemaReader | undefined;

  /**
   * Compiles the schema at a place. Rejects with a ContractError.
   *
   * @param ignored members of an object that clients cannot set, so that they are not required.
   */
  async of(place: Place, ignored: readonly string[] = []): Promise<SchemaCheck> {
    this.#reader ??= new (await import("../schema/schema-reader.ts")).SchemaReader();
    return this.#reader.check(place, ignored);
  }
}
