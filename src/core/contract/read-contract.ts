// Reads an OpenAPI description into the contract. Nothing in it is ignored silently: what is not
// served or not checked is one of the contract's notes, and what cannot be served is an error.

import { columnNameOf, quoteColumn } from "./column-names.ts";
import type { Contract, ContractSource, Field, OpenApiDocument, Plant } from "./contract.ts";
import { contractError } from "./contract-error.ts";
import { parseDescription } from "./description-text.ts";
import { exampleOf, toFieldValue } from "./example-values.ts";
import type { FieldType, FieldValue } from "./field-types.ts";
import { pointerTo } from "./json-pointer.ts";
import {
  allParameters,
  isItemOf,
  jsonType,
  mediaType,
  OperationsReader,
  requiresKey,
  successOf,
} from "./operations.ts";
import { parsePlantJson } from "./plant.ts";
import { idFormatOf, idTypeOf, numberedId, type PlantId } from "./plant-id.ts";
import { fieldTypeOf, hasPatterns } from "./schema-types.ts";
import {
  isAnnotation,
  isObject,
  isReadOnly,
  type Json,
  propertiesOf,
  requiredOf,
  Schemas,
} from "./schemas.ts";
import { wordsOf } from "./words.ts";

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
    return await new ContractReader(source, document as OpenApiDocument).read();
  } catch (error) {
    if (error instanceof RangeError) throw contractError("", "its parts are nested too deeply");
    throw error;
  }
}

/** The parts of a collection that decide whether it can be served. */
interface Collection {
  readonly path: string;
  readonly pointer: string;
  readonly post: Json;
  readonly schema: Json;
  readonly id: Contract["id"];
  readonly success: NonNullable<ReturnType<typeof successOf>>;
  /** The schema of the response to the create; undefined if it is not described. */
  readonly returned: Json | undefined;
}

class ContractReader {
  readonly #source: ContractSource;
  readonly #document: OpenApiDocument;
  readonly #schemas: Schemas;
  readonly #notes: string[] = [];

  constructor(source: ContractSource, document: OpenApiDocument) {
    this.#source = source;
    this.#document = document;
    this.#schemas = new Schemas(document);
  }

  async read(): Promise<Contract> {
    const document = this.#document;
    const collection = await this.#findCollection();
    const { path, pointer, post, schema, success, returned } = collection;
    const body = mediaType(this.#schemas, post.requestBody, pointerTo(pointer, "requestBody"));
    if (success.hasContent && returned === undefined)
      this.#note(success.pointer, "it describes no JSON; the response is what is stored");
    const bodies = this.#examplesOf(body?.media);
    const fields = await this.#fields(collection, bodies);
    const createdName = createdNameOf(returned, fields);
    const always = this.#alwaysReturned(fields, createdName, collection);
    const title =
      isObject(document.info) && typeof document.info.title === "string" ? document.info.title.trim() : "";
    const words = wordsOf(title || "Store", path, {
      body: this.#schemas.nameOf(body?.media.schema),
      response: this.#schemas.nameOf(success.schema),
    });
    const note = (pointer: string, sentence: string) => this.#note(pointer, sentence);
    const contract: Omit<Contract, "examples"> = {
      source: this.#source,
      document,
      words,
      path: encodePath(path),
      describedPath: path,
      basePath: this.#basePath(),
      id: collection.id,
      fields,
      isPlain: fields.every(({ name, type }) => type.isPlain && name !== "__proto__" && !/^\d+$/.test(name)),
      allowsOthers: schema.additionalProperties !== false,
      requiresKey: !collection.id.isRequired && requiresKey(this.#schemas, post, pointer),
      ignored: Object.entries(schema.properties as Json).flatMap(([name, property]) =>
        isReadOnly(property) ? [name] : [],
      ),
      returnsBody: success.hasContent,
      createdName,
      returnsId: returned === undefined || Object.hasOwn(propertiesOf(returned), collection.id.name),
      titleField: this.#role(
        "x-plantstore-title",
        schema,
        fields,
        (field) => field.isRequired && isText(field),
      ),
      groupField: this.#role(
        "x-plantstore-group",
        schema,
        fields,
        (field) => !field.isRequired && isText(field),
      ),
      ...new OperationsReader(document, this.#schemas, note).read(
        {
          ...collection,
          returned: {
            always,
            sometimes: fields.flatMap(({ name, isReturned }) => (isReturned ? [name] : [])),
          },
        },
        success.status,
        words,
      ),
      notes: this.#notes,
    };
    return { ...contract, examples: this.#plants(contract, bodies) };
  }

  /** The only collection of the contract, or the one that is wanted. */
  async #findCollection(): Promise<Collection> {
    const paths = isObject(this.#document.paths) ? this.#document.paths : {};
    const wanted = this.#source.collection;
    const found: Collection[] = [];
    const reasons: Error[] = [];
    for (const [path, value] of Object.entries(paths)) {
      const pointer = pointerTo("", "paths", path);
      const item = this.#schemas.resolve(value, pointer);
      if (item?.post === undefined || path.includes("{") || (wanted !== undefined && wanted !== path))
        continue;
      try {
        const at = pointerTo(pointer, "post");
        const own = this.#schemas.resolve(item.post, at) ?? {};
        const post = { ...own, parameters: allParameters(item, own) };
        found.push(await this.#collection(path, post, at));
      } catch (error) {
        reasons.push(error as Error);
      }
    }
    if (wanted !== undefined && found.length === 0 && reasons.length === 0)
      throw contractError(pointerTo("", "paths"), `it has no POST of ${wanted}`);
    if (found.length > 1) {
      const collections = found.map(({ path }) => path).join(", ");
      throw contractError(
        pointerTo("", "paths"),
        `it has several collections; choose one of ${collections} with --collection`,
      );
    }
    const [collection] = found;
    if (collection !== undefined) return collection;
    throw reasons[0] ?? contractError(pointerTo("", "paths"), "it has no POST whose body is the resource");
  }

  async #collection(path: string, post: Json, pointer: string): Promise<Collection> {
    if (!path.startsWith("/")) throw contractError(pointer, "a path must begin with /");
    const at = pointerTo(pointer, "requestBody");
    const body = mediaType(this.#schemas, post.requestBody, at);
    if (body === undefined) throw contractError(at, `the POST of ${path} has no body of ${jsonType}`);
    const schema = this.#schemas.expand(body.media.schema, body.pointer);
    const { properties } = schema;
    if (!isObject(properties))
      throw contractError(body.pointer, `the body of POST ${path} must be an object with properties`);
    for (const keyword of Object.keys(schema)) {
      const isOpen = keyword === "additionalProperties" && typeof schema[keyword] === "boolean";
      const isKnown = ["type", "properties", "required"].includes(keyword) || isAnnotation(keyword) || isOpen;
      if (!isKnown) throw contractError(body.pointer, `the keyword ${keyword} of the body is not supported`);
    }
    if (schema.type !== undefined && schema.type !== "object")
      throw contractError(body.pointer, `the body of POST ${path} must be an object`);
    const success = successOf(this.#schemas, post, pointer, ["200", "201", "204"]);
    if (success === undefined)
      throw contractError(pointer, "its POST must describe a response 200, 201 or 204");
    const returned = isObject(success.schema)
      ? this.#schemas.expand(success.schema, success.pointer)
      : undefined;
    if (returned !== undefined && returned.type !== "object" && !isObject(returned.properties))
      throw contractError(success.pointer, "the response of the POST must be an object");
    const id = await this.#id(path, { schema, pointer: body.pointer }, returned?.properties);
    return { path, pointer, post, schema, id, success, returned };
  }

  /**
   * The property that the parameter of path/{…} names, or else "id": of the body, or of the
   * response.
   */
  async #id(
    path: string,
    { schema, pointer }: { readonly schema: Json; readonly pointer: string },
    returned: unknown,
  ): Promise<Contract["id"]> {
    const properties = schema.properties as Json;
    const answered = isObject(returned) ? returned : {};
    const item = Object.keys(this.#document.paths ?? {}).find((each) => isItemOf(path, each));
    const named = item?.slice(path.length + 2, -1);
    const isThere = (name: string) => Object.hasOwn(properties, name) || Object.hasOwn(answered, name);
    const name = named !== undefined && isThere(named) ? named : "id";
    if (!isThere(name))
      throw contractError(
        pointer,
        `the resource of POST ${path} must have an id, in the body or in the response`,
      );
    const sent = Object.hasOwn(properties, name) ? (properties[name] as Json) : undefined;
    const own = sent ?? (answered[name] as Json);
    const at = pointerTo(pointer, "properties", name);
    const type = await idTypeOf(own, {
      pointer: at,
      share: 1,
      note: (sentence) => this.#note(at, `"${name}": ${sentence}`),
    });
    const format = idFormatOf(type);
    const isAccepted = sent !== undefined && !isReadOnly(sent);
    const isRequired = isAccepted && requiredOf(schema).includes(name);
    if (!isRequired && format === undefined)
      throw contractError(
        pointer,
        `the ${name} of POST ${path} must be required, or one that the server can make: any positive int64, a UUID, or a string of 26 characters`,
      );
    return { name, type, schema: own, format, isRequired, isAccepted };
  }

  async #fields({ schema, pointer, id, returned }: Collection, bodies: readonly Json[]): Promise<Field[]> {
    const properties = schema.properties as Readonly<Record<string, unknown>>;
    const at = pointerTo(pointer, "requestBody", "content", jsonType, "schema");
    const required = requiredOf(schema);
    const missing = required.find((name) => !Object.hasOwn(properties, String(name)));
    if (missing !== undefined) throw contractError(at, `"${missing}" is required, but is no property`);
    const kept: (readonly [string, Json])[] = [];
    for (const [name, value] of Object.entries(properties)) {
      const property = value === true ? {} : value;
      const place = pointerTo(at, "properties", name);
      if (!isObject(property)) throw contractError(place, `the property "${name}" must have a schema`);
      if (name === id.name) continue;
      if (isReadOnly(property)) {
        if (!isCreationTime(name, property)) this.#note(place, `"${name}" is readOnly, and is not kept`);
      } else kept.push([name, property]);
    }
    if (kept.length === 0) throw contractError(at, "the resource must have a property besides its id");
    const withPatterns = kept.filter(([, property]) => hasPatterns(property)).length;
    const answered = isObject(returned?.properties) ? returned.properties : properties;
    const fields: Field[] = [];
    for (const [name, property] of kept) {
      const place = pointerTo(at, "properties", name);
      const note = (sentence: string) => this.#note(place, `"${name}": ${sentence}`);
      const type = await fieldTypeOf(property, { pointer: place, share: 1 / (withPatterns || 1), note });
      const isRequired = required.includes(name);
      const example = exampleOf(
        property,
        type,
        bodies.flatMap((body) => (Object.hasOwn(body, name) ? [body[name]] : [])),
      );
      if (example === undefined) note("it has no example, which the demo and the conformance tests need");
      const columnName = columnNameOf(name);
      fields.push({
        name,
        jsonName: `${JSON.stringify(name)}:`,
        column: quoteColumn(columnName),
        columnName,
        type,
        isRequired,
        example: example ?? placeholder(type),
        fill: isRequired ? toFieldValue(type, property.default) : undefined,
        isReturned: Object.hasOwn(answered, name) && property.writeOnly !== true,
        isInherited: name in Object.prototype,
        schema: property,
      });
    }
    return fields;
  }

  /**
   * The members that every response has. One that requires what is not stored would break the
   * contract.
   */
  #alwaysReturned(
    fields: readonly Field[],
    createdName: string | undefined,
    { id, returned, success: { pointer } }: Collection,
  ): string[] {
    const required = Array.isArray(returned?.required) ? (returned.required as unknown[]) : [];
    for (const name of required) {
      const field = fields.find((each) => each.name === name);
      if (name === id.name || name === createdName || field?.isRequired) continue;
      throw contractError(
        pointer,
        field === undefined
          ? `the response requires "${name}", which the body does not have`
          : `the response requires "${name}", which is optional in the body`,
      );
    }
    const kept = fields.filter(({ isRequired, isReturned }) => isRequired && isReturned);
    return [id.name, ...kept.map(({ name }) => name), ...(createdName === undefined ? [] : [createdName])];
  }

  #role(
    keyword: string,
    schema: Json,
    fields: readonly Field[],
    isFit: (field: Field) => boolean,
  ): Field | undefined {
    const named = schema[keyword];
    if (named === undefined) return fields.find(isFit);
    const field = fields.find(({ name }) => name === named);
    if (field === undefined || !isText(field))
      throw contractError("", `${keyword} must name a text of the resource, but is ${JSON.stringify(named)}`);
    return field;
  }

  #basePath(): string {
    const server = Array.isArray(this.#document.servers) ? this.#document.servers[0] : undefined;
    if (!isObject(server) || typeof server.url !== "string") return "";
    const variables = isObject(server.variables) ? server.variables : {};
    const url = server.url.replaceAll(/\{([^{}]+)\}/g, (text, name) => {
      const variable = variables[name];
      return isObject(variable) && variable.default !== undefined ? String(variable.default) : text;
    });
    if (!URL.canParse(url, "http://localhost/")) return "";
    return new URL(url, "http://localhost/").pathname.replace(/\/+$/, "");
  }

  #examplesOf(media: Json | undefined): Json[] {
    const named = isObject(media?.examples) ? Object.values(media.examples) : [];
    const values = named.map((each) => this.#schemas.resolve(each, "")?.value);
    return [...values, media?.example].filter(isObject);
  }

  /** The examples of bodies that are plants, or else one of the fields' examples. */
  #plants(contract: Omit<Contract, "examples">, bodies: readonly Json[]): Plant[] {
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

  #note(pointer: string, sentence: string): void {
    const note = `${sentence} (at ${pointer})`;
    if (!this.#notes.includes(note)) this.#notes.push(note);
  }
}

/** The property of a response that is the time of creation, unless clients send it. */
function createdNameOf(returned: Json | undefined, fields: readonly Field[]): string | undefined {
  const properties = Object.entries(isObject(returned?.properties) ? returned.properties : {});
  const found = properties.find(
    ([name, property]) => isCreationTime(name, property) && !fields.some((field) => field.name === name),
  );
  return found?.[0];
}

function isCreationTime(name: string, property: unknown): boolean {
  const isTime = isObject(property) && property.type === "string" && property.format === "date-time";
  return isTime && ["created_at", "createdAt"].includes(name);
}

function encodePath(path: string): string {
  try {
    return encodeURI(decodeURI(path));
  } catch {
    return encodeURI(path);
  }
}

function isText({ type }: Field): boolean {
  return type.input === "text" || Array.isArray(type.input);
}

/** A value for probes of a store where the contract has no example. */
function placeholder(type: FieldType): FieldValue {
  if (type.input === "number") return type.column.sqlite === "INTEGER" ? 0n : "0";
  return type.input === "boolean" ? true : "0";
}
