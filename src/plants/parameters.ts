// Parses the parameters of an operation's path and query, and says what is wrong with them.

import { ApiError } from "../base/errors.ts";
import type { Collection } from "../contract/contract.ts";
import { shorten } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { isStorable } from "../contract/stored-types.ts";
import type { ParameterDocument } from "../http/operation.ts";
import { parseInt64 } from "../json/int64.ts";

/** A parameter whose values a handler gets. */
export interface Parameter<Value> extends ParameterDocument {
  /** The end of a message, such as "an integer from 1 to 1000". */
  readonly expected: string;
  /** Parses the decoded text, and further ones of a repeated parameter; undefined if one is not valid. */
  readonly parse: (text: string, ...others: readonly string[]) => Value | undefined;
  /** The value of a query parameter that was not sent; without it the parameter is required. */
  readonly whenAbsent?: { readonly value: Value };
  readonly isRepeatable?: boolean;
  /** The name in messages, where the description has another one. */
  readonly shownName?: string;
}

/** The parameters of an operation by their names. */
export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** The values of parameters as a handler gets them. */
export type ParameterValues<Declared extends Parameters> = {
  readonly [Name in keyof Declared]: Declared[Name] extends Parameter<infer Value> ? Value : never;
};

/** An int64 in decimal digits, exact. */
export function int64(description: string): Parameter<bigint> {
  return {
    description,
    schema: { type: "integer", format: "int64" },
    expected: "an integer (int64) in decimal digits",
    parse: parseInt64,
  };
}

/** The id in the path of one resource. */
export function idInPath(collection: Collection): Parameter<PlantId> {
  const { words, idParameter } = collection;
  return { ...plantId(collection, `The id of the ${words.one}.`), shownName: idParameter };
}

/** An id. An integer outside the limits of the contract may be one of an earlier contract. */
export function plantId(collection: Collection, description: string): Parameter<PlantId> {
  const { type, schema } = collection.id;
  if (type.kind.name === "integer") return int64(description);
  // OpenAPI has no empty segment, and an empty text is no id.
  return {
    description,
    schema: { minLength: 1, example: collection.examples[0]?.id, ...schema },
    expected: type.expected,
    parse: type.parse,
  };
}

interface Int32Options {
  readonly description: string;
  readonly minimum: number;
  readonly maximum: number;
  /** The value where the parameter is absent. */
  readonly default: number;
}

/** An int32 within limits. */
export function int32({ description, minimum, maximum, default: value }: Int32Options): Parameter<number> {
  return {
    description,
    schema: { type: "integer", format: "int32", minimum, maximum, default: value },
    expected: `an integer from ${minimum} to ${maximum} in decimal digits`,
    parse(text) {
      const number = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
      return number >= minimum && number <= maximum ? number : undefined;
    },
    whenAbsent: { value },
  };
}

/** A text of limited length, which is not empty. */
export function text(description: string, maxLength = 1_000): Parameter<string> {
  return {
    description,
    schema: { type: "string", minLength: 1, maxLength },
    expected: `a text of 1 to ${maxLength} characters`,
    parse(sent) {
      const length = [...sent].length;
      return length > 0 && length <= maxLength ? sent : undefined;
    },
  };
}

/** True or false. */
export function boolean(description: string): Parameter<boolean> {
  return {
    description,
    schema: { type: "boolean" },
    expected: "true or false",
    parse: (sent) => (sent === "true" || sent === "false" ? sent === "true" : undefined),
  };
}

/** A query parameter that may be absent. */
export function optional<Value>(parameter: Parameter<Value>): Parameter<Value | undefined> {
  return { ...parameter, whenAbsent: { value: undefined } };
}

/** A query parameter without which a request is rejected. */
export function required<Value>({ whenAbsent: _, ...parameter }: Parameter<Value>): Parameter<Value> {
  return parameter;
}

/**
 * The values of all parameters, or invalidParameter. Other parameters of the query are ignored, as
 * unknown fields of a body are.
 *
 * @param segments the texts of the path's parameters by name, without percent-encoding.
 * @param url the target of the request.
 */
export function parseParameters<Declared extends Parameters>(
  declared: Declared,
  segments: Readonly<Record<string, string>>,
  url: string,
): ParameterValues<Declared> | ApiError {
  const start = url.indexOf("?");
  const query = start === -1 ? undefined : new URLSearchParams(url.slice(start));
  const values: Record<string, unknown> = {};
  /** Each with its words for the log, where it quotes the request. */
  const errors: (readonly [error: string, logged?: string])[] = [];
  for (const [key, parameter] of Object.entries(declared)) {
    const name = parameter.shownName ?? key;
    const segment = segments[key];
    // Most requests have one parameter, in the path, for which no lists are made: 0.97 of a get.
    const parsed = segment === undefined || !isStorable(segment) ? undefined : parameter.parse(segment);
    if (parsed !== undefined) {
      values[key] = parsed;
      continue;
    }
    const all = segment === undefined ? (query?.getAll(key) ?? []) : [segment];
    const [first, ...others] = all;
    const text = all.join();
    const value = first === undefined || !isStorable(text) ? undefined : parameter.parse(first, ...others);
    if (all.length > 1 && parameter.isRepeatable !== true)
      errors.push([`"${name}" must be sent once, but was sent ${all.length} times`]);
    else if (value !== undefined) values[key] = value;
    else if (first !== undefined) {
      const expected = `"${name}" must be ${parameter.expected}${isStorable(text) ? "" : ", without U+0000"}`;
      errors.push([`${expected}, but is ${JSON.stringify(shorten(text))}`, expected]);
    } else if (parameter.whenAbsent !== undefined) values[key] = parameter.whenAbsent.value;
    else errors.push([`"${name}" is required and must be ${parameter.expected}, but is missing`]);
  }
  if (errors.length === 0) return values as ParameterValues<Declared>;
  const sentence = (each: readonly string[]) => `A parameter is not valid: ${each.join("; ")}.`;
  const logged = sentence(errors.map(([error, withoutValues = error]) => withoutValues));
  return new ApiError("invalidParameter", sentence(errors.map(([error]) => error)), { logged });
}
