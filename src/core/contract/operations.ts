// The operations of a description: which are served, and what of them is not.

import type { Contract, OpenApiDocument, OtherOperation, ServedOperation, Words } from "./contract.ts";
import { pointerTo } from "./contract-error.ts";
import { type ErrorShape, errorShapeOf, isSameShape, ownErrorShape } from "./error-shape.ts";
import { isObject, type Json, type Schemas } from "./schemas.ts";
import { type Access, readSecurity } from "./security.ts";
import { operationName } from "./words.ts";

export const jsonType = "application/json";

const methods = ["get", "put", "post", "delete", "patch"] as const;

/** The media type of JSON of a body or a response. */
export function mediaType(
  schemas: Schemas,
  value: unknown,
  pointer: string,
): { readonly media: Json; readonly pointer: string } | undefined {
  const content = schemas.resolve(value, pointer)?.content;
  if (!isObject(content)) return undefined;
  const name = Object.keys(content).find(isJson);
  if (name === undefined) return undefined;
  const media = schemas.resolve(content[name], pointer);
  return media && { media, pointer: pointerTo(pointer, "content", name, "schema") };
}

function isJson(type: string): boolean {
  return /^(?:application\/json\b|\*\/\*)/i.test(type);
}

/** The first of some statuses that an operation responds with. */
export function successOf(schemas: Schemas, operation: Json, pointer: string, statuses: readonly string[]) {
  const responses = responsesOf(operation);
  const status = statuses.find((each) => responses[each] !== undefined);
  if (status === undefined) return undefined;
  const at = pointerTo(pointer, "responses", status);
  const media = mediaType(schemas, responses[status], at);
  return { status: Number(status), schema: media?.media.schema, pointer: media?.pointer ?? at };
}

function responsesOf({ responses }: Json): Json {
  return isObject(responses) ? responses : {};
}

interface DescribedOperation {
  readonly operation: Json;
  readonly pointer: string;
}

/** The POST of a collection. */
interface DescribedCreate {
  readonly path: string;
  readonly post: Json;
  readonly pointer: string;
  readonly id: Pick<Contract["id"], "isRequired">;
}

/** The header fields that successes have, in lower case. */
const sentHeaders: readonly string[] = [
  "cache-control",
  "content-type",
  "link",
  "location",
  "ratelimit",
  "ratelimit-policy",
  "x-request-id",
];

export class OperationsReader {
  readonly #document: OpenApiDocument;
  readonly #schemas: Schemas;
  readonly #note: (pointer: string, sentence: string) => void;

  /** @param note takes what is not served, in a sentence. */
  constructor(
    document: OpenApiDocument,
    schemas: Schemas,
    note: (pointer: string, sentence: string) => void,
  ) {
    this.#document = document;
    this.#schemas = schemas;
    this.#note = note;
  }

  /**
   * @param status that of the create's success.
   */
  read(
    { path, post, pointer, id }: DescribedCreate,
    status: number,
    { one, many }: Words,
  ): Pick<Contract, "operations" | "others" | "errorShape"> {
    const operations: { -readonly [Name in keyof Contract["operations"]]: Contract["operations"][Name] } = {
      create: {
        operationId: nameOf(post, operationName("create", one)),
        status,
        access: this.#access({ operation: post, pointer }),
      },
    };
    const others: OtherOperation[] = [];
    const served: DescribedOperation[] = [{ operation: post, pointer }];
    const headers = id.isRequired ? [] : ["idempotency-key"];
    this.#noteRequest(served[0] as DescribedOperation, `POST ${path}`, headers);
    for (const [each, value] of Object.entries(this.#document.paths ?? {})) {
      const place = pointerTo("", "paths", each);
      const item = this.#schemas.resolve(value, place);
      if (item === undefined) continue;
      for (const method of methods) {
        if (item[method] === undefined || (each === path && method === "post")) continue;
        const at = pointerTo(place, method);
        const operation = this.#schemas.resolve(item[method], at) ?? {};
        const title = `${method.toUpperCase()} ${each}`;
        const name = knownName(method, each, path);
        const fallback = operationName(name ?? method, name === "list" ? many : one);
        const found = name && this.#served(name, { operation, pointer: at }, fallback);
        if (name !== undefined && found !== undefined) {
          operations[name] = found;
          served.push({ operation, pointer: at });
          const parameters = name === "list" ? ["limit", "after"] : [];
          this.#noteRequest({ operation, pointer: at }, title, parameters);
        } else {
          others.push({ method: method.toUpperCase() as OtherOperation["method"], path: each });
          this.#note(at, `${title} is not served: it responds with 501`);
        }
      }
    }
    if (isObject(this.#document.webhooks)) this.#note(pointerTo("", "webhooks"), "webhooks are not sent");
    if (isObject(post.callbacks)) this.#note(pointerTo(pointer, "callbacks"), "callbacks are not sent");
    return { operations, others, errorShape: this.#readResponses(served) };
  }

  /** An operation that is served as it is described; undefined if its response has another shape. */
  #served(
    name: "list" | "get" | "delete",
    { operation, pointer }: DescribedOperation,
    fallback: string,
  ): ServedOperation | undefined {
    const statuses = name === "delete" ? ["204", "200"] : ["200"];
    const success = successOf(this.#schemas, operation, pointer, statuses);
    if (success === undefined) return undefined;
    if (success.schema !== undefined) {
      const schema = this.#schemas.expand(success.schema, success.pointer);
      const isObjectSchema = schema.type === "object" || isObject(schema.properties);
      if (name === "list" ? schema.type !== "array" : !isObjectSchema) return undefined;
      if (name === "delete") return undefined;
    }
    return {
      operationId: nameOf(operation, fallback),
      status: success.status,
      access: this.#access({ operation, pointer }),
    };
  }

  #noteRequest({ operation, pointer }: DescribedOperation, title: string, served: readonly string[]): void {
    const parameters = Array.isArray(operation.parameters) ? operation.parameters : [];
    for (const [index, value] of parameters.entries()) {
      const at = pointerTo(pointer, "parameters", String(index));
      const parameter = this.#schemas.resolve(value, at);
      const name = parameter?.in === "header" ? String(parameter.name).toLowerCase() : parameter?.name;
      if (parameter === undefined || parameter.in === "path" || served.includes(String(name))) continue;

      this.#note(at, `the ${parameter.in} parameter ${parameter.name} of ${title} is not served`);
    }
    const content = this.#schemas.resolve(operation.requestBody, pointer)?.content;
    for (const type of Object.keys(isObject(content) ? content : {}))
      if (!isJson(type))
        this.#note(pointerTo(pointer, "requestBody", "content", type), `a body of ${type} is not read`);
  }

  /** How callers identify themselves, as the operation or the whole description says. */
  #access({ operation, pointer }: DescribedOperation): Access {
    const isOwn = operation.security !== undefined;
    const { access, accepted, refused } = readSecurity(
      isOwn ? operation.security : this.#document.security,
      (name) => this.#securityScheme(name),
    );
    const instead = accepted.length === 0 ? "; a bearer token is needed instead" : "";
    for (const name of refused)
      this.#note(
        pointerTo(isOwn ? pointer : "", "security"),
        `the security of ${name} is not accepted${instead}`,
      );
    return access;
  }

  #securityScheme(name: string): Json | undefined {
    const schemes = this.#schemas.resolve(this.#document.components, "")?.securitySchemes;
    const at = pointerTo("", "components", "securitySchemes", name);
    return this.#schemas.resolve(
      isObject(schemes) && Object.hasOwn(schemes, name) ? schemes[name] : undefined,
      at,
    );
  }

  /** The shape of errors: the first one that is described and can be served. */
  #readResponses(served: readonly DescribedOperation[]): ErrorShape {
    const shapes: { readonly at: string; readonly shape: ErrorShape | string }[] = [];
    for (const { operation, pointer } of served)
      for (const [status, response] of Object.entries(responsesOf(operation))) {
        const at = pointerTo(pointer, "responses", status);
        if (status.startsWith("2")) this.#noteHeaders(response, at);
        const shape = /^(?:[45]|default$)/.test(status) ? this.#errorShape(response, at) : undefined;
        if (shape !== undefined) shapes.push({ at, shape });
      }
    const fitting = shapes.map(({ shape }) => shape).filter((shape) => typeof shape !== "string");
    const chosen = fitting[0] ?? ownErrorShape;
    const names = chosen.members.map(([name]) => JSON.stringify(name)).join(", ");
    const other = shapes.find(({ shape }) => typeof shape === "string" || !isSameShape(shape, chosen));
    if (other !== undefined) {
      const reason = typeof other.shape === "string" ? `, as nothing fits "${other.shape}" here` : "";
      this.#note(other.at, `errors have the members ${names}, whatever is described${reason}`);
    }
    return chosen;
  }

  /** Undefined for a failure without JSON; the name of a member that nothing fits. */
  #errorShape(response: unknown, pointer: string): ErrorShape | string | undefined {
    const content = this.#schemas.resolve(response, pointer)?.content;
    const type = Object.keys(isObject(content) ? content : {}).find((each) =>
      /^application\/(?:problem\+)?json\b/i.test(each),
    );
    if (!isObject(content) || type === undefined) return undefined;
    const schema = this.#schemas.resolve(content[type], pointer)?.schema;
    if (!isObject(schema)) return undefined;
    const at = pointerTo(pointer, "content", type, "schema");
    return errorShapeOf(this.#schemas.expand(schema, at), type, schema);
  }

  #noteHeaders(response: unknown, pointer: string): void {
    const headers = this.#schemas.resolve(response, pointer)?.headers;
    for (const name of Object.keys(isObject(headers) ? headers : {}))
      if (!sentHeaders.includes(name.toLowerCase()))
        this.#note(pointerTo(pointer, "headers", name), `the header field ${name} is not sent`);
  }
}

/** Whether an operation describes the header field Idempotency-Key as required. */
export function requiresKey(schemas: Schemas, { parameters }: Json, pointer: string): boolean {
  return (Array.isArray(parameters) ? parameters : []).some((each) => {
    const parameter = schemas.resolve(each, pointer);
    return parameter !== undefined && isKey(parameter) && parameter.required === true;
  });
}

function isKey(parameter: Json): boolean {
  return parameter.in === "header" && /^idempotency-key$/i.test(String(parameter.name));
}

/** Whether a path is that of one resource of a collection, such as /pets/{petId}. */
export function isItemOf(collection: string, path: string): boolean {
  return path.startsWith(`${collection}/`) && /^\{[^/{}]+\}$/.test(path.slice(collection.length + 1));
}

/** Which operation of the collection one is; undefined for any other. */
function knownName(method: string, path: string, collection: string): "list" | "get" | "delete" | undefined {
  if (path === collection) return method === "get" ? "list" : undefined;
  return isItemOf(collection, path) && (method === "get" || method === "delete") ? method : undefined;
}

function nameOf({ operationId }: Json, fallback: string): string {
  return typeof operationId === "string" && operationId !== "" ? operationId : fallback;
}
