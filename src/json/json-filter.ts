// Leaves members out of the text of JSON, at any depth, and adds others. What stays keeps its order
// and all digits of its numbers.

import { endOfString } from "./json-scanner.ts";

/**
 * Says what is left out of a value, and what is added. It is plain data, which threads pass on, and may
 * lead back to itself.
 */
export interface JsonFilter {
  /** Filters of the values of named members. False leaves the member out; undefined changes nothing. */
  readonly members: ReadonlyMap<string, JsonFilter | false | undefined>;
  /** The filter of the values of all other members. */
  readonly others: JsonFilter | false | undefined;
  /** Filters of the first items of an array, and of those after them. */
  readonly first: readonly (JsonFilter | false | undefined)[];
  readonly items: JsonFilter | false | undefined;
  /** Filters of the same value. */
  readonly parts: readonly JsonFilter[];
  /** Filters of the same value, where it may be of several kinds. */
  readonly alternatives: readonly FilterAlternative[];
  /** Members that an object has in any case, with their JSON. */
  readonly added: readonly (readonly [name: string, json: string])[];
}

export interface FilterAlternative {
  /** Members whose values, as JSON, tell that an object is of another kind. One that is missing tells nothing. */
  readonly values: readonly (readonly [name: string, jsons: readonly string[]])[];
  readonly filter: JsonFilter;
}

/** A filter while it is made. */
export interface DraftFilter extends JsonFilter {
  readonly members: Map<string, DraftFilter | false>;
  others: DraftFilter | false | undefined;
  readonly first: (DraftFilter | false)[];
  items: DraftFilter | false | undefined;
  readonly parts: DraftFilter[];
  readonly alternatives: { readonly values: FilterAlternative["values"]; readonly filter: DraftFilter }[];
  readonly added: [name: string, json: string][];
}

/** A filter that changes nothing. */
export function emptyFilter(): DraftFilter {
  return {
    members: new Map(),
    others: undefined,
    first: [],
    items: undefined,
    parts: [],
    alternatives: [],
    added: [],
  };
}

/** Joins a filter with another one, where there are any. */
export function bothFilters(one: JsonFilter | true, other: JsonFilter | undefined): JsonFilter | true {
  if (other === undefined || one === other) return one;
  return one === true ? other : { ...emptyFilter(), parts: [one, other] };
}

/** The filter, if it or one that it leads to changes a value. */
export function unlessEmpty(filter: JsonFilter): JsonFilter | undefined {
  const found = new Set([filter]);
  // A set also iterates over what is added meanwhile.
  for (const { members, others, first, items, parts, alternatives, added } of found) {
    const below = [...members.values(), others, ...first, items];
    if (below.includes(false) || added.length > 0) return filter;
    for (const each of [...below, ...parts, ...alternatives.map((one) => one.filter)])
      if (each) found.add(each);
  }
  return undefined;
}

// UTF-16 code units.
const [quote, openBrace, openBracket] = [0x22, 0x7b, 0x5b];

/**
 * Applies a filter to the text of a value, in linear time. Throws a RangeError for one whose nesting fills
 * the stack.
 *
 * @param json valid JSON without insignificant white space.
 */
export function filterJson(json: string, filter: JsonFilter): string {
  const first = json.charCodeAt(0);
  return first === openBrace || first === openBracket ? new Filtering(json).apply([filter], 0) : json;
}

/** An object of the members that are picked by their names, each once: of several with a name the last. */
export function pickMembers(json: string, isPicked: (name: string) => boolean): string {
  const found = new Map(new Filtering(json).members(0).map((member) => [member.name, member.json] as const));
  const picked = [...found].filter(([name]) => isPicked(name));
  return `{${picked.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

/** A member of an object: its name, its JSON, and the indexes of both. */
interface TextMember {
  readonly name: string;
  readonly json: string;
  readonly start: number;
  readonly value: number;
}

class Filtering {
  readonly #json: string;
  /** The index after each object and array, by the index of its bracket. */
  readonly #ends: Uint32Array;

  constructor(json: string) {
    this.#json = json;
    this.#ends = new Uint32Array(json.length);
    const open: number[] = [];
    for (let at = 0; at < json.length; at++) {
      const codeUnit = json.charCodeAt(at);
      if (codeUnit === quote) at = endOfString(json, at) - 1;
      // The closing brackets are two code units after those that they close.
      else if (codeUnit === openBrace || codeUnit === openBracket) open.push(at);
      else if (codeUnit === openBrace + 2 || codeUnit === openBracket + 2)
        this.#ends[open.pop() as number] = at + 1;
    }
  }

  /** The value that begins at an index, filtered. */
  apply(filters: readonly JsonFilter[], start: number): string {
    const codeUnit = this.#json.charCodeAt(start);
    if (codeUnit === openBrace) return this.#object(filters, start);
    if (codeUnit === openBracket) return this.#array(filters, start);
    return this.#json.slice(start, this.#valueEnd(start));
  }

  /** The members of the object that begins at an index. */
  members(start: number): TextMember[] {
    const found: TextMember[] = [];
    for (let at = start + 1; this.#json.charCodeAt(at) === quote; ) {
      const colon = endOfString(this.#json, at);
      const [value, end] = [colon + 1, this.#valueEnd(colon + 1)];
      const name = JSON.parse(this.#json.slice(at, colon));
      found.push({ name, json: this.#json.slice(value, end), start: at, value });
      at = end + 1;
    }
    return found;
  }

  #object(filters: readonly JsonFilter[], start: number): string {
    const members = this.members(start);
    const jsonOf = (name: string) => members.findLast((each) => each.name === name)?.json;
    const applied = applyingTo(filters, jsonOf);
    const written: string[] = [];
    for (const { name, start: at, value } of members) {
      const found = applied.map((each) => (each.members.has(name) ? each.members.get(name) : each.others));
      const text = this.#below(found, value);
      if (text !== undefined) written.push(this.#json.slice(at, value) + text);
    }
    const names = new Set(members.map(({ name }) => name));
    for (const [name, json] of applied.flatMap(({ added }) => added)) {
      if (names.has(name)) continue;
      names.add(name);
      written.push(`${JSON.stringify(name)}:${json}`);
    }
    return `{${written.join(",")}}`;
  }

  #array(filters: readonly JsonFilter[], start: number): string {
    const applied = applyingTo(filters, () => undefined);
    const written: string[] = [];
    const end = (this.#ends[start] as number) - 1;
    for (let at = start + 1, index = 0; at < end; at = this.#valueEnd(at) + 1, index++) {
      const found = applied.map(({ first, items }) => (index < first.length ? first[index] : items));
      const text = this.#below(found, at);
      if (text !== undefined) written.push(text);
    }
    return `[${written.join(",")}]`;
  }

  /** A member's or an item's value, filtered; undefined if it is left out. */
  #below(filters: readonly (JsonFilter | false | undefined)[], start: number): string | undefined {
    if (filters.includes(false)) return undefined;
    const own = filters.filter((each) => each !== undefined && each !== false);
    if (own.length === 0) return this.#json.slice(start, this.#valueEnd(start));
    return this.apply(own, start);
  }

  #valueEnd(start: number): number {
    const json = this.#json;
    const codeUnit = json.charCodeAt(start);
    if (codeUnit === quote) return endOfString(json, start);
    if (codeUnit === openBrace || codeUnit === openBracket) return this.#ends[start] as number;
    let end = start;
    // Letters, digits and signs are all that other values have.
    while (end < json.length && !",]}".includes(json.charAt(end))) end++;
    return end;
  }
}

/** The filters that apply to a value, with their parts and the alternatives that it may be of. */
function applyingTo(
  filters: readonly JsonFilter[],
  jsonOf: (name: string) => string | undefined,
): readonly JsonFilter[] {
  const applied = new Set(filters);
  const isOther = ([name, jsons]: FilterAlternative["values"][number]) => {
    const json = jsonOf(name);
    return json !== undefined && !jsons.includes(JSON.stringify(JSON.parse(json)));
  };
  // A set also iterates over what is added meanwhile.
  for (const { parts, alternatives } of applied) {
    for (const part of parts) applied.add(part);
    for (const { values, filter } of alternatives) if (!values.some(isOther)) applied.add(filter);
  }
  return [...applied];
}
