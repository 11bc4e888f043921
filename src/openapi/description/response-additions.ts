// Finds what a response requires below the first level and a body need not have: a success without it
// would break its own schema.

import { type DraftFilter, emptyFilter, type JsonFilter, unlessEmpty } from "../../json/json-filter.ts";
import { isObject } from "../../json/json-values.ts";
import { type Place, readable } from "../document/place.ts";
import { isHiddenIn, type ObjectSchema, type Property, readObjectSchema } from "./body-schema.ts";

type ConstantOf = (name: string, property: Property) => Promise<string | undefined>;

/**
 * The filter that adds to the values of a property what the response requires of them. What nothing fits
 * is noted. Undefined if nothing is added.
 *
 * @param sent the property in the body.
 * @param constantOf finds the JSON of a member that is not stored.
 */
export async function additionsTo(
  sent: Property,
  returned: Property,
  constantOf: ConstantOf,
): Promise<JsonFilter | undefined> {
  return unlessEmpty(await new Additions(constantOf).draft(placesOf(sent), placesOf(returned)));
}

const placesOf = ({ places }: Property) => places.map(({ place }) => place);

class Additions {
  readonly #constantOf: ConstantOf;
  readonly #drafts = new Map<string, DraftFilter>();

  constructor(constantOf: ConstantOf) {
    this.#constantOf = constantOf;
  }

  async draft(sent: readonly Place[], returned: readonly Place[]): Promise<DraftFilter> {
    const key = JSON.stringify([sent, returned].map((each) => each.map(targetPointer)));
    const before = this.#drafts.get(key);
    if (before !== undefined) return before;
    const draft = emptyFilter();
    this.#drafts.set(key, draft);
    for (const object of objectsOf(returned)) await this.#addMembers(draft, objectsOf(sent), object);
    const [sentItems, returnedItems] = [itemsOf(sent), itemsOf(returned)];
    if (sentItems.length > 0 && returnedItems.length > 0)
      draft.items = await this.draft(sentItems, returnedItems);
    return draft;
  }

  async #addMembers(
    draft: DraftFilter,
    sent: readonly ObjectSchema[],
    returned: ObjectSchema,
  ): Promise<void> {
    for (const [name, property] of returned.properties) {
      if (isHiddenIn(property, "response")) continue;
      const own = sent.flatMap((each) => each.properties.get(name) ?? []);
      const taken = own.filter((each) => !isHiddenIn(each, "request"));
      if (property.isRequired && !taken.some(({ isRequired }) => isRequired)) {
        const json = await this.#constantOf(name, property);
        if (json !== undefined) draft.added.push([name, json]);
        else
          property.place.note(`a response may lack "${name}", which it requires, as a body need not have it`);
      }
      if (taken.length > 0)
        draft.members.set(name, await this.draft(taken.flatMap(placesOf), placesOf(property)));
    }
  }
}

function targetPointer(place: Place): string {
  return readable(() => place.target)?.pointer ?? place.pointer;
}

/** The objects with properties that values of all places are. */
function objectsOf(places: readonly Place[]): ObjectSchema[] {
  return places.flatMap((place) => readable(() => readObjectSchema(place)) ?? []);
}

function itemsOf(places: readonly Place[]): Place[] {
  return places.flatMap((place) => {
    const items = readable(() => place.at("items"));
    return items !== undefined && isObject(items.value) ? [items] : [];
  });
}
