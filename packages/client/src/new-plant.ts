// The types of plants, and the exact JSON of a NewPlant.

import { exactId, toExactJson } from "./bigint-json.ts";

/** A plant as it is returned, without its id. */
export interface Plant {
  readonly name: string;
  /** Absent for a plant without one. */
  readonly tag?: string;
}

/**
 * A plant to create. A string may be any, even empty; the server rejects U+0000 and unpaired
 * surrogates with 40003.
 */
export interface NewPlant {
  /**
   * Any int64, also negative. A number must be a safe integer; use a bigint beyond that, such as
   * `9007199254740993n`.
   */
  readonly id: bigint | number;
  readonly name: string;
  /** Absent or undefined for none. */
  readonly tag?: string | undefined;
}

/** Plants in the order of their ids. */
export interface PlantPage {
  readonly plants: readonly Plant[];
  /** The `after` of the next page; undefined on the last one. */
  readonly next: bigint | undefined;
}

/**
 * The JSON of a plant with its exact id. Throws a TypeError for an inexact id; the server validates
 * everything else.
 */
export function newPlantJson({ id, name, tag }: NewPlant): string {
  return toExactJson({ id: exactId(id), name, tag });
}

/** The Plant of a response with its known fields; undefined if it is not one. */
export function parsePlant(json: unknown): Plant | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  const { name, tag } = json as Readonly<Record<string, unknown>>;
  if (typeof name !== "string") return undefined;
  if (tag === undefined) return { name };
  return typeof tag === "string" ? { name, tag } : undefined;
}
