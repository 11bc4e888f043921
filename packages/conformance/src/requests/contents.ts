// Makes the plants that the rules send to a server of any contract: a rule chooses a "name" and a
// "tag", and the fields of the contract that take such texts get them.

import { isDeepStrictEqual } from "node:util";
import { type ErrorCode, errorRegistry } from "../../../../src/base/errors.ts";
import { OperatorError } from "../../../../src/base/operator-error.ts";
import { type Access, fieldValue, tokenField } from "../../../../src/contract/access.ts";
import type {
  Collection,
  Contract,
  Field,
  Representation,
  Shown,
} from "../../../../src/contract/contract.ts";
import { formOf, pathOfPart } from "../../../../src/contract/error-format.ts";
import { numberedId, type PlantId } from "../../../../src/contract/plant-id.ts";
import { referenceOf } from "../../../../src/contract/references.ts";
import { fromJson, isText } from "../../../../src/contract/stored-types.ts";
import { withArticle } from "../../../../src/contract/words.ts";
import { filterJson } from "../../../../src/json/json-filter.ts";
import { scanJson } from "../../../../src/json/json-scanner.ts";
import { isObject } from "../../../../src/json/json-values.ts";
import { sentText } from "../../../../src/json/sent-json.ts";
import { toFieldValue } from "../../../../src/openapi/description/example-values.ts";
import type { ResponseCheck } from "../failures/watch.ts";
import { type IdLimits, idLimitsOf } from "../plants/id-limits.ts";
import { sampleValues } from "../plants/sample-values.ts";

/** Texts that the rules send as names and tags; the first two must differ. */
const commonTexts = ["Monstera", "Ficus", "plant 0", "a", "tropical", "without the token"];

/** Stands in bodies for an id that is new each time they are sent. */
export const newId = "<ID>";

/** Values of another type than most fields have, as JSON. */
const otherTypes = ["5", "true", "[]", "{}"];

/** A contract as the rules use it. */
export class Contents {
  readonly contract: Contract;
  readonly collection: Collection;
  /** Values of each field, as JSON. */
  readonly #values: Map<Field, readonly string[]>;
  /** The text that the rules vary: "name". */
  readonly title: Field;
  /** Another text, which plants may have: "tag". */
  readonly group: Field | undefined;
  readonly idLimits: IdLimits;
  /** The members of a plant in the response to its create; undefined if that has no body. */
  readonly created: Representation | undefined;
  /** Whether responses have the field, for each field; undefined if they have all. */
  readonly #shown: readonly Shown[] | undefined;
  /** The required fields besides the title, with the JSON of their examples. */
  readonly #others: Map<Field, string>;
  /** The names that lead to the resource in responses where it is in a member of the body. */
  readonly wrappers: readonly (readonly string[])[];
  /** The fields that have the ids of a collection. */
  readonly references: ReadonlyMap<Field, Collection>;

  /** Whether a response is as the contract describes it; undefined before a run has read that. */
  described: ResponseCheck | undefined;

  /** Throws an OperatorError for a contract whose plants the rules cannot make. */
  constructor(contract: Contract, collection: Collection) {
    const { titleField, groupField, words } = collection;
    this.contract = contract;
    // The rules write members by their names.
    const fields = collection.fields.filter(({ isOthers }) => !isOthers);
    this.collection = fields.length === collection.fields.length ? collection : { ...collection, fields };
    this.idLimits = idLimitsOf(collection);
    this.#values = new Map(fields.map((field) => [field, sampleValues(contract, collection, field)]));
    const { create, get } = collection.operations;
    this.created = create.response;
    const shown = Object.values(collection.operations).map(({ response }) => response?.wrapper);
    this.wrappers = shown.flatMap((wrapper) => (wrapper === undefined ? [] : [pathIn(wrapper)]));
    this.#shown = (create.response ?? get?.response)?.fields;
    const hasTwo = (field: Field) => (this.#values.get(field)?.length ?? 0) > 1;
    const takesAll = (field: Field, texts: readonly string[]) =>
      texts.every((text) => toFieldValue(field.type, text) !== undefined);
    const preferred = fields.toSorted((one, other) => this.#merit(other) - this.#merit(one));
    const texts = preferred.filter((field) => takesAll(field, commonTexts));
    const title =
      texts.find((field) => field === titleField) ??
      texts[0] ??
      preferred.find((field) => takesAll(field, commonTexts.slice(0, 2))) ??
      preferred.find(hasTwo);
    if (title === undefined)
      throw new OperatorError(
        `the rules need a member of ${withArticle(words.one)} that may have two values`,
        2,
      );
    this.title = title;
    const groups = texts.filter(
      (field) => field !== title && isText(field.type) && !field.isRequired && this.isReturned(field),
    );
    this.group = groups.find((field) => field === groupField) ?? groups[0];
    const others = fields.filter((field) => field !== title && field.isRequired);
    const named = fields.map((field) => [field, referenceOf(field, contract.collections)] as const);
    this.references = new Map(
      named.filter((each): each is [Field, Collection] => each[0] !== title && each[1] !== undefined),
    );
    this.#others = new Map(others.map((field) => [field, this.#values.get(field)?.[0] ?? "null"]));
  }

  /** Sets the id to which a field refers: a server may look whether there is such a resource. */
  refer(field: Field, id: string): void {
    const value = fromJson(field.type, sentText(JSON.stringify(id))) ?? field.type.parse(id);
    if (value === undefined) return;
    const json = field.type.toJson(value);
    this.#values.set(field, [json]);
    if (this.#others.has(field)) this.#others.set(field, json);
  }

  /** Whether responses have a field. */
  isReturned(field: Field): boolean {
    return this.#shown?.[this.collection.fields.indexOf(field)] !== false;
  }

  /** The value of a field as a response has it, as JSON.parse has it. */
  #returned(field: Field, json: string): unknown {
    const shown = this.#shown?.[this.collection.fields.indexOf(field)];
    return JSON.parse(typeof shown === "object" ? filterJson(json, shown) : json);
  }

  /** Returned members show what was stored, and required ones are always sent. */
  #merit(field: Field): number {
    return 2 * Number(this.isReturned(field)) + Number(field.isRequired);
  }

  /** Whether the bodies of the rules have ids. Otherwise the server chooses them. */
  get sendsIds(): boolean {
    return this.collection.id.isRequired;
  }

  /** Whether ids are texts, which the run numbers. */
  get hasTextIds(): boolean {
    return this.collection.id.type.kind.name !== "integer";
  }

  /** The id of a number. */
  idOfNumber(number: bigint): PlantId {
    return numberedId(this.collection.id.format ?? "int64", number);
  }

  /** The member with the id, as JSON; `newId` stands for one that is new. */
  idMember(id: bigint | string): string {
    const { name, type } = this.collection.id;
    const json = typeof id === "bigint" ? type.toJson(this.idOfNumber(id)) : id;
    return `${asciiJson(JSON.stringify(name))}:${json === newId && this.hasTextIds ? `"${newId}"` : json}`;
  }

  /** The member with the id, if the rules send it. */
  idMembers(id: bigint | string): readonly string[] {
    return this.sendsIds ? [this.idMember(id)] : [];
  }

  /** How a create takes a token. */
  get access(): Access {
    return this.collection.operations.create.access;
  }

  /** The header field with a token, or without one; none if no token is taken. */
  credentials(token: string | null, access = this.access): Readonly<Record<string, string | null>> {
    const field = tokenField(access);
    return field === undefined ? {} : { [field[0]]: token === null ? null : fieldValue(field, token) };
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
    return this.collection.fields.filter((field) => field !== this.title && field !== this.group);
  }

  /** A title as JSON: the text of a rule, or a value of the field that stands for it. */
  titleJson(text: string): string {
    if (this.takesTitle(text)) return JSON.stringify(text);
    const values = this.#values.get(this.title) ?? [];
    // Rules send Ficus in place of Monstera, and let ten titles compete.
    const index = text === "Ficus" ? 1 : Number(/^competing (\d)$/.exec(text)?.[1] ?? 0);
    return asciiJson(values[index % values.length] ?? "null");
  }

  /** A body of some members. */
  body(...members: readonly (string | readonly string[])[]): string {
    return this.wrapped(objectJson(...members));
  }

  /** A body whose resource is some JSON: a member of it, where the contract has that. */
  wrapped(json: string, { wrapper }: Pick<Collection, "wrapper"> = this.collection): string {
    return wrapper === undefined ? json : `{${asciiJson(JSON.stringify(wrapper))}:${json}}`;
  }

  /** The required members with a title. */
  titled(name: string): string {
    return this.named + this.titleJson(name);
  }

  /** The member of the group, or nothing if there is none. */
  grouped(json: string): readonly string[] {
    return this.group === undefined ? [] : [asciiJson(this.group.jsonName) + json];
  }

  /** The JSON of a plant. The id may be malformed; `newId` stands for a new one. */
  plantJson(id: bigint | string, name: string, tag?: string): string {
    const tags = tag === undefined ? [] : this.grouped(JSON.stringify(tag));
    return this.body(this.idMembers(id), this.titled(name), tags);
  }

  /** The JSON of a plant with this JSON as its title, which may be malformed. */
  plantTitled(json: string, id: bigint | string = newId): string {
    return this.body(this.idMembers(id), this.named + json);
  }

  /** A plant with a new id and some more members. */
  plantWith(...members: readonly (string | readonly string[])[]): string {
    return this.body(this.idMembers(newId), this.titled("Monstera"), ...members);
  }

  /** A plant with all required members and one more, which may be wrong. */
  bodyWith(id: bigint | string, field: Field, json: string, name = "Monstera"): string {
    return this.body(this.idMembers(id), this.#membersBut(field, name), memberJson([field, json]));
  }

  bodyWithout(id: bigint | string, field: Field): string {
    return this.body(this.idMembers(id), this.#membersBut(field, "Monstera"));
  }

  /** The required members, except for one field. */
  #membersBut(field: Field, name: string): readonly string[] {
    return this.#required(name)
      .filter(([each]) => each !== field)
      .map(memberJson);
  }

  #required(name: string): readonly (readonly [Field, string])[] {
    return [...this.#others, [this.title, this.titleJson(name)]];
  }

  /** A plant with every member, and its members as responses have them. */
  fullPlant(id: bigint): { readonly body: string; readonly returned: ReadonlyMap<string, unknown> } {
    const members = Array.from(this.#values).flatMap(([field, [json]]) =>
      json === undefined ? [] : [[field, json] as const],
    );
    const returned = members.filter(([field]) => this.isReturned(field));
    return {
      body: this.body(
        this.idMembers(id),
        members.map(([{ jsonName }, json]) => jsonName + json),
      ),
      returned: new Map(returned.map(([field, json]) => [field.name, this.#returned(field, json)])),
    };
  }

  /** The members that a response with a plant must have, as JSON.parse has them. */
  expectedMembers(name: string, tag: string | undefined): ReadonlyMap<string, unknown> {
    const required = this.#required(name).filter(([field]) => this.isReturned(field));
    const members = required
      .toReversed()
      .map(([field, json]) => [field.name, this.#returned(field, json)] as const);
    return new Map([...members, ...(this.group === undefined ? [] : [[this.group.name, tag] as const])]);
  }

  /** Whether a response may be the plant with a name. */
  hasTitle(body: Readonly<Record<string, unknown>>, name: string): boolean {
    const { title } = this;
    const returned = () => this.#returned(title, this.titleJson(name));
    return (
      this.created === undefined || !this.isReturned(title) || isDeepStrictEqual(body[title.name], returned())
    );
  }

  /** Whether a text may be the title. */
  takesTitle(text: string): boolean {
    return toFieldValue(this.title.type, text) !== undefined;
  }

  /** Whether a text may be the group. */
  takesGroup(text: string): boolean {
    return this.group !== undefined && this.group.type.parse(text) !== undefined;
  }

  /** Another value of a field than its plants have, as JSON; undefined if it has no other. */
  anotherValue(field: Field): string | undefined {
    return this.#values.get(field)?.find((json) => json !== this.#others.get(field));
  }

  /** Whether some JSON is not of the field's type. */
  isWrong({ type }: Field, value: string): boolean {
    return fromJson(type, sentText(value)) === undefined;
  }

  /** JSON of other types than the field's. */
  wrongValues(field: Field): readonly string[] {
    return otherTypes.filter((json) => this.isWrong(field, json));
  }

  /** The id of a response, exact to the last digit. */
  idOf(text: string): PlantId | undefined {
    const { name, type } = this.collection.id;
    const inner = this.wrappers.map((path) =>
      path.reduce<string | undefined>((json, each) => json && memberOf(json, each), text),
    );
    const value = memberOf(inner.find((json) => json !== undefined) ?? text, name);
    return value === undefined ? undefined : fromJson(type, sentText(value));
  }

  /** An error of the contract in the words of a title: its code, where the contract's errors have one, or its status. */
  errorOf(code: ErrorCode): string {
    const { status, shape } = formOf(this.collection.operations.create.errors, code);
    return pathOfPart(shape, "code") === undefined ? String(status) : String(errorRegistry[code].error);
  }

  /** A sentence about plants in the words of the contract. */
  inItsWords(sentence: string): string {
    const { words, operations } = this.collection;
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
        return article + withArticle(replaced).slice(1);
      },
    );
  }
}

/** An object of some members. */
export function objectJson(...members: readonly (string | readonly string[])[]): string {
  return `{${members.flat().join(",")}}`;
}

/** The JSON of a member of an object, exact to the last digit. */
function memberOf(text: string, name: string): string | undefined {
  const scan = scanJson(text, [name]);
  return "members" in scan ? scan.members.get(name) : undefined;
}

function memberJson([{ jsonName }, json]: readonly [Field, string]): string {
  return asciiJson(jsonName + json);
}

/** The names that lead to what is between two parts of JSON. */
function pathIn([before, after]: readonly [string, string]): readonly string[] {
  const names: string[] = [];
  for (let at: unknown = JSON.parse(`${before}null${after}`); isObject(at); ) {
    const [name, member] = Object.entries(at).find(([, each]) => each === null || isObject(each)) ?? [];
    if (name !== undefined) names.push(name);
    at = member;
  }
  return names;
}

/** JSON with an escape for each other character: rules cut bodies into bytes. */
function asciiJson(json: string): string {
  return json.replaceAll(
    /[\x80-\uffff]/g,
    (codeUnit) => `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
