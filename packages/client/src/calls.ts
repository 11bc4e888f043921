// The calls of the interface: what each one sends, and how its response is parsed.

import { exactId } from "./bigint-json.ts";
import { type NewPlant, newPlantJson, type Plant, type PlantPage, parsePlant } from "./new-plant.ts";

export interface Call<Result extends object> {
  readonly method: "DELETE" | "GET" | "POST";
  /** The part of the URL after "/plants". */
  readonly target: string;
  readonly body?: string;
  /** The status of a success. */
  readonly status: number;
  /** The body of a success in words, such as "a Plant". */
  readonly expected: string;
  /** Returns undefined for a response that is not the Plant Store's. */
  readonly parse: (json: unknown, headers: Headers) => Result | undefined;
}

export function createCall(plant: NewPlant): Call<Plant> {
  const body = newPlantJson(plant);
  return {
    method: "POST",
    target: "",
    body,
    status: 200,
    expected: "a Plant",
    parse: parsePlant,
  };
}

export function listCall(limit: number | undefined, after: bigint | number | undefined): Call<PlantPage> {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set("limit", String(limit));
  if (after !== undefined) query.set("after", String(exactId(after)));
  return {
    method: "GET",
    target: query.toString() === "" ? "" : `?${query}`,
    status: 200,
    expected: "an array of Plants",
    parse(json, headers) {
      if (!Array.isArray(json)) return undefined;
      const plants = json.map(parsePlant).filter((plant) => plant !== undefined);
      return plants.length === json.length ? { plants, next: nextId(headers) } : undefined;
    },
  };
}

/** The `after` of the next page's address (RFC 8288). */
function nextId(headers: Headers): bigint | undefined {
  const [, digits] = /[?&]after=(-?\d+)[^>]*>; *rel="next"/.exec(headers.get("link") ?? "") ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

export function deleteCall(id: bigint | number): Call<object> {
  return {
    method: "DELETE",
    target: `/${exactId(id)}`,
    status: 204,
    expected: "empty",
    parse: () => ({}),
  };
}
