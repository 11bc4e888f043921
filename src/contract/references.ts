// Finds the collection whose ids a field has.

import { isObject } from "../json/json-values.ts";
import type { Collection, Field } from "./contract.ts";
import { toWords } from "./words.ts";

/** The name in the field's schema of the collection whose ids it has; undefined for none. */
export function namedReference({ schema }: Field): unknown {
  return isObject(schema) ? schema["x-plantstore-references"] : undefined;
}

/**
 * The collection that `x-plantstore-references` names, or after which the field is named, such as
 * rooms for roomId and room_id. Undefined if it has no ids, or others of another type.
 */
export function referenceOf(field: Field, all: readonly Collection[]): Collection | undefined {
  const isOfIds = ({ id }: Collection) => id.type.kind.name === field.type.kind.name;
  const named = namedReference(field);
  if (named !== undefined) return all.find((each) => each.name === named && isOfIds(each));
  const word = /^(.+?)(?:_id|Id)$/.exec(field.name)?.[1];
  if (word === undefined) return undefined;
  const words = toWords(word);
  return all.find((each) => [each.words.one, each.words.many].includes(words) && isOfIds(each));
}
