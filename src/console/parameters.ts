// Parses parameters of requests to the console. The functions throw a BadRequestError for those
// that the page does not send.

import { BadRequestError } from "../admin-pages/admin-responses.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";

/** The id of a plant. */
export function parseId({ id: { type } }: Collection, text: string): PlantId {
  const id = type.parse(type.kind.name === "integer" ? text.trim() : text);
  if (id === undefined)
    throw new BadRequestError(
      type.kind.name === "integer"
        ? "An id must be a 64-bit integer, such as 42 or -7."
        : `An id must be ${type.expected}.`,
    );
  return id;
}

/** The collection that a request names, or the first one; undefined if the contract has none. */
export function parseCollection(
  { collections }: Contract,
  parameters: URLSearchParams,
): Collection | undefined {
  if (!parameters.has("collection")) return collections[0];
  const names = collections.map(({ name }) => name);
  return collections[names.indexOf(parseChoice(parameters, "collection", names))];
}

const alternatives = new Intl.ListFormat("en-GB", { type: "disjunction" });

/** A parameter that must be one of some words. */
export function parseChoice<Choice extends string>(
  parameters: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice {
  const choice = choices.find((one) => one === parameters.get(name));
  if (choice === undefined) throw new BadRequestError(`The ${name} must be ${alternatives.format(choices)}.`);
  return choice;
}

/** Fields of a JSON body that must be strings. */
export function pickStrings<Name extends string>(
  body: Readonly<Record<string, unknown>>,
  ...names: readonly Name[]
): Record<Name, string> {
  const wrong = names.find((name) => typeof body[name] !== "string");
  if (wrong !== undefined) throw new BadRequestError(`"${wrong}" must be a string.`);
  return body as Record<Name, string>;
}
