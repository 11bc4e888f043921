// The words of a collection, from the names that its description has.

import type { Words } from "./contract.ts";
import { decodePercent } from "./json/percent-encoding.ts";

/** @param names of the schemas of the response and of the body. */
export function wordsOf(
  path: string,
  names: { readonly body: string | undefined; readonly response: string | undefined },
): Words {
  const last = decodePercent(path.split("/").findLast((segment) => segment !== "") ?? "items");
  const many = toWords(last);
  const named = (names.response ?? names.body)?.replaceAll(
    /^(?:New|Create|Add)(?=[A-Z])|(?:Create|Input|Request|Response|Body|Dto|DTO)$/g,
    "",
  );
  const one = named === undefined || named === "" ? singular(many) : toWords(named);
  return { one, many, body: names.body ?? `new ${one}` };
}

/** A name for an operation, such as listTrainTrips. */
export function operationName(verb: string, noun: string): string {
  return verb + noun.split(" ").map(capitalized).join("");
}

/** A word at the start of a sentence or a title. */
export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A text as it continues a sentence. */
export function uncapitalized(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

/** Words that sound as if they began with a consonant, such as "user", or with a vowel. */
const consonantal = /^(?:uni(?![mn])|us[aeu]|uti|ur[il]|eu|one\b)/i;
const vocal = /^(?:[aeiou]|hour|honest|hono|heir)/i;

/** A word with "a" or "an" before it. */
export function withArticle(word: string): string {
  return `${vocal.test(word) && !consonantal.test(word) ? "an" : "a"} ${word}`;
}

/** A name such as TrainTrip, train_trip or train-trip in plain words. */
function toWords(name: string): string {
  return name
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .replaceAll(/[-_.\s]+/g, " ")
    .trim()
    .toLowerCase();
}

/** The endings of plurals, which names of collections are, and of singulars; the first one counts. */
const endings: readonly (readonly [plural: RegExp, singular: string])[] = [
  [/(species|series|news|ss|is|(?<!men)us)$/, "$1"],
  [/people$/, "person"],
  [/children$/, "child"],
  [/(shel|lea|wol|loa|hal|cal)ves$/, "$1f"],
  [/(kni|wi|\bli)ves$/, "$1fe"],
  [/(mov|cook|calor|zomb|\b[dlpt])ies$/, "$1ie"],
  [/ies$/, "y"],
  [/((?:\bc|head)ache|niche)s$/, "$1"],
  [/(x|ch|sh|ss|[b-df-np-z]us|alias|canvas|hero|tomato|potato)es$/, "$1"],
  [/s$/, ""],
];

function singular(many: string): string {
  const [plural, ending] = endings.find(([each]) => each.test(many)) ?? ["", ""];
  return many.replace(plural, ending);
}
