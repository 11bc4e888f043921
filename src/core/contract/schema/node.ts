// A compiled schema, and the reader of its keywords' values.

import type { Place } from "../description/place.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { PatternError, type TextPattern } from "./patterns.ts";
import { type Described, phraseFor, type Style } from "./phrases.ts";
import { type Fault, type Rule, type Rules, Run } from "./run.ts";
import type { SchemaCheck } from "./schema-check.ts";
import { compareNumbers, isIntegral, type Kind, kindOf, nestingMax, scalarText, TooDeep } from "./values.ts";
import type { Work } from "./work.ts";

/** The other schemas of the description, and its patterns. */
export interface Schemas {
  /** The schema at a place. It is compiled later, as it may lead back to itself. */
  node(place: Place): Node;
  /** The place that the reference here names, which may have a reference of its own. */
  referenced(place: Place): Place;
  pattern(pattern: string): TextPattern;
  /** The schemas that the values of the discriminator here name. */
  discriminated(place: Place): ReadonlyMap<string, Node>;
}

/** A compiled schema. */
export class Node implements Rules, Described, SchemaCheck {
  readonly place: Place;
  keywords: Json = {};
  types: ReadonlySet<string> | undefined;
  isNullable = false;
  asksEvaluated = false;
  readonly rules: Record<Kind, Rule[]> = {
    null: [],
    boolean: [],
    string: [],
    number: [],
    array: [],
    object: [],
  };
  /** Schemas that a value must fit as well. */
  readonly parts: Node[] = [];
  /** The schemas of an anyOf or oneOf. */
  alternatives: readonly Node[] = [];
  /** All schemas that are applied to the same value. */
  readonly applied: Node[] = [];
  /** All schemas that it leads to. */
  readonly children: Node[] = [];
  /** Why it cannot be used. */
  problem: unknown;
  isSound = false;
  height: number | undefined;
  readonly #phrases = new Map<string, string>();

  constructor(place: Place) {
    this.place = place;
  }

  get expected(): string {
    return this.#phraseFor("field");
  }

  /** Whether it is the schema `false`. */
  get isFalse(): boolean {
    return this.place.value === false;
  }

  phrase(kind: Kind): string {
    return this.#phraseFor("value", kind);
  }

  #phraseFor(style: Style, kind?: Kind): string {
    const key = `${style} ${kind}`;
    const known = this.#phrases.get(key) ?? phraseFor(this, style, kind);
    this.#phrases.set(key, known);
    return known;
  }

  /** Whether its types accept values of a kind. */
  admits(kind: Kind): boolean {
    const { types } = this;
    const isOwn = types === undefined || types.has(kind) || (kind === "number" && types.has("integer"));
    return isOwn && this.parts.every((part) => part.admits(kind));
  }

  /** @param ignored members of the value that are not required. */
  fault(value: unknown, work: Work, ignored: readonly string[] = []): Fault | undefined {
    try {
      const found = new Run(work, ignored).apply(this, value);
      return found && { path: found.path, expected: found.expected() };
    } catch (error) {
      if (!(error instanceof TooDeep)) throw error;
      return {
        path: [],
        expected: `a value with at most ${nestingMax} arrays and objects within each other`,
      };
    }
  }

  /** Adds a rule for values of some kinds. */
  add(on: readonly Kind[], rule: Rule): void {
    for (const kind of on) this.rules[kind].push(rule);
  }

  /** Adds a rule whose fault is described by the words of the whole schema. */
  limit<Value>(kind: Kind, accepts: (value: Value, work: Work) => boolean): void {
    const rule = (value: Value, run: Run) =>
      accepts(value, run.work) ? undefined : run.find(() => this.phrase(kind));
    this.add([kind], rule as Rule);
  }
}

/** Reads the keywords of one schema. Its methods throw an OperatorError for a value of the wrong kind. */
export class Keywords {
  readonly node: Node;
  readonly schema: Json;
  readonly reader: Schemas;

  constructor(node: Node, schema: Json, reader: Schemas) {
    this.node = node;
    this.schema = schema;
    this.reader = reader;
  }

  value(name: string): unknown {
    return Object.hasOwn(this.schema, name) ? this.schema[name] : undefined;
  }

  wrong(name: string, expected: string): Error {
    return this.node.place.own(name).error(`${name} must be ${expected}`);
  }

  number(name: string): unknown {
    const value = this.value(name);
    if (value !== undefined && kindOf(value) !== "number") throw this.wrong(name, "a number");
    return value;
  }

  count(name: string): number | undefined {
    const value = this.number(name);
    if (value === undefined) return undefined;
    if (!isIntegral(value) || compareNumbers(value, 0) < 0) throw this.wrong(name, "a whole number");
    return Number(scalarText(value));
  }

  flag(name: string): boolean {
    const value = this.value(name);
    if (value !== undefined && typeof value !== "boolean") throw this.wrong(name, "true or false");
    return value === true;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value !== undefined && typeof value !== "string") throw this.wrong(name, "a string");
    return value;
  }

  names(value: unknown, name: string): readonly string[] {
    if (!Array.isArray(value) || !value.every((each) => typeof each === "string"))
      throw this.wrong(name, "an array of strings");
    return value;
  }

  array(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    if (value !== undefined && !Array.isArray(value)) throw this.wrong(name, "an array");
    return value as readonly unknown[] | undefined;
  }

  entries(name: string): readonly [string, unknown][] {
    const value = this.value(name);
    if (value !== undefined && !isObject(value)) throw this.wrong(name, "an object");
    return Object.entries(value ?? {});
  }

  schemaAt(...names: string[]): Node {
    const node = this.reader.node(this.node.place.own(...names));
    this.node.children.push(node);
    return node;
  }

  /** Notes that a schema is applied to the same value. */
  use(node: Node): Node {
    this.node.children.push(node);
    this.node.applied.push(node);
    return node;
  }

  /** A schema for members of the value; undefined if the keyword is missing. */
  below(name: string): Node | undefined {
    return this.value(name) === undefined ? undefined : this.schemaAt(name);
  }

  /** A schema for the value itself. */
  applied(...names: string[]): Node {
    return this.use(this.reader.node(this.node.place.own(...names)));
  }

  appliedAll(name: string): readonly Node[] {
    return (this.array(name) ?? []).map((_, index) => this.applied(name, String(index)));
  }

  schemas(name: string): readonly (readonly [string, Node])[] {
    return this.entries(name).map(([each]) => [each, this.schemaAt(name, each)] as const);
  }

  pattern(pattern: string, ...names: string[]): TextPattern {
    try {
      return this.reader.pattern(pattern);
    } catch (error) {
      throw error instanceof PatternError ? this.node.place.own(...names).error(error.message) : error;
    }
  }
}
