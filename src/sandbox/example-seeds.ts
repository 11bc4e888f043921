// Finds the seeds that a contract has itself: the resources in the examples of its responses.

import { ApiError } from "../base/errors.ts";
import {
  type Collection,
  type Contract,
  type OpenApiDocument,
  type Plant,
  plantsPath,
} from "../contract/contract.ts";
import { parsePlantJson } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import { toExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { mediaExamples } from "../openapi/description/described-operation.ts";
import { Place } from "../openapi/document/place.ts";

interface ExampleSeeds {
  /**
   * The first plant of each id in the examples of responses, or of bodies if no response has an
   * example.
   */
  readonly plants: readonly Plant[];
  /** A sentence for each example that is no plant. */
  readonly notes: readonly string[];
}

export function exampleSeeds({ document }: Contract, collection: Collection): ExampleSeeds {
  const plants = new Map<PlantId, Plant>();
  const notes: string[] = [];
  for (const { pointer, value } of examplesOf(document, collection)) {
    const plant = toPlant(collection, value);
    if (plant instanceof ApiError) notes.push(`an example is no seed: ${plant.message} (at ${pointer})`);
    else if (!plants.has(plant.id)) plants.set(plant.id, plant);
  }
  return { plants: plants.size > 0 ? [...plants.values()] : collection.examples, notes };
}

function toPlant(collection: Collection, value: Json): Plant | ApiError {
  const names = [collection.id.name, ...collection.fields.map(({ name }) => name)];
  const members = Object.entries(value).filter(([name]) => names.includes(name));
  return parsePlantJson(collection, toExactJson(Object.fromEntries(members)));
}

interface PlacedExample {
  readonly pointer: string;
  readonly value: Json;
}

/** The resources in the examples of the responses of the create, the list and the get. */
function examplesOf(document: OpenApiDocument, { describedPath: path, list }: Collection): PlacedExample[] {
  const toPlants = plantsPath(list.members);
  const paths = Place.root(document, { isLenient: true }).at("paths");
  const items = paths.members.filter(([each]) => each === path || each.startsWith(`${path}/{`));
  return items
    .flatMap(([, item]) => ["get", "post"].flatMap((method) => item.at(method, "responses").members))
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, response]) => {
      const media = response.at("content").members.map(([, each]) => each);
      const values = media.flatMap(mediaExamples);
      return values.flatMap((value) => {
        const listed = toPlants.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), value);
        const resources = [value, listed].find(Array.isArray) ?? [value];
        return resources.filter(isObject).map((resource) => ({ pointer: response.pointer, value: resource }));
      });
    });
}
