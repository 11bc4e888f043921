// Reads an OpenAPI description into the contract. Nothing in it is ignored silently: what is not
// served or not checked is one of the contract's notes, and what cannot be served is an error.

import type { Contract, ContractSource, OpenApiDocument, Plant } from "../contract.ts";
import { toExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { encodePath } from "../json/percent-encoding.ts";
import { parsePlantJson } from "../plant.ts";
import { numberedId, type PlantId } from "../plant-id.ts";
import type { FieldType } from "../values/stored-types.ts";
import { wordsOf } from "../words.ts";
import { readOnlyNames } from "./body-schema.ts";
import { Checks } from "./checks.ts";
import { findCollection, itemPathOf } from "./collection.ts";
import { collectionPath, mediaExamples, requiresKey } from "./described-operation.ts";
import { parseDescription } from "./description-text.ts";
import { exampleOf } from "./example-values.ts";
import { expandSchema } from "./expanded-schema.ts";
import { readFields, textField } from "./fields.ts";
import { schemaName } from "./names.ts";
import { readOperations } from "./operations.ts";
import { ContractError, Place } from "./place.ts";
import { noteDocument } from "./unserved-parts.ts";

/** Rejects with a ContractError that says in one sentence why the description cannot be served. */
export async function readContract(given: ContractSource): Promise<Contract> {
  try {
    return await readSource(given);
  } catch (error) {
    if (error instanceof RangeError) throw new ContractError("its parts are nested too deeply", "");
    throw error;
  }
}

async function readSource(given: ContractSource): Promise<Contract> {
  const { document, source } = await parseDescription(given);
  const version = isObject(document) ? (document.openapi ?? document.swagger) : undefined;
  // YAML has a version without quotes as a number.
  if (!isObject(document) || !/^3\.[012]\b/.test(String(document.openapi)))
    throw new ContractError(
      version === undefined
        ? 'it is not an OpenAPI description; it must have "openapi" with version 3.0, 3.1 or 3.2'
        : `it is OpenAPI ${version}; it must be version 3.0, 3.1 or 3.2`,
      "",
    );
  return await readDocument(source, { ...document, openapi: String(document.openapi) } as OpenApiDocument);
}

async function readDocument(source: ContractSource, document: OpenApiDocument): Promise<Contract> {
  const root = Place.root(document);
  const checks = new Checks();
  const collection = await findCollection(root, source.collection, checks);
  const { path, operation, media, body, wrapper, returned, id, success } = collection;
  const examples = mediaExamples(media)
    .filter(isObject)
    .map((each) => resourceOf(each, wrapper));
  const schema = body.place;
  const [undescribed] = body.undescribed;
  if (undescribed !== undefined) throw schema.error(`"${undescribed}" is required, but is no property`);
  const fields = await readFields(body, { idName: id.name, examples, returned }, checks);
  const title = root.at("info", "title").value;
  const words = wordsOf((typeof title === "string" && title.trim()) || "Store", path, {
    body: schemaName(schema) ?? schemaName(media.at("schema")),
    response: schemaName(returned[0]?.place) ?? schemaName(success.schema),
  });
  const ignored = readOnlyNames(body);
  noteDocument(root);
  const contract: Omit<Contract, "examples" | "keepsChangeTime" | "notes"> = {
    source,
    document,
    words,
    path: encodePath(path),
    itemPath: encodePath(pathOfOne(root, path)),
    idParameter: /\{(.*)\}/.exec(itemPathOf(root, path)?.slice(path.length) ?? "")?.[1] ?? "id",
    describedPath: path,
    basePath: basePathOf(root),
    id,
    fields,
    body: body.isPlain
      ? undefined
      : { schema: expandSchema(schema), check: await checks.of(schema, ignored) },
    allowsOthers: body.isOpen || !body.isPlain,
    wrapper,
    requiresKey: !id.isRequired && requiresKey(operation),
    ignored,
    titleField: textField(schema, fields, "x-plantstore-title"),
    groupField: textField(schema, fields, "x-plantstore-group"),
    ...(await readOperations({
      root,
      create: collection,
      resource: { id, fields, checks, fills: source.fills === true },
      words,
    })),
  };
  return {
    ...contract,
    keepsChangeTime: keepsChangeTime(contract.operations),
    notes: root.notes,
    examples: examplePlants(contract, examples),
  };
}

function resourceOf(body: Json, wrapper: string | undefined): Json {
  const member = wrapper === undefined ? body : body[wrapper];
  return isObject(member) ? member : body;
}

/** Whether a response says when a resource was changed. */
function keepsChangeTime(operations: Contract["operations"]): boolean {
  const { replace, change, ...others } = operations;
  const successes = [replace, change].flatMap((each) => Object.values(each?.successes ?? {}));
  const responses = [...successes, ...Object.values(others).map(({ response }) => response)];
  return responses.some((response) => response?.updatedName !== undefined);
}

/** The path of one resource, whose parameter is the id. */
function pathOfOne(root: Place, path: string): string {
  const described = itemPathOf(root, path);
  return described?.replace(/\{[^{}]*\}(?=\/?$)/, "{id}") ?? `${collectionPath(path)}/{id}`;
}

/** The path of the first server's URL; "" for none, and for a URL that has no path. */
function basePathOf(root: Place): string {
  const [server] = root.at("servers").items;
  const url = server?.at("url").value;
  if (typeof url !== "string") return "";
  const missing = new Set<string>();
  const filled = url.replaceAll(/\{([^{}]+)\}/g, (text, name) => {
    const { value } = server?.at("variables", name, "default") ?? {};
    if (value === undefined) missing.add(name);
    return String(value ?? text);
  });
  if (missing.size > 0) {
    server
      ?.at("url")
      .note(`the server ${url} is not used, as its variable ${[...missing][0]} has no default`);
    return "";
  }
  const path = URL.parse(filled, "http://localhost/")?.pathname;
  // Bun takes several slashes at the start of a request's path for one.
  if (path?.startsWith("/")) return path.replace(/^\/+/, "/").replace(/\/+$/, "");
  server?.at("url").note(`the server ${filled} is not used, as its URL has no path`);
  return "";
}

/** The examples of bodies that are plants, or else one of the fields' examples. */
function examplePlants(
  contract: Omit<Contract, "examples" | "keepsChangeTime" | "notes">,
  bodies: readonly Json[],
): Plant[] {
  const { type, schema, format, isRequired } = contract.id;
  const found = new Map<PlantId, Plant>();
  const numbered = (number: number) =>
    format === undefined ? undefined : numberedId(format, BigInt(number));
  for (const body of bodies) {
    const newId = isRequired ? undefined : () => numbered(found.size + 1) as PlantId;
    const plant = parsePlantJson(contract, toExactJson(body), newId);
    if ("values" in plant && !found.has(plant.id)) found.set(plant.id, plant);
  }
  if (found.size > 0) return [...found.values()];
  const id = type.kind === "integer" ? (numbered(1) ?? 1n) : exampleOf(schema, type as FieldType, []);
  return [
    { id: (id ?? numbered(1) ?? "1") as PlantId, values: contract.fields.map(({ example }) => example) },
  ];
}
