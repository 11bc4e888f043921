// A place in a description: the value there, and its pointer for notes and errors.

import type { OperatorError } from "../../operator-error.ts";
import { pointerTo } from "../json/json-pointer.ts";
import type { Json } from "../schema/schemas.ts";
import { contractError } from "./contract-error.ts";
import { References } from "./references.ts";

/** State that all places of one description share. */
interface Shared {
  readonly references: References;
  readonly notes: Set<string>;
}

export class Place {
  readonly pointer: string;
  /** The value as the description has it, perhaps a reference; undefined if nothing is here. */
  readonly value: unknown;
  readonly #shared: Shared;

  private constructor(shared: Shared, value: unknown, pointer: string) {
    this.#shared = shared;
    this.value = value;
    this.pointer = pointer;
  }

  static root(document: Json): Place {
    return new Place({ references: new References(document), notes: new Set() }, document, "");
  }

  /** The object here, or that a reference here leads to; undefined if it is not an object. */
  get object(): Json | undefined {
    return this.#shared.references.resolve(this.value, this.pointer);
  }

  /** The members of the object here. */
  get members(): [name: string, place: Place][] {
    return Object.keys(this.object ?? {}).map((name) => [name, this.at(name)]);
  }

  /** The items of the array here. */
  get items(): Place[] {
    if (!Array.isArray(this.value)) return [];
    return this.value.map((item, index) => this.#below(item, String(index)));
  }

  /** A member of the object here, or of one below it. */
  at(name: string, ...more: readonly string[]): Place {
    const { object } = this;
    const value = object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
    const member = this.#below(value, name);
    const [next, ...rest] = more;
    return next === undefined ? member : member.at(next, ...rest);
  }

  /** The schema here, with all its references replaced, in the dialect of OpenAPI 3.1. */
  schema(): Json {
    return this.#shared.references.expand(this.value, this.pointer);
  }

  /** Notes that something here is not served, or not checked. */
  note(sentence: string): void {
    this.#shared.notes.add(`${sentence} (at ${this.pointer})`);
  }

  /** The notes of the whole description. */
  get notes(): string[] {
    return [...this.#shared.notes];
  }

  error(problem: string): OperatorError {
    return contractError(this.pointer, problem);
  }

  #below(value: unknown, name: string): Place {
    return new Place(this.#shared, value, pointerTo(this.pointer, name));
  }
}
