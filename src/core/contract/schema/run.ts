// A run of checks over one value: where it is in the value, and how much work is left.

import { isIntegral, type Kind, kindOf, nestingMax, scalarText, TooDeep } from "./values.ts";
import type { Work } from "./work.ts";

/** A fault of a value, at a path within it. */
export interface Fault {
  readonly path: readonly (string | number)[];
  /** The value that must be at the path, such as `an object with the member "claws"`. */
  readonly expected: string;
}

/** A fault whose words are made only if it is reported: most alternatives of an anyOf fail. */
export interface Finding {
  readonly path: readonly (string | number)[];
  readonly expected: () => string;
}

/** Checks a value; `evaluated` takes the members that it has checked, if somebody asks for them. */
export type Rule = (
  value: never,
  run: Run,
  evaluated: Set<string | number> | undefined,
) => Finding | undefined;

/** A schema whose rules a run applies. */
export interface Rules {
  /** The types that it accepts; undefined for all. */
  readonly types: ReadonlySet<string> | undefined;
  /** Accepts null whatever its rules say, as in OpenAPI 3.0. */
  readonly isNullable: boolean;
  /** Whether a rule asks which members the rules before it have checked. */
  readonly asksEvaluated: boolean;
  readonly rules: Readonly<Record<Kind, readonly Rule[]>>;
  phrase(kind: Kind): string;
}

/** Schemas that are applied within each other: 14,000 fill the stack. */
const applicationsMax = 3_000;

export class Run {
  readonly work: Work;
  readonly #path: (string | number)[] = [];
  readonly #enclosing = new Map<Rules, unknown>();
  #applications = 0;

  readonly #ignored: readonly string[];

  /** @param ignored members of the outermost object that are not required. */
  constructor(work: Work, ignored: readonly string[]) {
    this.work = work;
    this.#ignored = ignored;
  }

  /** The members that an object here must have, of those that its schema requires. */
  requiredOf(names: readonly string[]): readonly string[] {
    if (this.#ignored.length === 0 || this.#path.length > 0) return names;
    return names.filter((name) => !this.#ignored.includes(name));
  }

  /** Applies a schema to the value here. */
  apply(schema: Rules, value: unknown, evaluated?: Set<string | number>): Finding | undefined {
    this.work.spend(1);
    if (value === null && schema.isNullable) return undefined;
    const kind = kindOf(value);
    // A number of many digits is read again for each rule.
    if (kind === "number" && typeof value === "object") this.work.spend(8 + (scalarText(value).length >> 1));
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
  applyTo(schema: Rules, value: unknown, member: string | number): Finding | undefined {
    if (this.#path.length >= nestingMax) throw new TooDeep();
    this.#path.push(member);
    const found = this.apply(schema, value);
    this.#path.pop();
    return found;
  }

  /** Applies a schema to the value here, unless that is under way: it may lead back to itself. */
  applyOnce(schema: Rules, value: unknown, evaluated?: Set<string | number>): Finding | undefined {
    const before = this.#enclosing.get(schema);
    if (before === value) return undefined;
    this.#enclosing.set(schema, value);
    const found = this.apply(schema, value, evaluated);
    this.#enclosing.set(schema, before);
    return found;
  }

  /** Applies one of several schemas, whose checked members count only if it accepts the value. */
  try(schema: Rules, value: unknown, evaluated: Set<string | number> | undefined): Finding | undefined {
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
