// Declares the check of a value against a schema, which fields and bodies use, and limits the work
// that it may take.

import { pointerTo } from "../json/json-pointer.ts";

export interface SchemaCheck {
  /** The values that it accepts, in words such as "a string of at most 5 characters". */
  readonly expected: string;
  /** The first fault of a value; undefined if it is accepted. Throws WorkExceeded. */
  fault(value: unknown, work: Work): Fault | undefined;
}

/** A fault of a value, at a path within it. */
export interface Fault {
  readonly path: readonly (string | number)[];
  /** The value that must be at the path, such as `an object with the member "claws"`. */
  readonly expected: string;
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

/** Whether a check accepts a text of the head of a request, or the JSON that it is. */
export function acceptsText(check: SchemaCheck, text: string): boolean {
  const json = /^(?:-?\d{1,15}|true|false)$/.test(text) ? [JSON.parse(text)] : [];
  return [text, ...json].some((each) => check.fault(each, new Work()) === undefined);
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

/** Thrown when the work of a body is used up: its schema takes too long for it. */
export class WorkExceeded extends Error {
  constructor() {
    super("checking the value against the contract's schema takes too long");
  }
}

/** Why a value that made its check throw is not accepted; undefined for an error of another kind. */
export function excessOf(error: unknown): string | undefined {
  if (error instanceof WorkExceeded) return "its check takes too long; send fewer items or shorter texts";
  return error instanceof RangeError ? "it is nested too deeply" : undefined;
}

/**
 * Steps of one body: one for each keyword that is applied to a value, and more for what takes longer.
 * All of them take some hundredths of a second, in which no other request is served.
 */
const stepsMax = 400_000;

/** A budget of steps, shared by all checks of one body. */
export class Work {
  #left: number;

  constructor(steps = stepsMax) {
    this.#left = steps;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new WorkExceeded();
  }
}

/** Numbers that are read again, digit by digit: a double may not hold them. */
const longNumbers = /(?<=[[:,\s])-?\d(?:[\d.]{15,}|[\d.]*[eE][+-]?\d+)/g;

/** Throws WorkExceeded for JSON whose long numbers alone would use the work up. */
export function assertReadable(json: string): void {
  if (json.length < 65_536) return;
  const work = new Work();
  for (const [number] of json.matchAll(longNumbers)) work.spend(longNumberSteps(number));
}

/** The steps that a number of many digits takes. */
export function longNumberSteps(text: string): number {
  return 8 + (text.length >> 1);
}

/** The result of work, or why a value that made it throw is not accepted. */
export function orExcess<Result>(work: () => Result): Result | string {
  try {
    return work();
  } catch (error) {
    const excess = excessOf(error);
    if (excess === undefined) throw error;
    return excess;
  }
}

/** Describes what is wrong with a value. */
export function faultIn(check: SchemaCheck, value: unknown): string | undefined {
  const fault = orExcess(() => check.fault(value, new Work()));
  return typeof fault === "object" ? describeFault(fault) : fault;
}
