// Validates values: reads the schemas of a description (JSON Schema 2020-12, and OpenAPI 3.0's dialect)
// for checks of values. Values are exact, patterns take linear time, and the work is limited, which
// general validators do not offer.

import type { SchemaCheck } from "../../contract/schema-check.ts";
import { referencedMembers } from "../../json/json-pointer.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { mappedSchemas } from "../document/discriminator.ts";
import type { Place } from "../document/place.ts";
import type { Direction } from "./directions.ts";
import { compile } from "./keywords.ts";
import { Node, type Schemas } from "./node.ts";
import { compilePattern, loadPatterns, type TextPattern } from "./patterns.ts";
import { isAnnotation } from "./restrictions.ts";

const none: ReadonlySet<string> = new Set();

/** Reads the schemas of one description, as requests or as responses have them. */
export class SchemaReader implements Schemas {
  readonly direction: Direction;
  readonly #nodes = new Map<string, Node>();
  readonly #patterns = new Map<string, TextPattern>();
  readonly #pending: Node[] = [];

  constructor(direction: Direction) {
    this.direction = direction;
  }

  /**
   * Compiles the schema at a place. Rejects with a ContractError.
   *
   * @param hidden members of an object that are hidden besides those that the schema hides.
   */
  async check(place: Place, hidden: readonly string[] = []): Promise<SchemaCheck> {
    const node = this.node(place, new Set(hidden));
    while (this.#pending.length > 0) {
      if (hasPattern(this.#pending[0]?.place.value)) await loadPatterns();
      // Another check may have compiled it meanwhile.
      const next = this.#pending.shift();
      if (next !== undefined) compile(next, this);
    }
    verify(node);
    return node;
  }

  node(place: Place, hidden = none): Node {
    let target = place;
    for (let next = this.#bareTarget(target); next !== undefined; next = this.#bareTarget(next))
      target = next;
    const key = hidden.size === 0 ? target.pointer : JSON.stringify([target.pointer, ...[...hidden].sort()]);
    let node = this.#nodes.get(key);
    if (node !== undefined) return node;
    node = new Node(target, hidden);
    this.#nodes.set(key, node);
    this.#pending.push(node);
    return node;
  }

  /** The target of a reference with nothing beside it that counts. */
  #bareTarget(place: Place): Place | undefined {
    const { value } = place;
    if (!isObject(value) || !Object.hasOwn(value, "$ref")) return undefined;
    const beside = Object.keys(value).filter((name) => name !== "$ref");
    if (!place.isVersion30) return beside.every(isAnnotation) ? this.referenced(place) : undefined;
    const ignored = beside.filter((name) => !isAnnotation(name) || /^(?:read|write)Only$/.test(name));
    for (const name of ignored) place.note(`the keyword "${name}" beside $ref is ignored, as in OpenAPI 3.0`);
    return this.referenced(place);
  }

  referenced(place: Place): Place {
    const { $ref } = place.value as Json;
    if (typeof $ref !== "string") throw place.own("$ref").error("$ref must be a string");
    // Finds what is wrong with the reference.
    const { target } = place;
    const found = place.document.own(...referencedMembers($ref));
    return found.value === undefined ? target : found;
  }

  pattern(pattern: string): TextPattern {
    const known = this.#patterns.get(pattern) ?? compilePattern(pattern);
    this.#patterns.set(pattern, known);
    return known;
  }

  discriminated({ place, hidden }: Node): ReadonlyMap<string, Node> {
    return new Map([...mappedSchemas(place)].map(([value, each]) => [value, this.node(each, hidden)]));
  }
}

function hasPattern(schema: unknown): boolean {
  return isObject(schema) && (Object.hasOwn(schema, "pattern") || Object.hasOwn(schema, "patternProperties"));
}

/** Schemas that are applied to one value within each other. */
const heightMax = 200;

/** Throws what is wrong with a schema, or with one that it leads to. */
function verify(start: Node): void {
  const found = new Set([start]);
  // A set also iterates over what is added meanwhile.
  for (const node of found) {
    if (node.problem !== undefined) throw node.problem;
    height(node, []);
    for (const child of node.children) if (!child.isSound) found.add(child);
  }
  for (const node of found) node.isSound = true;
}

/** The schemas within each other that apply to the same value, which must not lead back to one. */
function height(node: Node, enclosing: readonly Node[]): number {
  if (node.height !== undefined) return node.height;
  if (node.problem !== undefined) throw node.problem;
  if (enclosing.includes(node))
    throw node.place.error("its schemas refer to each other for the same value, without end");
  if (enclosing.length > heightMax) throw node.place.error("its schemas are nested too deeply");
  const heights = node.applied.map((each) => height(each, [...enclosing, node]));
  node.height = 1 + Math.max(0, ...heights);
  if (node.height > heightMax) throw node.place.error("its schemas are nested too deeply");
  return node.height;
}
