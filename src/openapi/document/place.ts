// Finds places in a description: a place has a value, places below it, and a pointer for notes and
// errors. References are followed here, and nowhere else.

import { OperatorError } from "../../base/operator-error.ts";
import type { ContractSource } from "../../contract/contract.ts";
import { pointerTo, referencedMembers } from "../../json/json-pointer.ts";
import { isObject, type Json } from "../../json/json-values.ts";

/** A part of a description that cannot be served. */
export class ContractError extends OperatorError {
  /** The reason, as it continues a sentence. */
  readonly problem: string;
  /** The place in the description (RFC 6901), such as "/paths/~1parcels/post". */
  readonly pointer: string;
  /** The pointer, or the place in another file, such as "parcel.yaml#/properties". */
  readonly origin: string;

  constructor(problem: string, pointer: string, origin = pointer) {
    super(`the contract cannot be served: ${problem} (at ${origin || "its root"})`, 2);
    this.problem = problem;
    this.pointer = pointer;
    this.origin = origin;
  }
}

/** State that all places of one description share. */
interface Shared {
  readonly document: Json;
  readonly isVersion30: boolean;
  readonly isLenient: boolean;
  readonly origins: ContractSource["origins"];
  readonly notes: Set<string>;
  /** The parts of schemas that were counted for a collection, and for all before it. */
  parts: number;
  partsBefore: number;
  /** The places that references lead to, by the pointers of the references. */
  readonly targets: Map<string, Place>;
  /** Values that were derived from places. */
  readonly derived: Map<string, unknown>;
}

/** The derived values of each document: a sandbox makes places anew for each of its operations. */
const derivedValues = new WeakMap<Json, Map<string, unknown>>();

/** Values that are in no description. */
let heldValues = 0;

interface RootOptions {
  readonly origins?: ContractSource["origins"];
  /**
   * Whether a sandbox reads it: a schema is checked as far as it can be, where what is wrong with it is a
   * note, and what nothing stored fits is made up.
   */
  readonly isLenient?: boolean;
}

/** Replacing references makes a tree of a graph: a small file can expand to any size. */
const partsMax = 20_000;
const allPartsMax = 200_000;

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

  static root(document: Json, { origins, isLenient = false }: RootOptions = {}): Place {
    const isVersion30 = String(document.openapi).startsWith("3.0");
    const derived = derivedValues.get(document) ?? new Map<string, unknown>();
    derivedValues.set(document, derived);
    const state = { notes: new Set<string>(), parts: 0, partsBefore: 0, targets: new Map() };
    return new Place({ document, isVersion30, isLenient, origins, derived, ...state }, document, "");
  }

  /** The description. */
  get document(): Place {
    return new Place(this.#shared, this.#shared.document, "");
  }

  /** Whether the description is OpenAPI 3.0, whose schemas are of another dialect. */
  get isVersion30(): boolean {
    return this.#shared.isVersion30;
  }

  /** Whether a sandbox reads it, see RootOptions. */
  get isLenient(): boolean {
    return this.#shared.isLenient;
  }

  /** The place that a reference here leads to, perhaps over others; this one if it is none. */
  get target(): Place {
    if (!isReference(this.value)) return this;
    const { targets } = this.#shared;
    const passed: string[] = [];
    let found: Place = this;
    for (const seen = new Set<string>(); isReference(found.value); ) {
      const known = targets.get(found.pointer);
      if (known !== undefined) {
        found = known;
        break;
      }
      const { $ref } = found.value;
      if (seen.has($ref)) throw this.error(`the reference ${$ref} is a cycle`);
      seen.add($ref);
      passed.push(found.pointer);
      found = found.#targetOf($ref);
    }
    for (const pointer of passed) targets.set(pointer, found);
    return found;
  }

  /** The object here, or that a reference here leads to; undefined if it is not an object. */
  get object(): Json | undefined {
    const { value } = this.target;
    return isObject(value) ? value : undefined;
  }

  /** The members of the object here. */
  get members(): [name: string, place: Place][] {
    const { target } = this;
    return isObject(target.value) ? Object.keys(target.value).map((name) => [name, target.own(name)]) : [];
  }

  /** The items of the array here. */
  get items(): Place[] {
    return Array.isArray(this.value) ? this.value.map((_, index) => this.own(String(index))) : [];
  }

  /** A member of the object here, or of one below it. References are followed. */
  at(name: string, ...more: readonly string[]): Place {
    const member = this.target.own(name);
    const [next, ...rest] = more;
    return next === undefined ? member : member.at(next, ...rest);
  }

  /** A member of the value itself, or of one below it. No reference is followed. */
  own(...names: readonly string[]): Place {
    return new Place(this.#shared, memberOf(this.value, names), pointerTo(this.pointer, ...names));
  }

  /** A value that is in no description, as if it were in this one. */
  holding(value: Json): Place {
    heldValues += 1;
    return new Place(this.#shared, value, `/x-held/${heldValues}`);
  }

  /** Notes that something here is not served, or not checked. */
  note(sentence: string): void {
    this.#shared.notes.add(`${sentence} (at ${this.#origin || "its root"})`);
  }

  /** Notes what keeps a part of a schema from being checked. */
  noteUnchecked({ problem, origin }: ContractError): void {
    this.#shared.notes.add(`${problem}, so that this is not checked (at ${origin || "its root"})`);
  }

  /** The notes of the whole description. */
  get notes(): string[] {
    return [...this.#shared.notes];
  }

  /** Counts parts of a schema whose references are replaced. Throws a ContractError for too many. */
  countParts(parts = 1): void {
    this.#shared.parts += parts;
    const max = Math.min(partsMax, allPartsMax - this.#shared.partsBefore);
    if (this.#shared.parts > max)
      throw this.error(`its schemas have more than ${partsMax} parts with their references`);
  }

  /** Counts from zero again, for the next collection: the limit is that of one. */
  restartCount(): void {
    this.#shared.partsBefore += this.#shared.parts;
    this.#shared.parts = 0;
  }

  /** A value of some kind that follows from the place alone, and is made once for a document. */
  derive<Value extends object>(kind: string, make: () => Value): Value {
    const { derived, isLenient } = this.#shared;
    const key = `${kind} ${isLenient} ${this.pointer}`;
    const value = (derived.get(key) as Value | undefined) ?? make();
    derived.set(key, value);
    return value;
  }

  error(problem: string): ContractError {
    return new ContractError(problem, this.pointer, this.#origin);
  }

  /** The pointer, with the file that this place was in if it was another one. */
  get #origin(): string {
    for (let end = this.pointer.length; end > 0; end = this.pointer.lastIndexOf("/", end - 1)) {
      const origin = this.#shared.origins?.get(this.pointer.slice(0, end));
      if (origin !== undefined) return origin + this.pointer.slice(end);
    }
    return this.pointer;
  }

  #targetOf(reference: string): Place {
    const { isLenient } = this.#shared;
    // An empty schema accepts everything.
    const nothing = () => new Place(this.#shared, {}, pointerTo(this.pointer, "$ref"));
    const found = reference.startsWith("#") ? this.document.own(...referencedMembers(reference)) : undefined;
    if (found?.value !== undefined) return found;
    if (isLenient) this.note(`the reference ${reference} has no target, so that this is not checked`);
    if (isLenient) return nothing();
    if (found === undefined)
      throw this.error(
        `the reference ${reference} leads to nothing in the folder of the contract or below it; ` +
          "npx @redocly/cli bundle FILE -o bundled.yaml puts all files into one",
      );
    throw this.error(`the reference ${reference} has no target`);
  }
}

/** Reads a part of a description; undefined if that cannot be served. */
export function readable<Part>(read: () => Part): Part | undefined {
  try {
    return read();
  } catch (error) {
    contractErrorOf(error);
    return undefined;
  }
}

/** Why a part cannot be served, from what reading it has thrown; throws any other error again. */
export function contractErrorOf(error: unknown): ContractError {
  if (error instanceof ContractError) return error;
  throw error;
}

/** Reads a part of a description step by step; undefined if that cannot be served. */
export async function readableAsync<Part>(read: () => Promise<Part>): Promise<Part | undefined> {
  try {
    return await read();
  } catch (error) {
    contractErrorOf(error);
    return undefined;
  }
}

/**
 * The schemas that say something of one value: the one at a place, what it refers to, and those in some
 * keywords, at any depth. What cannot be referred to is left out.
 */
export function partsOf(place: Place, keywords: readonly string[], seen = new Set<string>()): Place[] {
  const { value, pointer, isVersion30 } = place;
  if (!isObject(value) || seen.has(pointer)) return [];
  seen.add(pointer);
  const target = isReference(value) ? readable(() => place.target) : undefined;
  const referenced = target === undefined ? [] : partsOf(target, keywords, seen);
  // OpenAPI 3.0 ignores the keywords beside a reference.
  if (isReference(value) && isVersion30) return referenced;
  const parts = keywords.flatMap((keyword) => place.own(keyword).items);
  return [place, ...referenced, ...parts.flatMap((part) => partsOf(part, keywords, seen))];
}

/** A member of an object or an array, or of one below it. */
export function memberOf(value: unknown, names: readonly string[]): unknown {
  let found = value;
  for (const name of names) {
    const parent = found;
    const hasMembers = isObject(parent) || Array.isArray(parent);
    found = hasMembers && Object.hasOwn(parent, name) ? (parent as Json)[name] : undefined;
  }
  return found;
}

export type Reference = Json & { readonly $ref: string };

export function isReference(value: unknown): value is Reference {
  return isObject(value) && typeof value.$ref === "string";
}

/**
 * The last name of a reference, such as "Plant", or the title of its schema if the name says nothing,
 * such as "def-0"; undefined if there is none.
 */
export function schemaName(place: Place | undefined): string | undefined {
  const value = place?.value;
  const name = isReference(value) ? referencedMembers(value.$ref).at(-1) : undefined;
  if (name === undefined || !/^(?:def|schema|model)?[-_]?\d+$/i.test(name)) return name;
  const title = place?.at("title").value;
  return typeof title === "string" && title.trim() !== "" ? title.trim() : undefined;
}
