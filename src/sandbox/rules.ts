// Rules: which requests get which outcome.

import { type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import type { NewPlant } from "../core/contract/plant.ts";
import {
  type Delay,
  type Distribution,
  delaySecondsMax,
  errorCodes,
  examples,
  type Outcome,
} from "./outcome.ts";
import { SeededRandom } from "./seeded-random.ts";

/** What a request must have; all of it. */
interface Match {
  readonly method?: string;
  /** By their names in lower case; of repeated fields the values, joined by ", ". */
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: bigint;
  readonly tag?: string;
  /** Of the requests for which all else matches: from 0 to 1. */
  readonly share?: number;
}

interface Rule {
  readonly id: string;
  readonly match: Match;
  /** The number of requests that it is applied to; undefined for all. */
  readonly times: number | undefined;
  readonly outcome: Outcome;
  /** As it was added, for those who read it back. */
  readonly source: Readonly<Record<string, unknown>>;
  /** The number of requests that it was applied to. */
  applied: number;
}

/** A rule as control describes it. */
export type RuleDescription = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly applied: number;
};

/** A request that rules are matched with. */
export interface RuleSubject {
  readonly method: string;
  readonly headers: Pick<Headers, "get">;
  /** Undefined where the body is not a plant. */
  readonly plant: NewPlant | undefined;
}

export interface MatchedRule {
  readonly id: string;
  readonly outcome: Outcome;
}

/** An invalid rule. The message is a sentence that names the field, and says what would be right. */
export class InvalidRuleError extends Error {}

const rulesMax = 100;
const defaultSeed = 1;
const seedMax = 2 ** 32 - 1;

export class Rules {
  #rules: readonly Rule[] = [];
  #seed = defaultSeed;
  #random = new SeededRandom(defaultSeed);
  #lastId = 0;

  get size(): number {
    return this.#rules.length;
  }

  get seed(): number {
    return this.#seed;
  }

  /** The sequence that shares and delays are drawn from. */
  get random(): Pick<SeededRandom, "next"> {
    return this.#random;
  }

  describe(): RuleDescription[] {
    return this.#rules.map(describe);
  }

  /** Adds a rule after the others. Throws an InvalidRuleError. */
  add(source: unknown): RuleDescription {
    if (this.#rules.length >= rulesMax)
      throw new InvalidRuleError(`There may be ${rulesMax} rules; remove one first.`);
    const rule = { ...parseRule(source, ""), id: `r${++this.#lastId}` };
    this.#rules = [...this.#rules, rule];
    return describe(rule);
  }

  /** Replaces all rules, and starts the random sequence again. Throws an InvalidRuleError, and then changes nothing. */
  replace({ rules: sources, seed = defaultSeed, ...others }: Readonly<Record<string, unknown>>): void {
    rejectOthers(others, "", ["seed", "rules"]);
    if (!Array.isArray(sources)) throw new InvalidRuleError("rules must be an array of rules.");
    if (sources.length > rulesMax) throw new InvalidRuleError(`rules must have at most ${rulesMax} rules.`);
    const checkedSeed = parseNumber(seed, "seed", { least: 0, most: seedMax, isInteger: true });
    const rules = sources.map((source: unknown, index) => parseRule(source, `rules[${index}].`));
    this.#rules = rules.map((rule) => ({ ...rule, id: `r${++this.#lastId}` }));
    this.#restart(checkedSeed);
  }

  /** @returns false if there is no rule with the id. */
  delete(id: string): boolean {
    const others = this.#rules.filter((rule) => rule.id !== id);
    if (others.length === this.#rules.length) return false;
    this.#rules = others;
    return true;
  }

  /** Removes all rules, and starts the random sequence again, with the default seed. */
  clear(): void {
    this.#rules = [];
    this.#restart(defaultSeed);
  }

  /** Whether the body of a request must be read to know which rule matches. Draws nothing. */
  dependOnPlant(subject: Pick<RuleSubject, "method" | "headers">): boolean {
    return this.#rules.some(
      (rule) =>
        (rule.match.id !== undefined || rule.match.tag !== undefined) &&
        !isUsedUp(rule) &&
        matchesHead(rule.match, subject),
    );
  }

  /** The first rule that matches, which is then applied to the request. Draws from the sequence for each share that counts. */
  match(subject: RuleSubject): MatchedRule | undefined {
    const rule = this.#rules.find(
      (each) =>
        !isUsedUp(each) &&
        matchesHead(each.match, subject) &&
        matchesPlant(each.match, subject.plant) &&
        (each.match.share === undefined || this.#random.next() < each.match.share),
    );
    if (rule === undefined) return undefined;
    rule.applied++;
    return rule;
  }

  #restart(seed: number): void {
    this.#seed = seed;
    this.#random = new SeededRandom(seed);
  }
}

function describe({ id, source, applied }: Rule): RuleDescription {
  return { id, ...source, applied };
}

function isUsedUp({ times, applied }: Rule): boolean {
  return times !== undefined && applied >= times;
}

function matchesHead(match: Match, { method, headers }: Pick<RuleSubject, "method" | "headers">): boolean {
  if (match.method !== undefined && match.method !== method) return false;
  return Object.entries(match.headers ?? {}).every(([name, value]) => headers.get(name) === value);
}

function matchesPlant({ id, tag }: Match, plant: NewPlant | undefined): boolean {
  return (id === undefined || plant?.id === id) && (tag === undefined || plant?.tag === tag);
}

type Json = Readonly<Record<string, unknown>>;

/** @param path of the rule in the body, with a period at its end. */
function parseRule(value: unknown, path: string): Omit<Rule, "id"> {
  const source = parseObject(value, path === "" ? "The rule" : path.slice(0, -1));
  // The fields of a rule that was read back.
  const { id: _, applied: __, ...given } = source;
  const { match = {}, times, outcome, ...others } = given;
  rejectOthers(others, path, ["match", "times", "outcome"]);
  if (outcome === undefined)
    throw new InvalidRuleError(`${path}outcome is missing; it says what happens, such as {"error": 50300}.`);
  return {
    match: parseMatch(parseObject(match, `${path}match`), `${path}match.`),
    times:
      times === undefined
        ? undefined
        : parseNumber(times, `${path}times`, { least: 1, most: 1_000_000_000, isInteger: true }),
    outcome: parseOutcome(parseObject(outcome, `${path}outcome`), `${path}outcome`),
    source: given,
    applied: 0,
  };
}

function parseMatch({ method, headers, id, tag, share, ...others }: Json, path: string): Match {
  rejectOthers(others, path, ["method", "headers", "id", "tag", "share"]);
  return {
    ...(method === undefined ? {} : { method: parseMethod(method, `${path}method`) }),
    ...(headers === undefined ? {} : { headers: parseHeaders(headers, `${path}headers`) }),
    ...(id === undefined ? {} : { id: parseId(id, `${path}id`) }),
    ...(tag === undefined ? {} : { tag: parseText(tag, `${path}tag`) }),
    ...(share === undefined ? {} : { share: parseNumber(share, `${path}share`, { least: 0, most: 1 }) }),
  };
}

function parseMethod(value: unknown, name: string): string {
  if (typeof value === "string" && /^[A-Z-]{1,32}$/.test(value)) return value;
  throw invalid(name, 'a method in upper case, such as "POST"', value);
}

function parseHeaders(value: unknown, name: string): Record<string, string> {
  const entries = Object.entries(parseObject(value, name));
  return Object.fromEntries(
    entries.map(([field, text]) => {
      if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(field))
        throw new InvalidRuleError(
          `${name} has ${JSON.stringify(field)}, which is not the name of a header field.`,
        );
      return [field.toLowerCase(), parseText(text, `${name}[${JSON.stringify(field)}]`)];
    }),
  );
}

function parseId(value: unknown, name: string): bigint {
  const isInteger = typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value));
  const id = isInteger ? BigInt(value) : undefined;
  if (id === undefined || BigInt.asIntN(64, id) !== id) throw invalid(name, "an integer (int64)", value);
  return id;
}

function parseText(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalid(name, "a string", value);
  return value;
}

function parseOutcome(source: Json, name: string): Outcome {
  const { error, commit, example, delay, drop, body, bytesPerSecond, ...others } = source;
  const names = ["error", "commit", "example", "delay", "drop", "body", "bytesPerSecond"];
  rejectOthers(others, `${name}.`, names);
  const outcome: Outcome = {
    ...(error === undefined ? {} : { error: parseError(error, `${name}.error`) }),
    ...(commit === undefined ? {} : { commit: parseBoolean(commit, `${name}.commit`) }),
    ...(example === undefined ? {} : { example: parseExample(example, `${name}.example`) }),
    ...(delay === undefined ? {} : { delay: parseDelay(delay, `${name}.delay`) }),
    ...(drop === undefined
      ? {}
      : { drop: parseOneOf(drop, `${name}.drop`, ["beforeCommit", "afterCommit"] as const) }),
    ...(body === undefined
      ? {}
      : { body: parseOneOf(body, `${name}.body`, ["truncated", "wrongLength"] as const) }),
    ...(bytesPerSecond === undefined
      ? {}
      : {
          bytesPerSecond: parseNumber(bytesPerSecond, `${name}.bytesPerSecond`, {
            least: 1,
            most: 1_000_000_000,
            isInteger: true,
          }),
        }),
  };
  rejectConflicts(outcome, name);
  return outcome;
}

/** Rejects parts of an outcome that exclude each other. */
function rejectConflicts(outcome: Outcome, name: string): void {
  const { error, example, commit, delay, drop } = outcome;
  const conflict = (one: string, reason: string) => new InvalidRuleError(`${name}.${one} ${reason}`);
  if (Object.keys(outcome).length === 0)
    throw new InvalidRuleError(
      `${name} must have at least one of error, example, delay, drop, body and bytesPerSecond.`,
    );
  if (error !== undefined && example !== undefined)
    throw conflict(
      "error",
      "and example exclude each other: an example has a status of its own. Remove one.",
    );
  if (commit !== undefined && error === undefined && example === undefined)
    throw conflict("commit", "needs error or example: without them, the plant is stored anyway. Remove it.");
  if (drop !== undefined) {
    const sent = (["error", "example", "body", "bytesPerSecond"] as const).find(
      (each) => outcome[each] !== undefined,
    );
    if (sent !== undefined)
      throw conflict(
        "drop",
        `and ${sent} exclude each other: a dropped connection gets no response. Remove one.`,
      );
  }
  const isCommitted =
    drop !== "beforeCommit" && ((error === undefined && example === undefined) || commit === true);
  if (delay?.when === "after" && !isCommitted)
    throw conflict(
      "delay.when",
      'cannot be "after": nothing is committed. Remove it, or set commit to true.',
    );
}

function parseError(value: unknown, name: string): ErrorCode {
  const code = typeof value === "number" ? errorCodes.get(value) : undefined;
  if (code === undefined)
    throw invalid(
      name,
      `one of ${Object.values(errorRegistry)
        .map(({ error }) => error)
        .join(", ")}`,
      value,
    );
  return code;
}

function parseExample(value: unknown, name: string) {
  const example = typeof value === "string" ? examples.get(value) : undefined;
  if (example === undefined) throw invalid(name, `one of ${[...examples.keys()].join(", ")}`, value);
  return example;
}

const distributions = ["seconds", "uniform", "normal", "exponential"];

function parseDelay(value: unknown, name: string): Delay {
  const { when = "before", ...distribution } = parseObject(value, name);
  const kinds = Object.keys(distribution);
  rejectOthers(distribution, `${name}.`, [...distributions, "when"], distributions);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1)
    throw new InvalidRuleError(`${name} must have one of ${distributions.join(", ")}.`);
  return {
    distribution: parseDistribution(kind, distribution[kind], `${name}.${kind}`),
    when: parseOneOf(when, `${name}.when`, ["before", "after"] as const),
  };
}

const secondsRange = { least: 0, most: delaySecondsMax };

function parseDistribution(kind: string, value: unknown, name: string): Distribution {
  if (kind === "seconds") return { seconds: parseNumber(value, name, secondsRange) };
  if (kind === "uniform") {
    const [least, most, ...more] = Array.isArray(value) ? (value as unknown[]) : [];
    if (most === undefined || more.length > 0)
      throw invalid(name, "an array of two numbers, such as [0.1, 0.5]", value);
    const from = parseNumber(least, `${name}[0]`, secondsRange);
    return { uniform: [from, parseNumber(most, `${name}[1]`, { ...secondsRange, least: from })] };
  }
  const { mean, deviation, ...others } = parseObject(value, name);
  const fields = kind === "normal" ? ["mean", "deviation"] : ["mean"];
  rejectOthers(
    kind === "normal" || deviation === undefined ? others : { ...others, deviation },
    `${name}.`,
    fields,
  );
  const parsedMean = parseNumber(mean, `${name}.mean`, secondsRange);
  if (kind === "exponential") return { exponential: { mean: parsedMean } };
  return {
    normal: { mean: parsedMean, deviation: parseNumber(deviation, `${name}.deviation`, secondsRange) },
  };
}

function parseObject(value: unknown, name: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(name, "an object", value);
  return value as Json;
}

function parseBoolean(value: unknown, name: string): boolean {
  if (typeof value !== "boolean") throw invalid(name, "true or false", value);
  return value;
}

function parseOneOf<const Text extends string>(value: unknown, name: string, texts: readonly Text[]): Text {
  const found = texts.find((text) => text === value);
  if (found === undefined) throw invalid(name, texts.map((text) => JSON.stringify(text)).join(" or "), value);
  return found;
}

interface NumberRange {
  readonly least: number;
  readonly most: number;
  readonly isInteger?: boolean;
}

function parseNumber(value: unknown, name: string, { least, most, isInteger = false }: NumberRange): number {
  const isNumber = typeof value === "number" && (!isInteger || Number.isInteger(value));
  if (!isNumber || value < least || value > most)
    throw invalid(name, `${isInteger ? "an integer" : "a number"} from ${least} to ${most}`, value);
  return value;
}

/** @param known the fields that are not rejected, where these are not all that are allowed. */
function rejectOthers(
  fields: Json,
  path: string,
  allowed: readonly string[],
  known: readonly string[] = [],
): void {
  const unknown = Object.keys(fields).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new InvalidRuleError(`${path}${unknown} is unknown; the fields there are ${allowed.join(", ")}.`);
}

const shownChars = 100;

function invalid(name: string, expected: string, value: unknown): InvalidRuleError {
  if (value === undefined) return new InvalidRuleError(`${name} is missing; it must be ${expected}.`);
  const text =
    typeof value === "bigint"
      ? String(value)
      : JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each));
  const shown = text.length > shownChars ? `${text.slice(0, shownChars)}…` : text;
  return new InvalidRuleError(`${name} must be ${expected}, but is ${shown}.`);
}
