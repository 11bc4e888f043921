// Parses the search as it is typed, such as `mons tag:tropical created:today`, to the parameters of
// a request for it.

import { collection, groupName } from "./shown-contract.ts";

type Parameters = [name: string, value: string][];

interface Term {
  raw: string;
  filter: string | undefined;
  text: string;
  isQuoted: boolean;
}

/** Examples of all filters, for the help of the search. */
export function filterExamples(): string[] {
  const group = groupFilter();
  return [
    ...(collection.id.isText ? [] : ["300-400"]),
    ...(group === undefined ? [] : [withGroup("", collection.groupExample), `${group}:none`]),
    "token:ci",
    "created:today",
    "created:2026-11-01..2026-11-07",
  ];
}

/** The syntax of the values of a filter; undefined if there is no such filter. */
function exampleOf(filter: string): string | undefined {
  const group = groupFilter();
  if (group !== undefined && filter === group)
    return `${withGroup("", collection.groupExample)}, ${group}:"two words" or ${group}:none`;
  if (filter === "token") return "token:ci";
  return filter === "created"
    ? "created:today, created:2026-11-01 or created:2026-11-01..2026-11-07"
    : undefined;
}

/**
 * The name of the filter for groups: that of the field, if it can be typed and is no other filter.
 */
function groupFilter(): string | undefined {
  const name = groupName();
  if (name === undefined) return undefined;
  const isFree = /^[a-z][a-z0-9_]*$/.test(name) && name !== "token" && name !== "created";
  return isFree ? name : "group";
}

function termsOf(query: string): Term[] {
  const terms = query.matchAll(/(?:([a-z][a-z0-9_]*):)?(?:"((?:[^"\\]|\\.)*)"(?!\S)|(\S+))/gis);
  return [...terms].map(([raw, filter, quoted, plain]) => ({
    raw,
    filter: filter?.toLowerCase(),
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
  const unfinished = /^([a-z][a-z0-9_]*):$/i.exec(raw)?.[1]?.toLowerCase();
  const name = filter ?? unfinished;
  if (name !== undefined) {
    const example = exampleOf(name);
    if (example === undefined)
      return `There is no filter ${name}: here. To search for this text, put it in quotes: ${quoted(raw)}`;
    const parameters = unfinished === undefined ? parseFilter(name, text, isQuoted) : undefined;
    return parameters ?? `Write ${example}.`;
  }
  const range = isQuoted || collection.id.isText ? null : /^(-?\d{1,19})(?:-(-?\d{1,19}))?$/.exec(text);
  if (range === null) return text === "" ? [] : [["word", text]];
  const [, min = "", max = min] = range;
  return [
    ["idMin", min],
    ["idMax", max],
  ];
}

function parseFilter(name: string, text: string, isQuoted: boolean): Parameters | undefined {
  if (name === groupFilter()) return [text === "none" && !isQuoted ? ["ungrouped", "true"] : ["group", text]];
  if (name === "token") return [["token", text]];
  const [first = "", last = first] = text === "today" ? [localDay(new Date())] : text.split("..");
  const [from, end] = [startOfDay(first, 0), startOfDay(last, 1)];
  if (from === undefined || end === undefined) return undefined;
  return [
    ["createdFrom", String(from)],
    ["createdEnd", String(end)],
  ];
}

function localDay(date: Date) {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].join("-");
}

/**
 * The time at which a day begins for the operator; undefined if there is no such day.
 *
 * @param day such as 2026-11-01.
 */
function startOfDay(day: string, daysLater: number) {
  const [, year, month, date] = (/^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(day) ?? []).map(Number);
  if (year === undefined || month === undefined || date === undefined) return undefined;
  const isThere = localDay(new Date(year, month - 1, date)) === [year, month, date].join("-");
  return isThere ? new Date(year, month - 1, date + daysLater).getTime() : undefined;
}

/** A search for another group. */
export function withGroup(query: string, group: string) {
  const others = termsOf(query).filter(({ filter }) => filter !== groupFilter());
  const isPlain = /^[^\s"]\S*$/.test(group) && group !== "none";
  const typed = isPlain ? group : quoted(group);
  return [...others.map(({ raw }) => raw), `${groupFilter()}:${typed}`].join(" ");
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
