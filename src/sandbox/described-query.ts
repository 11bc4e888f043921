// Reads the query of a request by the parameters that openapi-control.yaml describes.

import { AdminError } from "../admin-pages/admin-responses.ts";
import { int64Max, int64Min, parseInt64 } from "../json/int64.ts";

/** An integer of the query, or a parameter of the path. */
export interface ControlParameter {
  readonly name: string;
  readonly in: string;
  readonly schema: {
    readonly type?: string;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly default?: number;
  };
}

/** Throws an AdminError for a name or a value that is not described. */
export function parseQuery(
  { url, method, path }: { readonly url: string; readonly method: string; readonly path: string },
  parameters: readonly ControlParameter[],
): Record<string, bigint | string | undefined> {
  const query = new URLSearchParams(url.split("?")[1]);
  const names = parameters.map(({ name }) => name);
  const unknown = [...query.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new AdminError(
      400,
      `${JSON.stringify(unknown)} is not a parameter of ${method} ${path}; it has ${names.join(", ") || "none"}.`,
    );
  const values = parameters.map(({ name, schema }) => {
    const { minimum = int64Min, maximum = int64Max } = schema;
    const text = query.get(name) ?? schema.default;
    // The type of a plant's id depends on the contract, so the id is parsed where it is used.
    if (text === undefined || schema.type === undefined) return [name, text] as const;
    const value = parseInt64(String(text));
    if (value !== undefined && value >= minimum && value <= maximum) return [name, value] as const;
    throw new AdminError(
      400,
      `${name} must be an integer from ${minimum} to ${maximum}, but is ${JSON.stringify(text)}.`,
    );
  });
  return Object.fromEntries(values);
}
