// Reads an OpenAPI description into the contract: collection.ts finds its collections, fields.ts reads
// their properties, and operations.ts their operations. Nothing is ignored silently: what is not served
// or not checked is one of the contract's notes, and what cannot be served is an error.

import { bearerAccess } from "../../contract/access.ts";
import type {
  Collection,
  Contract,
  ContractSource,
  OpenApiDocument,
  Plant,
} from "../../contract/contract.ts";
import type { ErrorShape } from "../../contract/error-format.ts";
import { type PlantSchema, parsePlantJson } from "../../contract/plant.ts";
import { numberedId, type PlantId } from "../../contract/plant-id.ts";
import { namedReference, referenceOf } from "../../contract/references.ts";
import type { FieldType } from "../../contract/stored-types.ts";
import { wordsOf } from "../../contract/words.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { decodePercent, encodePath } from "../../json/percent-encoding.ts";
import { parseDescription } from "../document/description-text.ts";
import { ContractError, contractErrorOf, Place, schemaName } from "../document/place.ts";
import { restrictionsText } from "../schema/restrictions.ts";
import { readOnlyNames } from "./body-schema.ts";
import { checkOf } from "./checks.ts";
import { type DescribedCollection, findCollections } from "./collection.ts";
import { collectionPath, mediaExamples, requiresKey } from "./described-operation.ts";
import { commonShape } from "./error-shapes.ts";
import { exampleOf } from "./example-values.ts";
import { expandSchema } from "./expanded-schema.ts";
import { readFields, textField } from "./fields.ts";
import { operationsOf, pathOfOne, type Reading, readOperations, readOthers } from "./operations.ts";
import { accessWithoutNotes } from "./security.ts";
import { fingerprint, tableNameOf } from "./sql-names.ts";
import { noteDocument } from "./unserved-parts.ts";

interface ReadOptions {
  /** Whether it is for a sandbox, see Contract. */
  readonly isLenient?: boolean;
}

/** Rejects with a ContractError that says in one sentence why the description cannot be served. */
export async function readContract(given: ContractSource, options: ReadOptions = {}): Promise<Contract> {
  try {
    return await readSource(given, options);
  } catch (error) {
    if (error instanceof RangeError) throw new ContractError("its parts are nested too deeply", "");
    throw error;
  }
}

async function readSource(given: ContractSource, { isLenient = false }: ReadOptions): Promise<Contract> {
  const { document, source } = await parseDescription(given);
  const written = isObject(document) ? (document.openapi ?? document.swagger) : undefined;
  // YAML has a version without quotes as a number, of which 3.0 is 3.
  const version = written === 3 ? "3.0" : written;
  if (!isObject(document) || document.openapi === undefined || !/^3\.[012]\b/.test(String(version)))
    throw new ContractError(
      version === undefined
        ? 'it is not an OpenAPI description; it must have "openapi" with version 3.0, 3.1 or 3.2'
        : `it is OpenAPI ${version}; it must be version 3.0, 3.1 or 3.2`,
      "",
    );
  const read = { ...(withoutNulls(document) as Json), openapi: String(version) };
  const root = Place.root(read, { origins: source.origins, isLenient });
  return await readDocument(source, root);
}

/** Members that are data, of which null is one. */
const data = /^(?:example|value|dataValue|x-.*)$/;

/**
 * A description without members that are null, which YAML has for a name alone: they are as if they
 * were missing. A schema stays as it is, as its reader says what is wrong with it.
 */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (data.test(name)) return [[name, member]];
    if (member === null) return [];
    return [[name, /^schemas?$/.test(name) ? member : withoutNulls(member)]];
  });
  return Object.fromEntries(members);
}

async function readDocument(source: ContractSource, root: Place): Promise<Contract> {
  const reading: Reading = { root, served: new Set(), faults: new Map() };
  const { faults } = reading;
  const found = await findCollections(root, faults);
  const common = commonShape(
    found.flatMap(({ operation, path }) => [operation, ...operationsOf(root, path)]),
  );
  const collections: Omit<Collection, "name" | "digest">[] = [];
  let failed: ContractError | undefined;
  const tables = new Map<string, string>();
  for (const described of found) {
    const { place } = described.operation;
    root.restartCount();
    try {
      const taken = tables.get(tableNameOf(described.path));
      if (taken !== undefined)
        throw place.error(`its table would be that of ${taken}, so that one needs another path`);
      const collection = await readCollection(reading, described, common);
      tables.set(collection.table, collection.describedPath);
      collections.push(collection);
    } catch (error) {
      const fault = contractErrorOf(error);
      failed ??= fault;
      faults.set(place.pointer, fault);
    }
  }
  // A server that makes up values responds to every operation, also without a collection.
  if (collections.length === 0 && !root.isLenient)
    throw (
      failed ??
      faults.values().next().value ??
      root.at("paths").error("it has no POST whose body is the resource")
    );
  noteDocument(root);
  const otherOperations = readOthers(reading);
  const title = root.at("info", "title").value;
  const access = collections[0]?.operations.create.access ?? bearerAccess;
  const all = named(collections, fingerprint(source.text));
  assertReferences(root, all);
  return {
    number: undefined,
    source,
    document: root.value as OpenApiDocument,
    service: (typeof title === "string" && title.trim()) || "Store",
    basePath: basePathOf(root),
    collections: all,
    otherOperations,
    access,
    undescribedAccess: root.own("security").value === undefined ? access : accessWithoutNotes(root),
    errors: { shape: common, shapes: {}, statuses: {} },
    isLenient: root.isLenient,
    notes: root.notes,
  };
}

/**
 * Reads a collection. Rejects with a ContractError if its create cannot be served.
 *
 * @param common the shape of errors that an operation does not describe.
 */
async function readCollection(
  reading: Reading,
  described: DescribedCollection,
  common: ErrorShape,
): Promise<Omit<Collection, "name" | "digest">> {
  const { path, item, operation, media, body, wrapper, returned, id, success } = described;
  const whole = body.isEnforced ? undefined : expandSchema(body.place);
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
  const resource = { id, fields, sent: body };
  const collection = {
    table: tableNameOf(path),
    renamed: {},
    contractNumber: undefined,
    marker: undefined,
    words,
    path: encodePath(path),
    itemPath: encodePath(item === undefined ? `${collectionPath(path)}/{id}` : pathOfOne(item.path)),
    idParameter: item?.parameter ?? "id",
    describedPath: path,
    id,
    fields,
    body: whole && {
      schema: whole,
      check: await checkOf(schema, { hidden: ignored }),
      restrictions: restrictionsText(whole),
    },
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
    examples: await examplePlants(collection, examples, schema),
    operations,
    list,
  };
}

function resourceOf(body: Json, wrapper: string | undefined): Json {
  const member = wrapper === undefined ? body : body[wrapper];
  return isObject(member) ? member : body;
}

/** The examples of bodies that are plants, or else one of the fields' examples. */
async function examplePlants(
  collection: PlantSchema,
  bodies: readonly Json[],
  place: Place,
): Promise<Plant[]> {
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
  const id =
    type.kind.name === "integer"
      ? (numbered(1) ?? 1n)
      : await exampleOf({ schema, places: [place.holding(schema)] }, type as FieldType);
  return [
    { id: (id ?? numbered(1) ?? "1") as PlantId, values: collection.fields.map(({ example }) => example) },
  ];
}

/** Names collections by the last segments of their paths, or by all of them where two have the same. */
function named(collections: readonly Omit<Collection, "name" | "digest">[], digest: string): Collection[] {
  const all = collections.map(({ describedPath }) => describedPath.split("/").filter((each) => each !== ""));
  const [seen, shared] = [new Set(), new Set()];
  for (const last of all.map((segments) => segments.at(-1))) (seen.has(last) ? shared : seen).add(last);
  return collections.map((collection, index) => {
    const segments = all[index] ?? [];
    const shown = shared.has(segments.at(-1)) ? segments : segments.slice(-1);
    return { ...collection, name: decodePercent(shown.join("/")), digest };
  });
}

/** Throws a ContractError if a field is said to have the ids of a collection that is not there. */
function assertReferences(root: Place, all: readonly Collection[]): void {
  for (const { describedPath, fields } of all)
    for (const field of fields) {
      const name = namedReference(field);
      if (name === undefined || referenceOf(field, all) !== undefined) continue;
      throw root
        .at("paths", describedPath, "post")
        .error(
          `x-plantstore-references of "${field.name}" must name a collection with ids of its type, but is ${JSON.stringify(name)}`,
        );
    }
}

/** The path of the first server's URL; "" for none, and for a URL that has no path. */
function basePathOf(root: Place): string {
  const [server] = root.at("servers").items;
  const place = server?.at("url");
  if (server === undefined || typeof place?.value !== "string") return "";
  const missing: string[] = [];
  const filled = place.value.replaceAll(/\{([^{}]+)\}/g, (text, name) => {
    const { value } = server.at("variables", name, "default");
    if (value === undefined) missing.push(name);
    return String(value ?? text);
  });
  const path = URL.parse(filled, "http://localhost/")?.pathname;
  if (missing.length > 0)
    place.note(`the server ${place.value} is not used, as its variable ${missing[0]} has no default`);
  else if (!path?.startsWith("/")) place.note(`the server ${filled} is not used, as its URL has no path`);
  // Bun takes several slashes at the start of a request's path for one.
  else return path.replace(/^\/+/, "/").replace(/\/+$/, "");
  return "";
}
