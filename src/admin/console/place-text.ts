// Places between two pages, as the page of the console hands them back: their order, their number, and where names are
// in order the beginning of a name.

import type { Page, Place } from "../../store/plant-reader.ts";
import { BadRequest } from "./answers.ts";

/** A place, and the order that it is in. */
export interface OrderedPlace {
  readonly order: Page["order"];
  readonly place: Place;
}

export function placeText(order: Page["order"], { number, key }: Place): string {
  const parts = [order, String(number)];
  if (key !== undefined) parts.push(Buffer.from(key).toString("base64url"));
  return parts.join(".");
}

/** Throws a BadRequest if the text is none that placeText made. */
export function readPlace(text: string): OrderedPlace {
  const [, order, digits = "", key] =
    /^(newest|id|name)\.(-?\d{1,19})(?:\.([A-Za-z0-9_-]{0,600}))?$/.exec(text) ?? [];
  const number = order === undefined ? undefined : BigInt(digits);
  if (number === undefined || BigInt.asIntN(64, number) !== number)
    throw new BadRequest("There is no such page; begin with the first one.");
  const place = key === undefined ? { number } : { number, key: Buffer.from(key, "base64url").toString() };
  return { order: order as Page["order"], place };
}
