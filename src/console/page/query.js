// The search as it is typed, such as `mons tag:tropical created:today`, and the parameters of a
// request for it.

/**
 * @typedef {[name: string, value: string][]} Parameters
 * @typedef {{ raw: string, filter: string | undefined, text: string, isQuoted: boolean }} Term
 */

/** The filters, with the syntax of their values. @type {Record<string, string>} */
const examples = {
  tag: 'tag:tropical, tag:"two words" or tag:none',
  token: "token:ci",
  created: "created:today, created:2026-11-01 or created:2026-11-01..2026-11-07",
};

/** @param {string} query @returns {Term[]} */
function termsOf(query) {
  const terms = query.matchAll(/(?:([a-z]+):)?(?:"((?:[^"\\]|\\.)*)"(?!\S)|(\S+))/gis);
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
 *
 * @param {string} query
 * @returns {{ parameters: Parameters, problem: string }}
 */
export function parseQuery(query) {
  /** @type {Parameters} */
  const parameters = [];
  for (const term of termsOf(query)) {
    const added = parseTerm(term);
    if (typeof added === "string") return { parameters: [], problem: added };
    const isTwice = parameters.some(([name]) => name !== "word" && added.some(([other]) => other === name));
    if (isTwice) return { parameters: [], problem: `Only one such filter can be given: ${term.raw}` };
    parameters.push(...added);
  }
  return { parameters, problem: "" };
}

/** @param {Term} term @returns {Parameters | string} a string says what is wrong. */
function parseTerm({ raw, filter, text, isQuoted }) {
  const unfinished = /^([a-z]+):$/i.exec(raw)?.[1]?.toLowerCase();
  const name = filter ?? unfinished;
  if (name !== undefined) {
    const example = examples[name];
    if (example === undefined)
      return `There is no filter ${name}: here. To search for this text, put it in quotes: "${raw}"`;
    const parameters = unfinished === undefined ? parseFilter(name, text, isQuoted) : undefined;
    return parameters ?? `Write ${example}.`;
  }
  const range = isQuoted ? null : /^(-?\d{1,19})-(-?\d{1,19})$/.exec(text);
  if (range === null) return text === "" ? [] : [["word", text]];
  return [
    ["idMin", range[1] ?? ""],
    ["idMax", range[2] ?? ""],
  ];
}

/** @param {string} name @param {string} text @param {boolean} isQuoted @returns {Parameters | undefined} */
function parseFilter(name, text, isQuoted) {
  if (name === "tag") return [text === "none" && !isQuoted ? ["untagged", "true"] : ["tag", text]];
  if (name === "token") return [["token", text]];
  const [first = "", last = first] = text === "today" ? [localDay(new Date())] : text.split("..");
  const [from, end] = [startOfDay(first, 0), startOfDay(last, 1)];
  if (from === undefined || end === undefined) return undefined;
  return [
    ["createdFrom", String(from)],
    ["createdEnd", String(end)],
  ];
}

/** @param {Date} date */
function localDay(date) {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()].join("-");
}

/**
 * The time at which a day begins for the operator; undefined if there is no such day.
 *
 * @param {string} day such as 2026-11-01.
 * @param {number} daysLater
 */
function startOfDay(day, daysLater) {
  const [, year, month, date] = (/^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(day) ?? []).map(Number);
  if (year === undefined || month === undefined || date === undefined) return undefined;
  const isThere = localDay(new Date(year, month - 1, date)) === [year, month, date].join("-");
  return isThere ? new Date(year, month - 1, date + daysLater).getTime() : undefined;
}

/**
 * A search with another tag.
 *
 * @param {string} query
 * @param {string} tag
 */
export function withTag(query, tag) {
  const others = termsOf(query).filter(({ filter }) => filter !== "tag");
  const isPlain = /^[^\s"]\S*$/.test(tag) && tag !== "none";
  const typed = isPlain ? tag : `"${tag.replaceAll(/["\\]/g, "\\$&")}"`;
  return [...others.map(({ raw }) => raw), `tag:${typed}`].join(" ");
}
