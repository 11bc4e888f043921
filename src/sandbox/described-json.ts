// Checks a JSON body against a schema of openapi-control.yaml, which is the one source of what
// control accepts.

import { BadRequestError } from "../admin-pages/admin-responses.ts";
import { faultIn } from "../contract/schema-check.ts";
import { referencedMembers } from "../json/json-pointer.ts";
import type { Json } from "../json/json-values.ts";
import { checkOf } from "../openapi/description/checks.ts";
import { Place } from "../openapi/document/place.ts";

/**
 * Returns a body that a schema allows. Rejects with a BadRequestError that says where it does not, and
 * what is right.
 *
 * @param reference refers to the schema, such as "#/components/schemas/Rule".
 */
export type ParseDescribed = <Described>(body: unknown, reference: string | undefined) => Promise<Described>;

/** Parses bodies by the schemas of a document. */
export function describedJson(document: object): ParseDescribed {
  const root = Place.root(document as Json);
  return async <Described>(body: unknown, reference = "#/") => {
    const check = await checkOf(root.own(...referencedMembers(reference)));
    const fault = faultIn(check, body);
    if (fault !== undefined) throw new BadRequestError(`The body is not valid: ${fault}.`);
    return body as Described;
  };
}
