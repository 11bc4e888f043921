// The plants of a contract that the rules send. The rules choose a "name" and a "tag" as texts; a
// field that takes no such texts gets one of its own values in place of each.

import { isDeepStrictEqual } from "node:util";
import type { Contract, Field } from "../core/contract/contract.ts";
import type { FieldValue } from "../core/contract/field-types.ts";
import { int64Max, int64Min } from "../core/contract/int64.ts";
import { scanJson } from "../core/contract/json-scanner.ts";
import { numberedId, type PlantId } from "../core/contract/plant-id.ts";
import { type Access, tokenField } from "../core/contract/security.ts";
import { OperatorError } from "../core/operator-error.ts";
import { textLimits } from "./text-ids.ts";

/** Texts that the rules send as names and tags. */
const commonTexts = ["Monstera", "Ficus", "plant 0", "a", "tropical", "without the token"];

/** Names whose plants must differ from those of other names without a number. */
const otherNames = ["Ficus", "without the token", "rejected", "truncated", "first"];

/** Values of another type than most fields have, as JSON. */
const otherTypes = ["5", "true", "[]", "{}"];

/** A run needs as many ids one after another. */
const idsMin = 2n ** 22n;

/** The smallest and the largest id that a contract allows. */
export interface IdLimits {
  readonly least: bigint;
  readonly greatest: bigint;
}

export const allInt64: IdLimits = { least: int64Min, greatest: int64Max };

/** Throws an OperatorError for a contract whose plants the rules cannot make. */
export function contentsOf(contract: Contract): Contents {
  return new Contents(contract);
}

/** A contract as the rules use it. */
export class Contents {
  readonly contract: Contract;
  /** The field that the rules vary: "name". A text if there is one that takes common texts. */
  readonly title: Field;
  /** Another text, which plants may have: "tag". */
  readonly group: Field | undefined;
  readonly idLimits: IdLimits;
  /**
   * Values of the title instead of the texts of the rules, as JSON; undefined if it takes those.
   */
  readonly #titles: readonly string[] | undefined;
  /** The required fields besides the title, with the JSON of their examples. */
  readonly #others: ReadonlyMap<Field, string>;

  constructor(contract: Contract) {
    this.contract = contract;
    this.idLimits = idLimitsOf(contract);
    const texts = contract.fields.filter(takesCommonTexts);
    const title =
      texts.find((field) => field === contract.titleField) ??
      texts.find(({ isRequired }) => isRequired) ??
      texts[0];
    const groups = texts.filter((field) => field !== title && !field.isRequired);
    this.group = groups.find((field) => field === contract.groupField) ?? groups[0];
    this.title = title ?? mostVaried(contract);
    this.#titles = title === undefined ? valuesOf(contract, this.title) : undefined;
    const others = contract.fields.filter((field) => field !== this.title && field.isRequired);
    this.#others = new Map(others.map((field) => [field, exampleOf(contract, field)]));
  }

  /** Whether the bodies of the rules have ids. Otherwise the server chooses them. */
  get sendsIds(): boolean {
    return this.contract.id.isRequired;
  }

  /** Whether ids are texts, which the run numbers. */
  get hasTextIds(): boolean {
    return this.contract.id.type.kind !== "integer";
  }

  /** The id of a number. */
  idOfNumber(number: bigint): PlantId {
    return numberedId(this.contract.id.format ?? "int64", number);
  }

  /** The member with the id, as JSON; "ID" stands for one that is new. */
  idMember(id: bigint | string): string {
    const { name, type } = this.contract.id;
    const json = typeof id === "bigint" ? type.toJson(this.idOfNumber(id)) : id;
    return `${asciiJson(JSON.stringify(name))}:${json === "ID" && this.hasTextIds ? '"ID"' : json}`;
  }

  /** The member with the id, if the rules send it. */
  idMembers(id: bigint | string): readonly string[] {
    return this.sendsIds ? [this.idMember(id)] : [];
  }

  /** The start of an object up to the members after the id, if the rules send it. */
  opening(id: bigint | string = "ID"): string {
    return this.sendsIds ? `{${this.idMember(id)},` : "{";
  }

  /** How a create takes a token. */
  get access(): Access {
    return this.contract.operations.create.access;
  }

  /** The header field with a token, or without one; none if no token is taken. */
  credentials(token: string | null, access = this.access): Readonly<Record<string, string | null>> {
    const [name, prefix] = tokenField(access) ?? [];
    return name === undefined ? {} : { [name]: token === null ? null : prefix + token };
  }

  /** The start of a plant's members up to the value of its title, such as `"name":`. */
  get named(): string {
    return this.beforeTitle + asciiJson(this.title.jsonName);
  }

  /** The required members, each followed by a comma. */
  get beforeTitle(): string {
    return Array.from(this.#others, (member) => `${memberJson(member)},`).join("");
  }

  /** The fields besides the title and the group. */
  get otherFields(): readonly Field[] {
    return this.contract.fields.filter((field) => field !== this.title && field !== this.group);
  }

  /** Whether a plant is a required and an optional text, as in the Plant Store. */
  get isNameAndTag(): boolean {
    return this.#titles === undefined && this.group !== undefined && this.otherFields.length === 0;
  }

  /** Whether two plants can have different titles. */
  get hasTwoTitles(): boolean {
    return this.#titles === undefined || this.#titles.length > 1;
  }

  get hasNegativeIds(): boolean {
    return this.idLimits.least <= -this.idLimits.greatest;
  }

  /** Whether ids may be so large that doubles lose their digits. */
  get hasWideIds(): boolean {
    return isWide(this.idLimits);
  }

  get hasAllIds(): boolean {
    return this.idLimits.least === int64Min && this.idLimits.greatest === int64Max;
  }

  /** The title of a name, as JSON. */
  titleJson(name: string): string {
    if (this.#titles === undefined) return JSON.stringify(name);
    const index = otherNames.includes(name) ? 1 : Number(/\d+$/.exec(name)?.[0] ?? 0);
    return asciiJson(this.#titles[index % this.#titles.length] as string);
  }

  /** The required members with a title, or with another JSON as one. */
  titled(name: string): string {
    return this.named + this.titleJson(name);
  }

  /** The member of the group, or nothing if there is none. */
  grouped(json: string): readonly string[] {
    return this.group === undefined ? [] : [asciiJson(this.group.jsonName) + json];
  }

  plantJson(id: bigint, name: string, tag?: string): string {
    return objectJson(
      this.idMembers(id),
      this.titled(name),
      tag === undefined ? [] : this.grouped(JSON.stringify(tag)),
    );
  }

  /** A plant with all required members and one more, which may be wrong. */
  bodyWith(id: bigint | string, field: Field, json: string, name = "Monstera"): string {
    const others = this.#required(name).filter(([each]) => each !== field);
    return objectJson(this.idMembers(id), [...others, [field, json] as const].map(memberJson));
  }

  bodyWithout(id: bigint | string, field: Field): string {
    const others = this.#required("Monstera").filter(([each]) => each !== field);
    return objectJson(this.idMembers(id), others.map(memberJson));
  }

  #required(name: string): (readonly [Field, string])[] {
    return [...this.#others, [this.title, this.titleJson(name)]];
  }

  /** A plant with every member, and its members as responses have them. */
  fullPlant(id: bigint): { readonly body: string; readonly returned: ReadonlyMap<string, unknown> } {
    const members = this.contract.fields.flatMap((field) => {
      const [json] = valuesOf(this.contract, field);
      return json === undefined ? [] : [[field, json] as const];
    });
    const returned = members.filter(([{ isReturned }]) => isReturned);
    return {
      body: objectJson(
        this.idMembers(id),
        members.map(([{ jsonName }, json]) => jsonName + json),
      ),
      returned: new Map(returned.map(([{ name }, json]) => [name, JSON.parse(json)])),
    };
  }

  /** The members that a response with a plant must have, as JSON.parse has them. */
  expectedMembers(name: string, tag: string | undefined): ReadonlyMap<string, unknown> {
    const required = this.#required(name).filter(([{ isReturned }]) => isReturned);
    const members = required.toReversed().map(([field, json]) => [field.name, JSON.parse(json)] as const);
    return new Map([...members, ...(this.group === undefined ? [] : [[this.group.name, tag] as const])]);
  }

  /** Whether a response may be the plant with a name. */
  hasTitle(body: Readonly<Record<string, unknown>>, name: string): boolean {
    const { title } = this;
    return (
      !this.contract.returnsBody ||
      !title.isReturned ||
      isDeepStrictEqual(body[title.name], JSON.parse(this.titleJson(name)))
    );
  }

  /** Whether a text may be the title. */
  takesTitle(text: string): boolean {
    return this.#titles === undefined && this.title.type.parse(text) !== undefined;
  }

  /** Whether a text may be the group. */
  takesGroup(text: string): boolean {
    return this.group !== undefined && this.group.type.parse(text) !== undefined;
  }

  /** Another value of a field than its plants have, as JSON; undefined if it has no other. */
  anotherValue(field: Field): string | undefined {
    return valuesOf(this.contract, field).find((json) => json !== this.#others.get(field));
  }

  /** Whether some JSON is not of the field's type. */
  isWrong({ type }: Field, value: string): boolean {
    return type.fromJson(JSON.parse(value), () => value) === undefined;
  }

  /** JSON of other types than the field's. */
  wrongValues(field: Field): readonly string[] {
    return otherTypes.filter((json) => this.isWrong(field, json));
  }

  /** Says what would be right for the member of a response; undefined if it is. */
  findFault(text: string, field: Field): string | undefined {
    const { name, type, isRequired } = field;
    const scan = scanJson(text, [name]);
    const value = "members" in scan ? scan.members.get(name) : undefined;
    const isFit = value === undefined ? !isRequired : !this.isWrong(field, value);
    return isFit ? undefined : `expected the ${name} to be ${type.expected}`;
  }

  /** The id of a response, exact to the last digit. */
  idOf(text: string): PlantId | undefined {
    const { name, type } = this.contract.id;
    const scan = scanJson(text, [name]);
    const value = "members" in scan ? scan.members.get(name) : undefined;
    return value === undefined ? undefined : type.fromJson(JSON.parse(value), () => value);
  }

  /** A sentence about plants in the words of the contract. */
  inItsWords(sentence: string): string {
    const { words, operations } = this.contract;
    const replacements: Readonly<Record<string, string>> = {
      NewPlant: words.body,
      Plant: words.one.slice(0, 1).toUpperCase() + words.one.slice(1),
      plants: words.many,
      plant: words.one,
      name: this.title.name,
      tag: this.group?.name ?? "tag",
      "200": String(operations.create.status),
    };
    return sentence.replaceAll(
      /(?<![\w/.])(?:([Aa]) )?(NewPlant|Plant|plants|plant|name|tag|200)\b/g,
      (_, article: string | undefined, word: string) => {
        const replaced = replacements[word] ?? word;
        if (article === undefined) return replaced;
        return `${article}${/^[aeiou]/i.test(replaced) ? "n" : ""} ${replaced}`;
      },
    );
  }
}

/** An object of some members. */
export function objectJson(...members: readonly (string | readonly string[])[]): string {
  return `{${members.flat().join(",")}}`;
}

export function isWide({ least, greatest }: IdLimits): boolean {
  return greatest >= 2n ** 62n && least <= 2n ** 34n;
}

function memberJson([{ jsonName }, json]: readonly [Field, string]): string {
  return asciiJson(jsonName + json);
}

/** JSON with an escape for each other character: rules cut bodies into bytes. */
function asciiJson(json: string): string {
  return json.replaceAll(
    /[\x80-\uffff]/g,
    (codeUnit) => `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function takesCommonTexts({ type, isReturned }: Field): boolean {
  return type.kind === "text" && isReturned && commonTexts.every((text) => type.parse(text) !== undefined);
}

/** The field of which most values are known, rather one that is required and returned. */
function mostVaried(contract: Contract): Field {
  const weighed = contract.fields.map((field) => {
    const values = valuesOf(contract, field).length;
    const weight = (values > 1 ? 4 : 0) + (field.isReturned ? 2 : 0) + (field.isRequired ? 1 : 0);
    return { field, values, weight: values === 0 ? -1 : weight };
  });
  const [first] = weighed.toSorted((one, other) => other.weight - one.weight || other.values - one.values);
  if (first === undefined || first.values === 0)
    throw new OperatorError(
      `the rules need an example of a ${contract.words.one}; add one to the contract`,
      2,
    );
  return first.field;
}

function exampleOf(contract: Contract, field: Field): string {
  const [example] = valuesOf(contract, field);
  if (example !== undefined) return example;
  throw new OperatorError(`the rules need an example of "${field.name}"; add one to the contract`, 2);
}

const valuesMax = 100;
const known = new WeakMap<Field, readonly string[]>();

/** Different values of a field, as JSON; those of the contract's examples come first. */
function valuesOf(contract: Contract, field: Field): readonly string[] {
  const before = known.get(field);
  if (before !== undefined) return before;
  const { type } = field;
  const values: FieldValue[] = [];
  for (const candidate of candidates(contract, field)) {
    if (values.length === valuesMax) break;
    const value = type.parse(candidate);
    if (value === undefined || type.unstorable(value) !== undefined) continue;
    if (!values.some((each) => type.equals(each, value))) values.push(value);
  }
  const jsons = values.map((value) => type.toJson(value));
  known.set(field, jsons);
  return jsons;
}

/** Texts that may be values of a field. */
function* candidates({ fields, examples }: Contract, field: Field): Generator<string> {
  const { type } = field;
  const index = fields.indexOf(field);
  const given = [field.example, ...examples.map(({ values }) => values[index])].flatMap((value) =>
    value === undefined ? [] : [type.format(value)],
  );
  yield* given;
  if (Array.isArray(type.input)) yield* type.input as string[];
  const [example = ""] = given;
  // An array can have its items twice.
  if (type.input === "json" && example.startsWith("[")) {
    const items: unknown[] = JSON.parse(example);
    yield JSON.stringify([...items, ...items]);
  }
  for (let number = 0; number < valuesMax; number++) {
    const digits = String(number).padStart(2, "0");
    yield String(number);
    yield String(Number(example) + number);
    if (number < 60) yield `2026-01-01T00:00:${digits}Z`;
    if (number > 0 && number < 29) yield `2026-01-${digits}`;
  }
  // The last character of a UUID or a code can vary. Letters of the other case, which may mean the
  // same, come last, as in the Z of a time.
  for (const last of "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    yield example.slice(0, -1) + last;
  yield* ["true", "false", "[]", "{}"];
}

/** Finds the limits of the ids that a contract allows, which are one range. */
function idLimitsOf({ id, examples, words }: Contract): IdLimits {
  if (id.type.kind !== "integer") {
    if (id.format !== undefined) return textLimits;
    throw new OperatorError(
      `the rules need ids that they can make, such as UUIDs, but the id of a ${words.one} must be ${id.type.expected}`,
      2,
    );
  }
  const isAllowed = (value: bigint) => id.type.parse(String(value)) !== undefined;
  const start = BigInt(examples[0]?.id ?? 1n);
  const least = furthest(start, int64Min, isAllowed);
  const greatest = furthest(start, int64Max, isAllowed);
  const first = least > 0n ? least : 0n;
  if (greatest - first < idsMin || !isAllowed(greatest - 1n) || !isAllowed(greatest - 12_345n))
    throw new OperatorError(
      `the rules need ${idsMin} ids one after another, but the id of a ${words.one} must be ${id.type.expected}`,
      2,
    );
  return { least, greatest };
}

/** The furthest allowed id from one that is, towards another. */
function furthest(start: bigint, end: bigint, isAllowed: (id: bigint) => boolean): bigint {
  if (isAllowed(end)) return end;
  let [inside, outside] = [start, end];
  for (;;) {
    const middle = (inside + outside) / 2n;
    if (middle === inside || middle === outside) return inside;
    if (isAllowed(middle)) inside = middle;
    else outside = middle;
  }
}
