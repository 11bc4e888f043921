// Holds a compiled schema, runs its rules over a value, and reads the values of its keywords.

import { type Fault, longNumberSteps, type SchemaCheck, type Work } from "../../contract/schema-check.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import type { Place } from "../document/place.ts";
import type { Direction } from "./directions.ts";
import { PatternError, type TextPattern } from "./patterns.ts";
import { type PhrasedSchema, phraseFor, type Style } from "./phrases.ts";
import {
  compareNumbers,
  isIntegral,
  type Kind,
  kindOf,
  kinds,
  nestingMax,
  plainValue,
  scalarText,
  TooDeep,
} from "./values.ts";

/** The other schemas of the description, and its patterns. */
export interface Schemas {
  readonly direction: Direction;
  /**
   * The schema at a place. It is compiled later, as it may lead back to itself.
   *
   * @param hidden members that schemas of the same value hide.
   */
  node(place: Place, hidden?: ReadonlySet<string>): Node;
  /** The place that the reference here names, which may have a reference of its own. */
  referenced(place: Place): Place;
  pattern(pattern: string): TextPattern;
  /** The schemas that the values of the discriminator here name. */
  discriminated(node: Node): ReadonlyMap<string, Node>;
}

/** A fault whose words are made only if it is reported: most alternatives of an anyOf fail. */
export interface Finding {
  readonly path: readonly (string | number)[];
  readonly expected: () => string;
}

/** Checks a value; `evaluated` takes the members that it has checked, if somebody asks for them. */
export type ValueRule = (
  value: never,
  run: Run,
  evaluated: Set<string | number> | undefined,
) => Finding | undefined;

/** A compiled schema. */
export class Node implements PhrasedSchema, SchemaCheck {
  readonly place: Place;
  keywords: Json = {};
  /** The members of an object that the direction of the schema does not have. */
  hidden: ReadonlySet<string>;
  /** The types that it accepts; undefined for all. */
  types: ReadonlySet<string> | undefined;
  /** Accepts null whatever its rules say, as in OpenAPI 3.0. */
  isNullable = false;
  /** Whether a rule asks which members the rules before it have checked. */
  asksEvaluated = false;
  readonly rules = Object.fromEntries(kinds.map((kind) => [kind, []])) as unknown as Record<
    Kind,
    ValueRule[]
  >;
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

  constructor(place: Place, hidden: ReadonlySet<string>) {
    this.place = place;
    this.hidden = hidden;
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

  fault(value: unknown, work: Work): Fault | undefined {
    try {
      const found = new Run(work).apply(this, value);
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
  add(on: readonly Kind[], rule: ValueRule): void {
    for (const kind of on) this.rules[kind].push(rule);
  }

  /** Adds a rule whose fault is described by the words of the whole schema. */
  limit<Value>(kind: Kind, accepts: (value: Value, work: Work) => boolean): void {
    const rule = (value: Value, run: Run) =>
      accepts(value, run.work) ? undefined : run.find(() => this.phrase(kind));
    this.add([kind], rule as ValueRule);
  }
}

/** Schemas that are applied within each other: 14,000 fill the stack. */
const applicationsMax = 3_000;

export class Run {
  readonly work: Work;
  readonly #path: (string | number)[] = [];
  readonly #enclosing = new Map<Node, unknown>();
  #applications = 0;

  constructor(work: Work) {
    this.work = work;
  }

  /** Applies a schema to the value here. */
  apply(schema: Node, sent: unknown, evaluated?: Set<string | number>): Finding | undefined {
    this.work.spend(1);
    const value = plainValue(sent);
    if (value === null && schema.isNullable) return undefined;
    const kind = kindOf(value);
    // A number of many digits is read again for each rule.
    if (kind === "number" && typeof value === "object") this.work.spend(longNumberSteps(scalarText(value)));
    const { types } = schema;
    if (
      types !== undefined &&
      !types.has(kind) &&
      !(kind === "number" && types.has("integer") && isIntegral(value))
    )
      return this.find(() => schema.phrase(kind));
    const rules = schema.rules[kind];
    if (rules.length === 0) return undefined;
    if (++this.#applications > applicationsMax) throw new TooDeep();
    const own = schema.asksEvaluated ? new Set<string | number>() : evaluated;
    for (const rule of rules) {
      this.work.spend(1);
      const found = rule(value as never, this, own);
      if (found !== undefined) {
        this.#applications--;
        return found;
      }
    }
    this.#applications--;
    if (own !== evaluated && evaluated !== undefined) this.merge(evaluated, own as Set<string | number>);
    return undefined;
  }

  /** Applies a schema to a member of the value here. */
  applyTo(schema: Node, value: unknown, member: string | number): Finding | undefined {
    if (this.#path.length >= nestingMax) throw new TooDeep();
    this.#path.push(member);
    const found = this.apply(schema, value);
    this.#path.pop();
    return found;
  }

  /** Applies a schema to the value here, unless that is under way: it may lead back to itself. */
  applyOnce(schema: Node, value: unknown, evaluated?: Set<string | number>): Finding | undefined {
    const before = this.#enclosing.get(schema);
    if (before === value) return undefined;
    this.#enclosing.set(schema, value);
    const found = this.apply(schema, value, evaluated);
    this.#enclosing.set(schema, before);
    return found;
  }

  /** Applies one of several schemas, whose checked members count only if it accepts the value. */
  try(schema: Node, value: unknown, evaluated: Set<string | number> | undefined): Finding | undefined {
    if (evaluated === undefined) return this.apply(schema, value);
    const own = new Set<string | number>();
    const found = this.apply(schema, value, own);
    if (found === undefined) this.merge(evaluated, own);
    return found;
  }

  merge(target: Set<string | number>, source: ReadonlySet<string | number>): void {
    this.work.spend(3 * source.size);
    for (const member of source) target.add(member);
  }

  /** A fault of the value here, or of one below it. */
  find(expected: () => string, ...below: readonly (string | number)[]): Finding {
    this.work.spend(this.#path.length >> 3);
    return { path: [...this.#path, ...below], expected };
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

  /** The value of a keyword; undefined if it is missing. */
  #typed<Type>(name: string, is: (value: unknown) => value is Type, expected: string): Type | undefined {
    const value = this.value(name);
    if (value === undefined || is(value)) return value;
    throw this.wrong(name, expected);
  }

  number(name: string): unknown {
    return this.#typed(name, (value): value is unknown => kindOf(value) === "number", "a number");
  }

  count(name: string): number | undefined {
    const value = this.number(name);
    if (value === undefined) return undefined;
    if (!isIntegral(value) || compareNumbers(value, 0) < 0) throw this.wrong(name, "a whole number");
    return Number(scalarText(value));
  }

  flag(name: string): boolean {
    return this.#typed(name, (value) => typeof value === "boolean", "true or false") === true;
  }

  text(name: string): string | undefined {
    return this.#typed(name, (value) => typeof value === "string", "a string");
  }

  names(value: unknown, name: string): readonly string[] {
    if (!Array.isArray(value) || !value.every((each) => typeof each === "string"))
      throw this.wrong(name, "an array of strings");
    return value;
  }

  array(name: string): readonly unknown[] | undefined {
    return this.#typed(name, (value) => Array.isArray(value), "an array");
  }

  entries(name: string): readonly [string, unknown][] {
    return Object.entries(this.#typed(name, isObject, "an object") ?? {});
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
    return this.use(this.reader.node(this.node.place.own(...names), this.node.hidden));
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
