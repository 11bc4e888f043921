// Places between two pages, as the page of the console hands them back: the list that they are in, their number, and where
// names are in order the beginning of a name.

import type { Cursor, Page } from "../../store/plant-reader.ts";
import { BadRequest } from "./responses.ts";

/** What a place is in: an order of the store, or this server's latest creates, whose positions are their own. */
type List = Page["order"] | "latest";

/** A place, and what it is in. */
export interface ListCursor {
  readonly list: List;
  readonly place: Cursor;
}

export const noSuchPage = "There is no such page; begin with the first one.";

export function encodeCursor(list: List, { number, key }: Cursor): string {
  const parts = [list, String(number)];
  if (key !== undefined) parts.push(Buffer.from(key).toString("base64url"));
  return parts.join(".");
}

/** Throws a BadRequest if the text is none that encodeCursor made. */
export function decodeCursor(text: string): ListCursor {
  const [, list, digits = "", key] =
    /^(newest|latest|id|name)\.(-?\d{1,19})(?:\.([A-Za-z0-9_-]{0,600}))?$/.exec(text) ?? [];
  const number = list === undefined ? undefined : BigInt(digits);
  if (number === undefined || BigInt.asIntN(64, number) !== number) throw new BadRequest(noSuchPage);
  const place = key === undefined ? { number } : { number, key: Buffer.from(key, "base64url").toString() };
  return { list: list as List, place };
}
