// Reads an OpenAPI description into the contract. Nothing in it is ignored silently: what is not served
// or not checked is one of the contract's notes, and what cannot be served is an error.

import { columnNameOf, quoteColumn } from "./column-names.ts";
import type {
  Contract,
  ContractSource,
  Field,
  OpenApiDocument,
  OtherOperation,
  Plant,
  ServedOperation,
  Words,
} from "./contract.ts";
import { contractError, pointerTo } from "./contract-error.ts";
import { parseDescription } from "./description-text.ts";
import { exampleOf, toFieldValue } from "./example-values.ts";
import type { FieldType, FieldValue } from "./field-types.ts";
import { parsePlantJson } from "./plant.ts";
import { fieldTypeOf, hasPatterns } from "./schema-types.ts";
import { isAnnotation, isObject, type Json, Schemas } from "./schemas.ts";
import { operationName, wordsOf } from "./words.ts";

const methods = ["get", "put", "post", "delete", "patch"] as const;
const jsonType = "application/json";

/** Rejects with an OperatorError that says in one sentence why the description cannot be served. */
export async function readContract(source: ContractSource): Promise<Contract> {
  const document = await parseDescription(source.text);
  if (!isObject(document) || typeof document.openapi !== "string" || !/^3\.[01]\b/.test(document.openapi)) {
    const version = isObject(document) ? (document.openapi ?? document.swagger) : undefined;
    throw contractError(
      "",
      version === undefined
        ? 'it is no OpenAPI description; it must have "openapi" with version 3.0 or 3.1'
        : `it is OpenAPI ${version}; it must be version 3.0 or 3.1`,
    );
  }
  return new ContractReader(source, document as OpenApiDocument).read();
}

/** The parts of a collection that decide whether it can be served. */
interface Collection {
  readonly path: string;
  readonly pointer: string;
  readonly post: Json;
  readonly schema: Json;
  readonly id: Contract["id"];
}

class ContractReader {
  readonly #source: ContractSource;
  readonly #document: OpenApiDocument;
  readonly #schemas: Schemas;
  readonly #notes: string[] = [];
  /** The operations that are served, with their pointers. */
  readonly #offered: { readonly operation: Json; readonly pointer: string }[] = [];

  constructor(source: ContractSource, document: OpenApiDocument) {
    this.#source = source;
    this.#document = document;
    this.#schemas = new Schemas(document);
  }

  async read(): Promise<Contract> {
    const document = this.#document;
    const collection = await this.#findCollection();
    const { path, pointer, post, schema } = collection;
    const body = this.#mediaType(post.requestBody, pointerTo(pointer, "requestBody"));
    const success = this.#success(post, pointer, ["200", "201"]);
    if (success === undefined) throw contractError(pointer, "its POST must describe a response 200 or 201");
    const returned = isObject(success.schema)
      ? this.#schemas.expand(success.schema, success.pointer)
      : undefined;
    if (returned === undefined)
      this.#note(success.pointer, "it describes no JSON; the response is what is stored");
    else if (returned.type !== "object" && !isObject(returned.properties))
      throw contractError(success.pointer, "the response of the POST must be an object");

    const bodies = this.#examplesOf(body?.media);
    const fields = await this.#fields(collection, returned, bodies);
    this.#assertReturned(fields, returned, success.pointer);
    const title =
      isObject(document.info) && typeof document.info.title === "string" ? document.info.title.trim() : "";
    const words = wordsOf(title || "Store", path, {
      body: this.#schemas.nameOf(body?.media.schema),
      response: this.#schemas.nameOf(success.schema),
    });
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
      returnsId:
        returned === undefined || (isObject(returned.properties) && Object.hasOwn(returned.properties, "id")),
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
      ...this.#operations(collection, success.status, words),
      notes: this.#notes,
    };
    this.#noteOthers(collection);
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
        found.push(await this.#collection(path, item.post, pointerTo(pointer, "post")));
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

  async #collection(path: string, value: unknown, pointer: string): Promise<Collection> {
    if (!path.startsWith("/")) throw contractError(pointer, "a path must begin with /");
    const post = this.#schemas.resolve(value, pointer) ?? {};
    const at = pointerTo(pointer, "requestBody");
    const body = this.#mediaType(post.requestBody, at);
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
    const id = Object.hasOwn(properties, "id") ? (properties.id as Json) : undefined;
    const hasId = Array.isArray(schema.required) && schema.required.includes("id") && id?.readOnly !== true;
    if (id === undefined || !hasId)
      throw contractError(
        body.pointer,
        `the body of POST ${path} must require the integer id, as this program does not choose ids`,
      );
    if (id.type !== "integer")
      throw contractError(
        body.pointer,
        `the id of POST ${path} must be an integer, but is ${JSON.stringify(id.type)}`,
      );
    const idPointer = pointerTo(body.pointer, "properties", "id");
    const type = (await fieldTypeOf(id, {
      pointer: idPointer,
      share: 1,
      note: () => undefined,
    })) as FieldType<bigint>;
    return { path, pointer, post, schema, id: { name: "id", type, schema: id } };
  }

  async #fields(
    { schema, pointer }: Collection,
    returned: Json | undefined,
    bodies: readonly Json[],
  ): Promise<Field[]> {
    const properties = schema.properties as Readonly<Record<string, unknown>>;
    const at = pointerTo(pointer, "requestBody", "content", jsonType, "schema");
    const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
    const missing = required.find((name) => !Object.hasOwn(properties, String(name)));
    if (missing !== undefined) throw contractError(at, `"${missing}" is required, but is no property`);
    const kept: (readonly [string, Json])[] = [];
    for (const [name, value] of Object.entries(properties)) {
      const property = value === true ? {} : value;
      const place = pointerTo(at, "properties", name);
      if (!isObject(property)) throw contractError(place, `the property "${name}" must have a schema`);
      if (name === "id") continue;
      if (property.readOnly === true && !required.includes(name))
        this.#note(place, `"${name}" is readOnly, and is not kept`);
      else kept.push([name, property]);
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

  /** A response that requires what is not stored would break the contract. */
  #assertReturned(fields: readonly Field[], returned: Json | undefined, pointer: string): void {
    const required = Array.isArray(returned?.required) ? (returned.required as unknown[]) : [];
    for (const name of required) {
      const field = fields.find((each) => each.name === name);
      if (name === "id" || field?.isRequired) continue;
      throw contractError(
        pointer,
        field === undefined
          ? `the response requires "${name}", which the body does not have`
          : `the response requires "${name}", which is optional in the body`,
      );
    }
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

  #operations(
    { path, post, pointer }: Collection,
    status: number,
    { one, many }: Words,
  ): Pick<Contract, "operations" | "others"> {
    const operations: {
      create: ServedOperation;
      list?: ServedOperation;
      get?: ServedOperation;
      delete?: ServedOperation;
    } = {
      create: { operationId: nameOf(post, operationName("create", one)), status },
    };
    const others: OtherOperation[] = [];
    this.#noteParameters(post, pointer, `POST ${path}`, []);
    this.#offered.push({ operation: post, pointer });
    for (const [each, value] of Object.entries(this.#document.paths ?? {})) {
      const place = pointerTo("", "paths", each);
      const item = this.#schemas.resolve(value, place);
      if (item === undefined) continue;
      const isItem = each.startsWith(`${path}/`) && /^\{[^/{}]+\}$/.test(each.slice(path.length + 1));
      for (const method of methods) {
        if (item[method] === undefined || (each === path && method === "post")) continue;
        const at = pointerTo(place, method);
        const operation = this.#schemas.resolve(item[method], at) ?? {};
        const known = this.#known(method, each === path, isItem);
        const fallback = operationName(known ?? method, known === "list" ? many : one);
        const served = known && this.#served(known, operation, at, fallback);
        if (known !== undefined && served !== undefined) {
          operations[known] = served;
          this.#offered.push({ operation, pointer: at });
          this.#noteParameters(
            operation,
            at,
            `${method.toUpperCase()} ${each}`,
            known === "list" ? ["limit", "after"] : [],
          );
        } else {
          others.push({ method: method.toUpperCase() as OtherOperation["method"], path: each });
          this.#note(at, `${method.toUpperCase()} ${each} is not served: it responds with 501`);
        }
      }
    }
    return { operations, others };
  }

  #known(method: string, isCollection: boolean, isItem: boolean): "list" | "get" | "delete" | undefined {
    if (isCollection) return method === "get" ? "list" : undefined;
    return isItem && (method === "get" || method === "delete") ? method : undefined;
  }

  /** An operation that is served as it is described; undefined if its response has another shape. */
  #served(
    name: "list" | "get" | "delete",
    operation: Json,
    pointer: string,
    fallback: string,
  ): ServedOperation | undefined {
    const success = this.#success(operation, pointer, name === "delete" ? ["204", "200"] : ["200"]);
    if (success === undefined) return undefined;
    if (success.schema !== undefined) {
      const schema = this.#schemas.expand(success.schema, success.pointer);
      const isObjectSchema = schema.type === "object" || isObject(schema.properties);
      if (name === "list" ? schema.type !== "array" : !isObjectSchema) return undefined;
      if (name === "delete") return undefined;
    }
    return { operationId: nameOf(operation, fallback), status: success.status };
  }

  #success(operation: Json, pointer: string, statuses: readonly string[]) {
    const responses = isObject(operation.responses) ? operation.responses : {};
    const status = statuses.find((each) => responses[each] !== undefined);
    if (status === undefined) return undefined;
    const at = pointerTo(pointer, "responses", status);
    const media = this.#mediaType(responses[status], at);
    return { status: Number(status), schema: media?.media.schema, pointer: media?.pointer ?? at };
  }

  /** The media type of JSON of a body or a response. */
  #mediaType(
    value: unknown,
    pointer: string,
  ): { readonly media: Json; readonly pointer: string } | undefined {
    const content = this.#schemas.resolve(value, pointer)?.content;
    if (!isObject(content)) return undefined;
    const name = Object.keys(content).find((each) => /^(?:application\/json\b|\*\/\*)/i.test(each));
    if (name === undefined) return undefined;
    const media = this.#schemas.resolve(content[name], pointer);
    return media && { media, pointer: pointerTo(pointer, "content", name, "schema") };
  }

  #noteParameters(operation: Json, pointer: string, name: string, served: readonly string[]): void {
    const parameters = Array.isArray(operation.parameters) ? operation.parameters : [];
    for (const [index, value] of parameters.entries()) {
      const at = pointerTo(pointer, "parameters", String(index));
      const parameter = this.#schemas.resolve(value, at);
      if (parameter === undefined || parameter.in === "path" || served.includes(String(parameter.name)))
        continue;
      this.#note(at, `the ${parameter.in} parameter ${parameter.name} of ${name} is not served`);
    }
    const content = this.#schemas.resolve(operation.requestBody, pointer)?.content;
    for (const type of Object.keys(isObject(content) ? content : {}))
      if (!/^(?:application\/json\b|\*\/\*)/i.test(type))
        this.#note(pointerTo(pointer, "requestBody", "content", type), `a body of ${type} is not read`);
  }

  /** What the description has besides, and what the operations do in another way than it says. */
  #noteOthers({ post, pointer }: Collection): void {
    if (isObject(this.#document.webhooks)) this.#note(pointerTo("", "webhooks"), "webhooks are not sent");
    if (isObject(post.callbacks)) this.#note(pointerTo(pointer, "callbacks"), "callbacks are not sent");
    const unsecured = this.#offered.find(({ operation }) => !this.#isBearerOnly(operation.security));
    if (unsecured !== undefined)
      this.#note(
        pointerTo(unsecured.operation.security === undefined ? "" : unsecured.pointer, "security"),
        "every request needs a bearer token, whatever is described",
      );
    for (const each of this.#offered.flatMap(({ operation, pointer: at }) =>
      this.#otherHeaders(operation, at),
    ))
      this.#note(each, "this header field is not sent");
    const failures = this.#offered.flatMap(({ operation, pointer: at }) =>
      this.#otherFailures(operation, at),
    );
    if (failures[0] !== undefined)
      this.#note(failures[0], 'errors have the members "error" and "message", whatever is described');
  }

  #isBearerOnly(security: unknown): boolean {
    const components = this.#schemas.resolve(this.#document.components, "");
    const schemes = isObject(components?.securitySchemes) ? components.securitySchemes : {};
    const isBearer = (name: string) => {
      const at = pointerTo("", "components", "securitySchemes", name);
      const scheme = this.#schemas.resolve(schemes[name], at);
      const isToken = scheme?.type === "oauth2" || scheme?.type === "openIdConnect";
      return isToken || /^bearer$/i.test(String(scheme?.scheme));
    };
    const requirements = security ?? this.#document.security;
    return (
      Array.isArray(requirements) &&
      requirements.length > 0 &&
      requirements.every(
        (each) => isObject(each) && Object.keys(each).length === 1 && Object.keys(each).every(isBearer),
      )
    );
  }

  /** Header fields of a success that are described, and that the server does not send. */
  #otherHeaders(operation: Json, pointer: string): string[] {
    const responses = isObject(operation.responses) ? operation.responses : {};
    return Object.entries(responses).flatMap(([status, response]) => {
      if (!status.startsWith("2")) return [];
      const at = pointerTo(pointer, "responses", status);
      const headers = this.#schemas.resolve(response, at)?.headers;
      const names = Object.keys(isObject(headers) ? headers : {});
      return names
        .filter((name) => !sentHeaders.includes(name.toLowerCase()))
        .map((name) => pointerTo(at, "headers", name));
    });
  }

  /** The pointers of described failures whose JSON has another shape than the server's. */
  #otherFailures(operation: Json, pointer: string): string[] {
    const responses = isObject(operation.responses) ? operation.responses : {};
    return Object.entries(responses).flatMap(([status, response]) => {
      if (!/^(?:[45]|default$)/.test(status)) return [];
      const at = pointerTo(pointer, "responses", status);
      const media = this.#mediaType(response, at);
      if (!isObject(media?.media.schema)) return [];
      const { properties } = this.#schemas.expand(media.media.schema, media.pointer);
      const isOurs =
        isObject(properties) && ["error", "message"].every((name) => Object.hasOwn(properties, name));
      return isOurs ? [] : [at];
    });
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
    const found = new Map<bigint, Plant>();
    for (const body of bodies) {
      const plant = parsePlantJson(contract, JSON.stringify(body));
      if ("values" in plant && !found.has(plant.id)) found.set(plant.id, plant);
    }
    if (found.size > 0) return [...found.values()];
    return [{ id: 1n, values: contract.fields.map(({ example }) => example) }];
  }

  #note(pointer: string, sentence: string): void {
    const note = `${sentence} (at ${pointer})`;
    if (!this.#notes.includes(note)) this.#notes.push(note);
  }
}

/** The header fields of successes, in lower case. */
const sentHeaders: readonly string[] = [
  "cache-control",
  "content-type",
  "link",
  "ratelimit",
  "ratelimit-policy",
  "x-request-id",
];

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

function nameOf({ operationId }: Json, fallback: string): string {
  return typeof operationId === "string" && operationId !== "" ? operationId : fallback;
}

/** A value for probes of a store where the contract has no example. */
function placeholder(type: FieldType): FieldValue {
  if (type.input === "number") return type.column.sqlite === "INTEGER" ? 0n : "0";
  return type.input === "boolean" ? true : "0";
}
