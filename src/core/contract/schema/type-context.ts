// The context in which the type of a property is read from its schema.

import type { Place } from "../description/place.ts";

export interface TypeContext {
  readonly pointer: string;
  /** The part of a request's time that the patterns of this field may take. */
  readonly share: number;
  /** Takes a sentence about something that is not checked, or limited. */
  readonly note: (sentence: string) => void;
}

/** The context of the property with a name. */
export function contextAt(place: Place, name: string, share = 1): TypeContext {
  return { pointer: place.pointer, share, note: (sentence) => place.note(`"${name}": ${sentence}`) };
}
