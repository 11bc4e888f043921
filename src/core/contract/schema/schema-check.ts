// The check of a value against a schema, as the types of fields and the parsing of bodies use it.

import { pointerTo } from "../json/json-pointer.ts";
import type { Fault } from "./run.ts";
import type { Work } from "./work.ts";

export interface SchemaCheck {
  /** The values that it accepts, in words such as "a string of at most 5 characters". */
  readonly expected: string;
  /** The first fault of a value; undefined if it is accepted. Throws WorkExceeded. */
  fault(value: unknown, work: Work): Fault | undefined;
}

/** Says what is wrong with a value, such as `"name" must be a string`, or `/tags/0 must be a string`. */
export function describeFault({ path, expected }: Fault): string {
  const [first, ...below] = path;
  if (first === undefined) return `it must be ${expected}`;
  const isMember = typeof first === "string" && below.length === 0;
  return `${isMember ? JSON.stringify(first) : pointerTo("", ...path.map(String))} must be ${expected}`;
}

/** Says only which field has a fault: clients choose the names of other members. */
export function loggedFault({ path }: Fault, fields: readonly { readonly name: string }[]): string {
  const field = fields.find(({ name }) => name === path[0]);
  return `${field === undefined ? "it" : JSON.stringify(field.name)} does not fit its schema`;
}

/** A check of several schemas, all of which a value must fit. */
export function allOf(checks: readonly SchemaCheck[]): SchemaCheck {
  return {
    expected: checks[0]?.expected ?? "a value",
    fault(value, work) {
      for (const check of checks) {
        const found = check.fault(value, work);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

/** A check that accepts every value. */
export const anyValue: SchemaCheck = { expected: "a value", fault: () => undefined };
