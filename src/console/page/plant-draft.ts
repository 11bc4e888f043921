// Converts the fields of a plant for a form: their labels, their texts, and the body of what was
// typed. Its tests run without a browser.

import { capitalized } from "../../contract/words.ts";
import type { PageField } from "../page-contract.ts";
import { collection, groupField } from "./shown-contract.ts";

/**
 * The texts of a plant in the order of the contract's fields; null for a field that it does not
 * have.
 */
export type Texts = readonly (string | null)[];

/** The text of each field as typed. */
export type Draft = readonly string[];

/** Characters of a label; a name may have any number. */
const labelCharactersMax = 60;

/** The name of a field as a label: "Height cm" for height_cm and for heightCm. */
export function labelOf(field: string): string {
  const label = plainLabel(field);
  // Such as sender and Sender.
  const isShared = collection.fields.some(({ name }) => name !== field && plainLabel(name) === label);
  const characters = Array.from(isShared ? field : label);
  return characters.length > labelCharactersMax
    ? `${characters.slice(0, labelCharactersMax).join("")}…`
    : characters.join("");
}

function plainLabel(field: string): string {
  const words = field
    .replaceAll(/(?<=\p{Ll})\p{Lu}+/gu, (upper) => ` ${upper.length > 1 ? upper : upper.toLowerCase()}`)
    .replaceAll("_", " ")
    .trim();
  return words === "" ? JSON.stringify(field) : capitalized(words);
}

/** The field that groups plants, within a sentence; it is shown only where there is one. */
export function groupLabel() {
  return labelOf(groupField()?.name ?? "").toLowerCase();
}

/** The draft of a plant, or of a new one. */
export function draftOf(texts: Texts = []): Draft {
  // A textarea has line feeds only.
  return collection.fields.map((_, index) => (texts[index] ?? "").replace(/\r\n?/g, "\n"));
}

/**
 * The body that creates the plant of a draft. A field whose text was not changed stays as it is
 * stored. Throws if a text that must be JSON is not.
 *
 * @param id undefined if the server makes it.
 */
export function bodyOf(id: string | undefined, draft: Draft, stored: Texts = []): string {
  const unchanged = draftOf(stored);
  const members = collection.fields.flatMap((field, index) => {
    const text = draft[index] ?? "";
    const original = text === unchanged[index] ? (stored[index] ?? null) : null;
    if (text === "" && original === null && !field.isRequired) return [];
    const json = jsonOf(field, original ?? text);
    if (!field.isOthers) return [`${JSON.stringify(field.name)}:${json}`];
    const others = /^\s*\{(.*)\}\s*$/s.exec(json)?.[1]?.trim();
    if (others === undefined) throw new Error(`${labelOf(field.name)} must be an object.`);
    return others === "" ? [] : [others];
  });
  if (id !== undefined)
    members.unshift(
      `${JSON.stringify(collection.id.name)}:${collection.id.isText ? JSON.stringify(id) : id}`,
    );
  return `{${members.join(",")}}`;
}

/**
 * The JSON of a text. The server rejects one that is not of the type, and says what is expected.
 */
function jsonOf({ name, input, isText, isNullable }: PageField, text: string): string {
  if (isNullable && text === "null") return text;
  if (isText) {
    // If null is possible, the text "null" is typed in quotes, and so is a text that has quotes.
    const isQuoted = isNullable && /^".*"$/s.test(text) && jsonFault(text) === undefined;
    return isQuoted ? text : JSON.stringify(text);
  }
  const word = /^\s*(?:true|false)\s*$/i.test(text) ? text.trim().toLowerCase() : text;
  const json = word.trim().replace(/^(-?)0+(?=\d)/, "$1");
  const fault = jsonFault(json);
  // A schema may also accept the text itself, which is not what was meant.
  if (fault !== undefined && input === "json") throw new Error(`${labelOf(name)} must be JSON: ${fault}.`);
  return fault === undefined ? json : JSON.stringify(text);
}

function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
