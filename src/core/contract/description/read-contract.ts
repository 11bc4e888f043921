// Reads an OpenAPI description into the contract. Nothing in it is ignored silently: what is not
// served or not checked is one of the contract's notes, and what cannot be served is an error.

import type { Contract, ContractSource, OpenApiDocument, Plant } from "../contract.ts";
import { encodePath } from "../json/percent-encoding.ts";
import { parsePlantJson } from "../plant.ts";
import { numberedId, type PlantId } from "../plant-id.ts";
import { isObject, isReadOnly, type Json, propertiesOf } from "../schema/schemas.ts";
import type { FieldType } from "../values/stored-types.ts";
import { wordsOf } from "../words.ts";
import { findCollection } from "./collection.ts";
import { contractError } from "./contract-error.ts";
import { mediaExamples, requiresKey } from "./described-operation.ts";
import { parseDescription } from "./description-text.ts";
import { exampleOf } from "./example-values.ts";
import { alwaysReturned, createdNameOf, readFields, textField } from "./fields.ts";
import { readOperations } from "./operations.ts";
import { Place } from "./place.ts";
import { referencedName } from "./references.ts";

/** Rejects with an OperatorError that says in one sentence why the description cannot be served. */
export async function readContract(source: ContractSource): Promise<Contract> {
  const document = await parseDescription(source.text);
  if (!isObject(document) || typeof document.openapi !== "string" || !/^3\.[012]\b/.test(document.openapi)) {
    const version = isObject(document) ? (document.openapi ?? document.swagger) : undefined;
    throw contractError(
      "",
      version === undefined
        ? 'it is not an OpenAPI description; it must have "openapi" with version 3.0, 3.1 or 3.2'
        : `it is OpenAPI ${version}; it must be version 3.0, 3.1 or 3.2`,
    );
  }
  try {
    return await readDocument(source, document as OpenApiDocument);
  } catch (error) {
    if (error instanceof RangeError) throw contractError("", "its parts are nested too deeply");
    throw error;
  }
}

async function readDocument(source: ContractSource, document: OpenApiDocument): Promise<Contract> {
  const root = Place.root(document);
  const collection = await findCollection(root, source.collection);
  const { path, operation, body, schema, id, success, returned } = collection;
  if (success.hasContent && returned === undefined)
    success.place.note("it describes no JSON; the response is what is stored");
  const bodies = mediaExamples(body).filter(isObject);
  const fields = await readFields(collection, bodies);
  const createdName = createdNameOf(collection, fields);
  const returnedMembers = {
    always: alwaysReturned(collection, fields, createdName),
    sometimes: fields.flatMap(({ name, isReturned }) => (isReturned ? [name] : [])),
  };
  const title = root.at("info", "title").value;
  const words = wordsOf((typeof title === "string" && title.trim()) || "Store", path, {
    body: referencedName(body.at("schema").value),
    response: referencedName(success.schema?.value),
  });
  const contract: Omit<Contract, "examples"> = {
    source,
    document,
    words,
    path: encodePath(path),
    describedPath: path,
    basePath: basePathOf(root),
    id,
    fields,
    isPlain: fields.every(({ name, type }) => type.isPlain && name !== "__proto__" && !/^\d+$/.test(name)),
    allowsOthers: schema.additionalProperties !== false,
    requiresKey: !id.isRequired && requiresKey(operation),
    ignored: Object.entries(propertiesOf(schema)).flatMap(([name, property]) =>
      isReadOnly(property) ? [name] : [],
    ),
    returnsBody: success.hasContent,
    createdName,
    returnsId: returned === undefined || Object.hasOwn(propertiesOf(returned), id.name),
    titleField: textField(collection, fields, "x-plantstore-title"),
    groupField: textField(collection, fields, "x-plantstore-group"),
    ...readOperations(root, collection, returnedMembers, words),
    notes: root.notes,
  };
  return { ...contract, examples: examplePlants(contract, bodies) };
}

/** The path of the first server's URL; "" for none, and for a URL that has no path. */
function basePathOf(root: Place): string {
  const server = root.at("servers").items[0];
  const url = server?.at("url").value;
  if (typeof url !== "string") return "";
  const filled = url.replaceAll(/\{([^{}]+)\}/g, (text, name) =>
    String(server?.at("variables", name, "default").value ?? text),
  );
  const path = URL.parse(filled, "http://localhost/")?.pathname;
  // Bun takes several slashes at the start of a request's path for one.
  if (path?.startsWith("/")) return path.replace(/^\/+/, "/").replace(/\/+$/, "");
  server?.at("url").note(`the server ${filled} is not used, as its URL has no path`);
  return "";
}

/** The examples of bodies that are plants, or else one of the fields' examples. */
function examplePlants(contract: Omit<Contract, "examples">, bodies: readonly Json[]): Plant[] {
  const { type, schema, format, isRequired } = contract.id;
  const found = new Map<PlantId, Plant>();
  const numbered = (number: number) =>
    format === undefined ? undefined : numberedId(format, BigInt(number));
  for (const body of bodies) {
    const newId = isRequired ? undefined : () => numbered(found.size + 1) as PlantId;
    const plant = parsePlantJson(contract, JSON.stringify(body), newId);
    if ("values" in plant && !found.has(plant.id)) found.set(plant.id, plant);
  }
  if (found.size > 0) return [...found.values()];
  const id = type.kind === "integer" ? (numbered(1) ?? 1n) : exampleOf(schema, type as FieldType, []);
  return [
    { id: (id ?? numbered(1) ?? "1") as PlantId, values: contract.fields.map(({ example }) => example) },
  ];
}
