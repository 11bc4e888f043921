// Finds the words for a collection's resources, from the names that its description has.

import { decodePercent } from "../json/percent-encoding.ts";
import type { Words } from "./contract.ts";

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
  const given = named === undefined || named === "" ? many : toWords(named);
  // A schema may be named after all of them, such as ssh_keys.
  const one = given.endsWith(many) ? given.slice(0, -many.length) + singular(many) : given;
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

/**
 * A word with "a" or "an" before it: "user" sounds as if it began with a consonant, and "ssh" with a
 * vowel, as it is spelled out.
 */
export function withArticle(word: string): string {
  const isVowel = /^(?!eu|one\b|uni|u[rst][aeil])(?:[aeiou]|hour|[fhlmnrsx][^aeiouy\s]*(?:\s|$))/i;
  return `${isVowel.test(word) ? "an" : "a"} ${word}`;
}

/** A name such as TrainTrip, train_trip or train-trip in plain words. */
export function toWords(name: string): string {
  return name
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .replaceAll(/[-_.\s]+/g, " ")
    .trim()
    .toLowerCase();
}

/**
 * The endings of plurals, which names of collections are, and of singulars; the first one counts.
 * For a description whose schemas have no names: the word is only in messages.
 */
const endings: readonly (readonly [plural: RegExp, singular: string])[] = [
  [/(species|series|news|ss|is|us)$/, "$1"],
  [/people$/, "person"],
  [/(?<!mov|cook)ies$/, "y"],
  [/(x|ch|sh|ss|status|hero)es$/, "$1"],
  [/s$/, ""],
];

function singular(many: string): string {
  const [plural, ending] = endings.find(([each]) => each.test(many)) ?? ["", ""];
  return many.replace(plural, ending);
}
