// Parses the search as it is typed, such as `mons tag:tropical price:10..20 created:today`, to the
// parameters of a request for it.

import type { PageField } from "../page-contract.ts";
import { collection, groupField } from "./shown-contract.ts";

type Parameters = [name: string, value: string][];

interface Term {
  raw: string;
  filter: string | undefined;
  text: string;
  isQuoted: boolean;
}

type FilterField = Pick<
  PageField,
  "name" | "filter" | "isRequired" | "isNullable" | "example" | "references"
>;

/** The filters of what the store records of each plant come before those of fields of these names. */
const ofStore = { isRequired: true, isNullable: false, references: "" };
const token: FilterField = { ...ofStore, name: "token", filter: "text", example: "ci" };
const created: FilterField = { ...ofStore, name: "created", filter: "time", example: "" };

/** Examples for the help of the search: of each kind of filter. */
export function filterExamples(): string[] {
  const group = groupField();
  // Words search the title, and an id says little.
  const others = collection.fields.filter(
    (field) =>
      field !== group &&
      field !== collection.fields[collection.title] &&
      filterName(field) !== undefined &&
      !(field.filter === "text" && (field.example === "" || field.references !== "")),
  );
  const kinds = ["text", "number", "boolean", "date", "time"];
  const shown = kinds.flatMap((kind) => others.find((each) => each.filter === kind) ?? []);
  const [range = "", , today = ""] = examplesOf(created);
  return [
    ...(collection.id.isText ? [] : ["300-400"]),
    ...[...(group === undefined ? [] : [group]), ...shown].map((field) => examplesOf(field)[0] ?? ""),
    ...(group === undefined ? [] : [`${filterName(group)}:none`]),
    "token:ci",
    today,
    range,
  ];
}

/** The syntax of the values of a filter. */
function examplesOf(field: FilterField): string[] {
  const { filter, example } = field;
  const days = ["2026-11-01..2026-11-07", "2026-11-01", ...(filter === "time" ? ["today"] : [])];
  const values = { boolean: ["true", "false"], number: ["10..20", "10"], date: days, time: days, "": [] };
  const texts = [...(example === "" ? [] : [typed(example)]), '"two words"'];
  const all = [...(filter === "text" ? texts : values[filter]), ...(isOptional(field) ? ["none"] : [])];
  return all.map((value) => `${filterName(field)}:${value}`);
}

function isOptional({ isRequired, isNullable }: FilterField): boolean {
  return !isRequired || isNullable;
}

/** The name of the filter of a field: its own, if that can be typed and is no other filter. */
function filterName(field: FilterField): string | undefined {
  const { name, filter } = field;
  if (field === token || field === created) return name;
  if (filter === "") return undefined;
  const isFree = typedName.test(name) && !["token", "created"].includes(name.toLowerCase());
  return isFree ? name : field === groupField() ? groupName() : undefined;
}

/** A name that no field has. */
function groupName(): string {
  let free = "group";
  while (collection.fields.some(({ name }) => name.toLowerCase() === free)) free += "_";
  return free;
}

const typedName = /^[\p{L}_][\p{L}\p{N}_.-]*$/u;

function fieldOf(filter: string): FilterField | undefined {
  const isOf = (fold: (name: string) => string) => (field: FilterField) =>
    fold(filterName(field) ?? "") === fold(filter);
  const fields = [...collection.fields, token, created];
  return fields.find(isOf(String)) ?? fields.find(isOf((name) => name.toLowerCase()));
}

function termsOf(query: string): Term[] {
  const terms = query.matchAll(/(?:([\p{L}_][\p{L}\p{N}_.-]*):)?(?:"((?:[^"\\]|\\.)*)"(?!\S)|(\S+))/gisu);
  return [...terms].map(([raw, filter, quoted, plain]) => ({
    raw,
    filter,
    text: quoted === undefined ? (plain ?? "") : quoted.replaceAll(/\\(.)/gs, "$1"),
    isQuoted: quoted !== undefined,
  }));
}

/**
 * The parameters of a request for a search. `problem` is a sentence about what is not understood,
 * or empty.
 */
export function parseQuery(query: string): { parameters: Parameters; problem: string } {
  const parameters: Parameters = [];
  for (const term of termsOf(query)) {
    const added = parseTerm(term);
    if (typeof added === "string") return { parameters: [], problem: added };
    const isTwice = parameters.some(([name]) => name !== "word" && added.some(([other]) => other === name));
    if (isTwice) return { parameters: [], problem: `Only one such filter can be given: ${term.raw}` };
    parameters.push(...added);
  }
  return { parameters, problem: "" };
}

/** @returns a string says what is wrong. */
function parseTerm({ raw, filter, text, isQuoted }: Term): Parameters | string {
  const unfinished = /^([\p{L}_][\p{L}\p{N}_.-]*):$/u.exec(raw)?.[1];
  const name = filter ?? unfinished;
  if (name !== undefined) {
    const field = fieldOf(name);
    if (field === undefined)
      return `There is no filter ${name}: here. To search for this text, put it in quotes: ${quoted(raw)}`;
    const parameters = unfinished === undefined ? parseField(field, text, isQuoted) : undefined;
    return parameters ?? `Write ${alternatives.format(examplesOf(field))}.`;
  }
  const range = isQuoted || collection.id.isText ? null : /^(-?\d{1,19})(?:-(-?\d{1,19}))?$/.exec(text);
  if (range === null) return text === "" ? [] : [["word", text]];
  const [, min = "", max = min] = range;
  return [
    ["idMin", min],
    ["idMax", max],
  ];
}

const alternatives = new Intl.ListFormat("en-GB", { type: "disjunction" });

const valuePatterns = {
  text: /^/,
  boolean: /^(?:true|false)$/i,
  number: /^-?\d+(?:\.\d+)?$/,
  date: /^\d{4}-\d\d-\d\d$/,
};

/** The parameters of a filter for a field; undefined if the value is none. */
function parseField(field: FilterField, text: string, isQuoted: boolean): Parameters | undefined {
  const { name, filter } = field;
  if (text === "none" && !isQuoted && isOptional(field)) return [["missing", name]];
  if (filter === "time") {
    const days = parseDays(text);
    return (
      days && [
        [`from.${name}`, days[0].toISOString()],
        [`below.${name}`, days[1].toISOString()],
      ]
    );
  }
  const isRange = (filter === "number" || filter === "date") && text.includes("..");
  const [first = "", last = ""] = isRange ? text.split("..") : [];
  const values: Parameters = isRange
    ? [
        [`from.${name}`, first],
        [`to.${name}`, last],
      ]
    : [[`is.${name}`, text]];
  const given = values.filter(([, value]) => !isRange || value !== "");
  const isRight = given.every(([, value]) => filter !== "" && valuePatterns[filter].test(value));
  return given.length > 0 && isRight ? given : undefined;
}

/** The beginning of the first of some days, and the end of the last one; undefined if there are none. */
function parseDays(text: string): [from: Date, end: Date] | undefined {
  const [first = "", last = first] = text === "today" ? [localDay(new Date())] : text.split("..");
  const [from, end] = [startOfDay(first, 0), startOfDay(last, 1)];
  return from === undefined || end === undefined ? undefined : [from, end];
}

function localDay(date: Date) {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].join("-");
}

/**
 * The time at which a day begins for the operator; undefined if there is no such day.
 *
 * @param day such as 2026-11-01.
 */
function startOfDay(day: string, daysLater: number): Date | undefined {
  const [, year, month, date] = (/^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(day) ?? []).map(Number);
  if (year === undefined || month === undefined || date === undefined) return undefined;
  const isThere = localDay(new Date(year, month - 1, date)) === [year, month, date].join("-");
  return isThere ? new Date(year, month - 1, date + daysLater) : undefined;
}

/** A search with another value of a field. */
export function withFilter(query: string, field: FilterField, value: string) {
  const others = termsOf(query).filter(({ filter }) => filter === undefined || fieldOf(filter) !== field);
  return [...others.map(({ raw }) => raw), `${filterName(field)}:${typed(value)}`].join(" ");
}

function typed(value: string): string {
  return /^[^\s"]\S*$/.test(value) && value !== "none" ? value : quoted(value);
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
