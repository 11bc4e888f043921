// The seeds that a contract has itself: the resources in the examples of its responses.

import type { Contract, Plant } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { pointerTo } from "../core/contract/json-pointer.ts";
import { parsePlantJson } from "../core/contract/plant.ts";
import type { PlantId } from "../core/contract/plant-id.ts";
import { isObject, type Json, Schemas } from "../core/contract/schemas.ts";

interface ExampleSeeds {
  /** Of several with one id the first. Those of bodies, if no response has an example. */
  readonly plants: readonly Plant[];
  /** A sentence for each example that is no plant. */
  readonly notes: readonly string[];
}

export function exampleSeeds(contract: Contract): ExampleSeeds {
  const plants = new Map<PlantId, Plant>();
  const notes: string[] = [];
  for (const { pointer, value } of examplesOf(contract)) {
    const plant = toPlant(contract, value);
    if (plant instanceof ApiError) notes.push(`an example is no seed: ${plant.message} (at ${pointer})`);
    else if (!plants.has(plant.id)) plants.set(plant.id, plant);
  }
  return { plants: plants.size > 0 ? [...plants.values()] : contract.examples, notes };
}

function toPlant(contract: Contract, value: Json): Plant | ApiError {
  const names = [contract.id.name, ...contract.fields.map(({ name }) => name)];
  const id = value[contract.id.name];
  if (typeof id === "number" && !Number.isSafeInteger(id))
    return new ApiError(
      "invalidPlant",
      `its "${contract.id.name}" is beyond 2^53, where numbers of a description are not exact; use a file of seeds.`,
    );
  const members = Object.entries(value).filter(([name]) => names.includes(name));
  return parsePlantJson(contract, JSON.stringify(Object.fromEntries(members)));
}

interface PlacedExample {
  readonly pointer: string;
  readonly value: Json;
}

/** The resources in the examples of the responses of the create, the list and the get. */
function examplesOf(contract: Contract): PlacedExample[] {
  const { document, describedPath: path, list } = contract;
  const schemas = new Schemas(document);
  const listMember = list.members?.find(([, holds]) => holds === "plants")?.[0];
  const found: PlacedExample[] = [];
  for (const [each, item] of Object.entries(document.paths ?? {})) {
    if (each !== path && !each.startsWith(`${path}/{`)) continue;
    for (const method of ["get", "post"]) {
      const at = pointerTo("", "paths", each, method, "responses");
      const operation = schemas.resolve(schemas.resolve(item, at)?.[method], at);
      for (const [status, response] of Object.entries(
        isObject(operation?.responses) ? operation.responses : {},
      )) {
        const content = status.startsWith("2") ? schemas.resolve(response, at)?.content : undefined;
        for (const media of Object.values(isObject(content) ? content : {})) {
          const pointer = pointerTo(at, status);
          for (const value of valuesOf(schemas, media, pointer)) {
            const listed = isObject(value) && listMember !== undefined ? value[listMember] : undefined;
            const resources = Array.isArray(value) ? value : Array.isArray(listed) ? listed : [value];
            found.push(...resources.filter(isObject).map((resource) => ({ pointer, value: resource })));
          }
        }
      }
    }
  }
  return found;
}

/** The examples of a media type, and those of its schema. */
function valuesOf(schemas: Schemas, value: unknown, pointer: string): unknown[] {
  const media = schemas.resolve(value, pointer);
  const schema = schemas.resolve(media?.schema, pointer);
  const named = Object.values(isObject(media?.examples) ? media.examples : {});
  const ofSchema = Array.isArray(schema?.examples) ? schema.examples : [];
  return [
    media?.example,
    ...named.map((each) => schemas.resolve(each, pointer)?.value),
    schema?.example,
    ...ofSchema,
  ].filter((each) => each !== undefined);
}
