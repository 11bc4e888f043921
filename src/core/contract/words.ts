// The words of a resource, from the names that its description has.

import type { Words } from "./contract.ts";
import { decodePercent } from "./percent-encoding.ts";

/** @param names of the schemas of the response and of the body, and the path of the collection. */
export function wordsOf(
  service: string,
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
  return { service, one, many, body: names.body ?? `new ${one}` };
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

/** A word with "a" or "an" before it. */
export function withArticle(word: string): string {
  return `${/^[aeiou]/i.test(word) ? "an" : "a"} ${word}`;
}

/** A name such as TrainTrip, train_trip or train-trip in plain words. */
function toWords(name: string): string {
  return name
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
    .replaceAll(/[-_.\s]+/g, " ")
    .trim()
    .toLowerCase();
}

function singular(many: string): string {
  if (many.endsWith("ies")) return `${many.slice(0, -3)}y`;
  if (/(?:s|x|ch|sh)es$/.test(many)) return many.slice(0, -2);
  return many.endsWith("s") && !many.endsWith("ss") ? many.slice(0, -1) : many;
}
