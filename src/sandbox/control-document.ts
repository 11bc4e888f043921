// Describes control for a contract: openapi-control.yaml with the fields of its collections.

import type { Collection, Contract, Field } from "../contract/contract.ts";
import { withArticle } from "../contract/words.ts";
import type { Json } from "../json/json-values.ts";
import text from "./openapi-control.yaml" with { type: "text" };
import { examplesOf } from "./response-examples.ts";

interface ControlDocument {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Its paths have a parameter for the name of the collection. */
export const template = Bun.YAML.parse(text) as ControlDocument;

const collectionPath = "/sandbox/{collection}";

/** The names of other parts, below /sandbox/. */
const partNames = Object.keys(template.paths).map((path) => path.split("/")[2]);

/** The name of a collection in the paths of control, in rules and in the log. */
export function controlName({ name }: Collection): string {
  return partNames.includes(name) ? `/${name}` : name;
}

/**
 * The members of a rule's `match` that are no fields, and a name that Ajv takes for unevaluated.
 */
const ownConditions = [
  ...["collection", "method", "operation", "path", "headers", "body", "id", "share"],
  "__proto__",
];

/** The fields that `match` has; others with these names are matched by `body`. */
export function matchableFields(collections: readonly Collection[]): readonly Field[] {
  return collections.flatMap(({ fields }) => fields.filter(({ name }) => !ownConditions.includes(name)));
}

export function controlDocument(contract: Contract): ControlDocument {
  const { collections } = contract;
  const { Plant: _, StoredPlant: __, Outcome, Match, ...schemas } = template.components.schemas;
  const parts = collections.map((collection) =>
    partOf(collection, collections.length === 1 ? "" : `_${collection.table}`),
  );
  const shared = Object.entries(template.paths).filter(([path]) => !path.startsWith(collectionPath));
  const examples = examplesOf(contract, contract.basePath);
  const exampleNames = collections.flatMap((collection) => [...examples(collection).byName.keys()]);
  return {
    ...template,
    info: { ...template.info, title: `${contract.service} sandbox control` },
    paths: Object.assign(Object.fromEntries(shared), ...parts.map(({ paths }) => paths)),
    components: {
      ...template.components,
      schemas: Object.assign(
        {
          ...schemas,
          Match: withProperties(Match, {
            collection: nameSchema(collections.map(controlName)),
            operation: { description: "The operationId.", ...nameSchema(operationNames(contract)) },
            id: {
              description: "The id of the resource, in the body or in the path.",
              ...anyOf(collections.map((collection) => valueSchema(idSchema(collection)))),
            },
          }),
          MatchedPlant: matchedPlant(collections),
          Outcome: withProperties(Outcome, {
            example: {
              description: "The name of an example of a response in openapi.json.",
              ...nameSchema(exampleNames),
            },
          }),
        },
        ...parts.map((part) => part.schemas),
      ),
    },
  };
}

/**
 * The paths and the schemas of a collection.
 *
 * @param suffix of the names of schemas and operations.
 */
function partOf(collection: Collection, suffix: string): Pick<ControlDocument, "paths"> & Schemas {
  const { fields, words, id } = collection;
  const path = `/sandbox/${encodeURIComponent(controlName(collection))}`;
  const paths = Object.entries(template.paths).flatMap(
    ([each, { parameters: _, ...item }]: [string, Item]) =>
      each.startsWith(collectionPath) ? [[each.replace(collectionPath, path), named(item, suffix)]] : [],
  );
  const { properties, ...schema } = template.components.schemas.StoredPlant as { properties: { id: object } };
  return {
    paths: Object.fromEntries(paths),
    schemas: {
      [`Plant${suffix}`]: {
        type: "object",
        description: `The fields of ${withArticle(words.one)}.`,
        required: fields.flatMap(({ name, isRequired }) => (isRequired ? [name] : [])),
        properties: Object.fromEntries(fields.map((field) => [field.name, field.schema])),
      },
      // Its id has the name that the contract gives it.
      [`StoredPlant${suffix}`]: named(
        { ...schema, required: [id.name], properties: { [id.name]: properties.id } },
        suffix,
      ),
      [`PlantId${suffix}`]: idSchema(collection),
    },
  };
}

type Item = object & { readonly parameters?: unknown };

interface Schemas {
  readonly schemas: Readonly<Record<string, object>>;
}

function idSchema({ id }: Collection): object {
  return id.type.kind.name === "integer" ? (template.components.schemas.PlantId as object) : id.schema;
}

/** A part of the template whose references and operations have the names of a collection. */
function named(part: object, suffix: string): object {
  return JSON.parse(JSON.stringify(part), (key, value: unknown) => {
    const isName =
      key === "operationId" || (key === "$ref" && /\/(?:Plant|StoredPlant|PlantId)$/.test(String(value)));
    return isName ? `${value}${suffix}` : value;
  });
}

/** The fields of all collections, of which several may have fields with one name. */
function matchedPlant(collections: readonly Collection[]): object {
  const fields = Map.groupBy(matchableFields(collections), ({ name }) => name);
  const properties = Array.from(fields, ([name, some]) => [
    name,
    anyOf(some.map(({ schema }) => valueSchema(schema))),
  ]);
  const [only] = collections;
  const owner = only === undefined || collections.length > 1 ? "the resources" : withArticle(only.words.one);
  return {
    type: "object",
    description: `The fields of ${owner}, each if the rule depends on it.`,
    properties: Object.fromEntries(properties),
  };
}

/** The keywords of a schema that need no other one, and no dialect of patterns. */
function valueSchema(schema: object): object {
  const kept = ["description", "type", "format", "enum", "const"];
  return Object.fromEntries(Object.entries(schema).filter(([name]) => kept.includes(name)));
}

/** Accepts what one of the schemas accepts. */
function anyOf(schemas: readonly object[]): object {
  const distinct = schemas.filter(
    (schema, index) => schemas.findIndex((each) => Bun.deepEquals(each, schema)) === index,
  );
  return distinct.length > 1 ? { anyOf: distinct } : (distinct[0] ?? {});
}

function nameSchema(names: readonly string[]): Json {
  return names.length === 0 ? { not: {} } : { enum: [...new Set(names)] };
}

/** The names of operations: those of the description, and those that the server gives others. */
function operationNames({ collections, document }: Contract): string[] {
  const served = collections.flatMap(({ operations }) => Object.values(operations));
  const described = Object.values(document.paths ?? {}).flatMap((item) => Object.values(Object(item)));
  return [...served, ...described].flatMap((each) => {
    const { operationId } = Object(each) as { readonly operationId?: unknown };
    return typeof operationId === "string" ? [operationId] : [];
  });
}

function withProperties(schema: object | undefined, properties: object): object {
  const own = (schema as { readonly properties: object }).properties;
  return { ...schema, properties: { ...own, ...properties } };
}
