// Reads a collection of a description: its words, its fields, and its operations.

import type { Collection, EditOperation, Plant, ServedOperation } from "../contract.ts";
import type { ErrorShape } from "../error-format.ts";
import { toExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { encodePath } from "../json/percent-encoding.ts";
import { type PlantSchema, parsePlantJson } from "../plant.ts";
import { numberedId, type PlantId } from "../plant-id.ts";
import type { FieldType } from "../values/stored-types.ts";
import { wordsOf } from "../words.ts";
import { readOnlyNames } from "./body-schema.ts";
import { checkOf } from "./checks.ts";
import type { DescribedCollection } from "./collection.ts";
import { collectionPath, mediaExamples, requiresKey } from "./described-operation.ts";
import { exampleOf } from "./example-values.ts";
import { expandSchema } from "./expanded-schema.ts";
import { readFields, textField } from "./fields.ts";
import { pathOfOne, type Reading, readOperations } from "./operations.ts";
import { schemaName } from "./place.ts";
import { tableNameOf } from "./sql-names.ts";

/**
 * Reads a collection. Rejects with a ContractError if its create cannot be served.
 *
 * @param common the shape of errors that an operation does not describe.
 */
export async function readCollection(
  reading: Reading,
  described: DescribedCollection,
  common: ErrorShape,
): Promise<Omit<Collection, "name">> {
  const { path, item, operation, media, body, wrapper, returned, id, success } = described;
  const examples = mediaExamples(media)
    .filter(isObject)
    .map((each) => resourceOf(each, wrapper));
  const schema = body.place;
  const [undescribed] = body.undescribed;
  if (undescribed !== undefined) throw schema.error(`"${undescribed}" is required, but is no property`);
  const fields = await readFields(body, { idName: id.name, examples, returned });
  const words = wordsOf(path, {
    body: schemaName(schema) ?? schemaName(media.at("schema")),
    response: schemaName(returned[0]?.place) ?? schemaName(success.schema),
  });
  const ignored = readOnlyNames(body);
  const resource = { id, fields, fills: reading.fills };
  const collection = {
    table: tableNameOf(path),
    words,
    path: encodePath(path),
    itemPath: encodePath(item === undefined ? `${collectionPath(path)}/{id}` : pathOfOne(item.path)),
    idParameter: item?.parameter ?? "id",
    describedPath: path,
    id,
    fields,
    body: body.isEnforced
      ? undefined
      : { schema: expandSchema(schema), check: await checkOf(schema, ignored) },
    allowsOthers: body.isOpen || !body.isEnforced,
    wrapper,
    requiresKey: !id.isRequired && requiresKey(operation),
    ignored,
    titleField: textField(schema, fields, "x-plantstore-title"),
    groupField: textField(schema, fields, "x-plantstore-group"),
  };
  const { operations, list } = await readOperations(reading, { described, resource, words, common });
  return {
    ...collection,
    examples: examplePlants(collection, examples),
    operations,
    list,
    keepsChangeTime: Object.values(operations).some(saysChangeTime),
  };
}

function resourceOf(body: Json, wrapper: string | undefined): Json {
  const member = wrapper === undefined ? body : body[wrapper];
  return isObject(member) ? member : body;
}

/** Whether a success says when a resource was changed. */
function saysChangeTime({ response, successes = {} }: ServedOperation & Partial<EditOperation>): boolean {
  return [response, ...Object.values(successes)].some((each) => each?.updatedName !== undefined);
}

/** The examples of bodies that are plants, or else one of the fields' examples. */
function examplePlants(collection: PlantSchema, bodies: readonly Json[]): Plant[] {
  const { type, schema, format, isRequired } = collection.id;
  const found = new Map<PlantId, Plant>();
  const numbered = (number: number) =>
    format === undefined ? undefined : numberedId(format, BigInt(number));
  for (const body of bodies) {
    const newId = isRequired ? undefined : () => numbered(found.size + 1) as PlantId;
    const plant = parsePlantJson(collection, toExactJson(body), newId);
    if ("values" in plant && !found.has(plant.id)) found.set(plant.id, plant);
  }
  if (found.size > 0) return [...found.values()];
  const id = type.kind === "integer" ? (numbered(1) ?? 1n) : exampleOf(schema, type as FieldType, []);
  return [
    { id: (id ?? numbered(1) ?? "1") as PlantId, values: collection.fields.map(({ example }) => example) },
  ];
}
