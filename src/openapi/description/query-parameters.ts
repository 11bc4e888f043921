// Finds the parameters of a list, and what each is for by its name: pages, or something else.

import type { ListShape } from "../../contract/contract.ts";
import { plainName } from "../../contract/list-order.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import type { Place } from "../document/place.ts";
import { propertiesOf } from "../schema/restrictions.ts";
import { readObjectSchema } from "./body-schema.ts";
import type { DescribedOperation } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";
import { valueTypes } from "./field-type.ts";

type Role = ListShape["paging"] | "limit" | "unknown";

/** Parameters of the query by their usual names. */
const namesOfRole: Readonly<Record<Role, string>> = {
  limit: "limit size perpage pagesize itemsperpage take first maxresults pagelimit",
  offset: "offset skip start startindex pageoffset",
  page: "page pagenumber pageno pageindex",
  after: "after startingafter cursor nextcursor pagetoken nexttoken afterid marker",
  unknown: "before endingbefore beforeid previouscursor prevcursor",
};

function roleOf(name: string): Role | undefined {
  const plain = plainName(name);
  const known = Object.entries(namesOfRole).find(([, names]) => names.split(" ").includes(plain));
  if (known !== undefined) return known[0] as Role;
  return /^page|cursor|offset|pagetoken/.test(plain) ? "unknown" : undefined;
}

export interface QueryParameter {
  readonly name: string;
  readonly role: Role | undefined;
  readonly place: Place;
  readonly schema: Json;
  /** The place of its schema; undefined for none. */
  readonly checked: Place | undefined;
  readonly isRequired: boolean;
}

/** The parameters of the query, also those that springdoc describes as members of one object. */
export function queryParameters({ parameters }: DescribedOperation): QueryParameter[] {
  return parameters.flatMap((place) => {
    if (place.at("in").value !== "query") return [];
    const schema = place.at("schema").object === undefined ? {} : expandSchema(place.at("schema"));
    const isObjectOnly = [...valueTypes(schema)].every((type) => ["object", "null"].includes(type));
    const isForm = (place.at("style").value ?? "form") === "form" && place.at("explode").value !== false;
    const isRequired = place.at("required").value === true;
    const named = Object.entries(isObjectOnly && isForm ? propertiesOf(schema) : {});
    if (named.length > 0)
      return named.map(([name, own]) => ({
        name,
        role: roleOf(name),
        place,
        schema: isObject(own) ? own : {},
        checked: readObjectSchema(place.at("schema")).properties.get(name)?.place,
        isRequired: false,
      }));
    const name = String(place.at("name").value);
    const described = place.at("schema");
    const checked = described.value === undefined ? undefined : described;
    return [{ name, role: roleOf(name), place, schema, checked, isRequired }];
  });
}
