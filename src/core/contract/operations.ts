// The operations of a description: which are served, and what of them is not.

import type {
  Contract,
  EditOperation,
  ListShape,
  OpenApiDocument,
  OperationName,
  OtherOperation,
  ServedOperation,
  Words,
} from "./contract.ts";
import { readEditShape } from "./edit-shape.ts";
import { type ErrorShape, errorShapeOf, isSameShape, ownErrorShape } from "./error-shape.ts";
import { pointerTo } from "./json-pointer.ts";
import { readListShape } from "./list-shape.ts";
import { isObject, type Json, propertiesOf, requiredOf, type Schemas } from "./schemas.ts";
import { type Access, readSecurity } from "./security.ts";
import { operationName } from "./words.ts";

export const jsonType = "application/json";

const methods = ["get", "put", "post", "delete", "patch"] as const;

/** RFC 7396. */
export const mergePatchType = "application/merge-patch+json";

/** The media type of JSON of a body or a response. */
export function mediaType(
  schemas: Schemas,
  value: unknown,
  pointer: string,
  accepts = isJson,
): { readonly media: Json; readonly pointer: string } | undefined {
  const content = schemas.resolve(value, pointer)?.content;
  if (!isObject(content)) return undefined;
  const name = Object.keys(content).find(accepts);
  if (name === undefined) return undefined;
  const media = schemas.resolve(content[name], pointer);
  return media && { media, pointer: pointerTo(pointer, "content", name, "schema") };
}

function isJson(type: string): boolean {
  return /^(?:application\/json\b|\*\/\*)/i.test(type);
}

function isPatchBody(type: string): boolean {
  return isJson(type) || type.startsWith(mergePatchType);
}

/** The parameters of an operation, and those that all operations of its path have. */
export function allParameters({ parameters: shared }: Json, { parameters: own }: Json): readonly unknown[] {
  return [own, shared].flatMap((each) => (Array.isArray(each) ? each : []));
}

/** The first of some statuses that an operation responds with. */
export function successOf(schemas: Schemas, operation: Json, pointer: string, statuses: readonly string[]) {
  const responses = responsesOf(operation);
  const status = statuses.find((each) => responses[each] !== undefined);
  if (status === undefined) return undefined;
  const at = pointerTo(pointer, "responses", status);
  const media = mediaType(schemas, responses[status], at);
  const content = schemas.resolve(responses[status], at)?.content;
  return {
    status: Number(status),
    hasContent: status !== "204" && isObject(content) && Object.keys(content).length > 0,
    schema: media?.media.schema,
    pointer: media?.pointer ?? at,
  };
}

function responsesOf({ responses }: Json): Json {
  return isObject(responses) ? responses : {};
}

/** An operation of the description, and its pointer. */
interface PlacedOperation {
  readonly operation: Json;
  readonly pointer: string;
}

/** The POST of a collection. */
interface DescribedCreate {
  readonly path: string;
  readonly post: Json;
  readonly pointer: string;
  /** The schema of its body, with its references replaced. */
  readonly schema: Json;
  readonly id: Pick<Contract["id"], "name" | "isRequired">;
  /** The members that every response has, and that some have. */
  readonly returned: { readonly always: readonly string[]; readonly sometimes: readonly string[] };
}

/** The header fields that successes have, in lower case. */
const sentHeaders: readonly string[] = [
  "cache-control",
  "content-type",
  "etag",
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
    create: DescribedCreate,
    status: number,
    { one, many }: Words,
  ): Pick<Contract, "operations" | "list" | "others" | "errorShape"> {
    const { path, post, pointer, id } = create;
    const operations: { -readonly [Name in keyof Contract["operations"]]: Contract["operations"][Name] } = {
      create: {
        operationId: nameOf(post, operationName("create", one)),
        status,
        access: this.#access({ operation: post, pointer }),
      },
    };
    const others: OtherOperation[] = [];
    const served: PlacedOperation[] = [{ operation: post, pointer }];
    const headers = id.isRequired ? [] : ["idempotency-key"];
    this.#noteRequest(served[0] as PlacedOperation, `POST ${path}`, headers);
    let list = readListShape(undefined, new Map()) as ListShape;
    for (const [each, value] of Object.entries(this.#document.paths ?? {})) {
      const place = pointerTo("", "paths", each);
      const item = this.#schemas.resolve(value, place);
      if (item === undefined) continue;
      for (const method of ["head", "options", "trace"])
        if (item[method] !== undefined)
          this.#note(pointerTo(place, method), `${method.toUpperCase()} ${each} is not served`);
      if (item.servers !== undefined)
        this.#note(pointerTo(place, "servers"), "the servers of a path are not used");
      for (const method of methods) {
        if (item[method] === undefined || (each === path && method === "post")) continue;
        const at = pointerTo(place, method);
        const own = this.#schemas.resolve(item[method], at) ?? {};
        const operation = { ...own, parameters: allParameters(item, own) };
        const title = `${method.toUpperCase()} ${each}`;
        const name = knownName(method, each, path);
        const fallback = operationName(name ?? method, name === "list" ? many : one);
        const described = { operation, pointer: at };
        const found = name && this.#served(name, described, create);
        const shape =
          name === "list" && typeof found === "object" ? this.#listShape(described, create.returned) : list;
        if (name !== undefined && typeof found === "object" && typeof shape === "object") {
          Object.assign(operations, {
            [name]: { operationId: nameOf(operation, fallback), access: this.#access(described), ...found },
          });
          served.push(described);
          list = shape;
          const parameters = name === "list" ? ["limit", shape.paging] : ["if-match", "if-none-match"];
          this.#noteRequest(described, title, parameters);
        } else {
          others.push({ method: method.toUpperCase() as OtherOperation["method"], path: each });
          const reason = [found, shape].find((value) => typeof value === "string");
          this.#note(
            at,
            `${title} is not served${reason === undefined ? "" : `, as ${reason}`}: it responds with 501`,
          );
        }
      }
    }
    if (isObject(this.#document.webhooks)) this.#note(pointerTo("", "webhooks"), "webhooks are not sent");
    if (isObject(post.callbacks)) this.#note(pointerTo(pointer, "callbacks"), "callbacks are not sent");
    return { operations, list, others, errorShape: this.#readResponses(served) };
  }

  /** The success of an operation that is served as it is described, or why it is not. */
  #served(
    name: Exclude<OperationName, "create">,
    described: PlacedOperation,
    create: DescribedCreate,
  ): Pick<ServedOperation, "status"> | string {
    if (name === "replace" || name === "change") return this.#servedEdit(name, described, create);
    const { operation, pointer } = described;
    const statuses = name === "delete" ? ["204", "200"] : ["200"];
    const success = successOf(this.#schemas, operation, pointer, statuses);
    if (success === undefined) return `it describes no response ${statuses.join(" or ")}`;
    if (name === "delete" && success.schema !== undefined) return "its response has a body";
    const fault = name === "get" ? this.#faultOfSuccess(success, create.returned) : undefined;
    return fault ?? { status: success.status };
  }

  #servedEdit(
    name: "replace" | "change",
    { operation, pointer }: PlacedOperation,
    { schema: created, id, returned }: DescribedCreate,
  ): Omit<EditOperation, "operationId" | "access"> | string {
    const own = successOf(this.#schemas, operation, pointer, ["200", "204"]);
    if (own === undefined) return "it describes no response 200 or 204";
    const creation = name === "replace" ? successOf(this.#schemas, operation, pointer, ["201"]) : undefined;
    const successes: Record<number, boolean> = {};
    for (const success of [own, creation]) {
      if (success === undefined) continue;
      const fault = this.#faultOfSuccess(success, returned);
      if (fault !== undefined) return fault;
      successes[success.status] = success.hasContent;
    }
    const accepts = name === "change" ? isPatchBody : isJson;
    const body = mediaType(this.#schemas, operation.requestBody, pointer, accepts);
    if (body === undefined) return "it describes no body of JSON";
    const schema = this.#schemas.expand(body.media.schema, body.pointer);
    const shape = readEditShape(name, schema, { created, idName: id.name });
    return typeof shape === "string" ? shape : { status: own.status, successes, ...shape };
  }

  #faultOfSuccess(
    { schema, pointer }: NonNullable<ReturnType<typeof successOf>>,
    returned: DescribedCreate["returned"],
  ): string | undefined {
    return schema === undefined
      ? undefined
      : faultOfResource(this.#schemas.expand(schema, pointer), returned);
  }

  /** The shape of a list whose response is described, or why it cannot be served. */
  #listShape(
    { operation, pointer }: PlacedOperation,
    returned: DescribedCreate["returned"],
  ): ListShape | string {
    const success = successOf(this.#schemas, operation, pointer, ["200"]);
    const schema =
      success?.schema === undefined ? undefined : this.#schemas.expand(success.schema, success.pointer);
    const parameters = new Map<string, Json>();
    for (const value of operation.parameters as readonly unknown[]) {
      const parameter = this.#schemas.resolve(value, pointer);
      const described = this.#schemas.resolve(parameter?.schema, pointer);
      if (parameter?.in === "query" && described !== undefined)
        parameters.set(String(parameter.name), described);
    }
    const shape = readListShape(schema, parameters);
    if (typeof shape === "string" || schema === undefined) return shape;
    const member = shape.members?.find(([, holds]) => holds === "plants")?.[0];
    const array = member === undefined ? schema : (schema.properties as Json)[member];
    const items = isObject(array) ? array.items : undefined;
    return (isObject(items) ? faultOfResource(items, returned) : undefined) ?? shape;
  }

  #noteRequest({ operation, pointer }: PlacedOperation, title: string, served: readonly string[]): void {
    const parameters = Array.isArray(operation.parameters) ? operation.parameters : [];
    for (const [index, value] of parameters.entries()) {
      const at = pointerTo(pointer, "parameters", String(index));
      const parameter = this.#schemas.resolve(value, at);
      const name = parameter?.in === "header" ? String(parameter.name).toLowerCase() : parameter?.name;
      if (parameter === undefined || parameter.in === "path" || served.includes(String(name))) continue;
      this.#note(at, `the ${parameter.in} parameter ${parameter.name} of ${title} is not served`);
    }
    const content = this.#schemas.resolve(operation.requestBody, pointer)?.content;
    for (const type of Object.keys(isObject(content) ? content : {})) {
      const isRead = title.startsWith("PATCH") ? isPatchBody(type) : isJson(type);
      if (!isRead)
        this.#note(pointerTo(pointer, "requestBody", "content", type), `a body of ${type} is not read`);
    }
  }

  /** How callers identify themselves, as the operation or the whole description says. */
  #access({ operation, pointer }: PlacedOperation): Access {
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
  #readResponses(served: readonly PlacedOperation[]): ErrorShape {
    const shapes: { readonly at: string; readonly shape: ErrorShape | string }[] = [];
    for (const { operation, pointer } of served)
      for (const [status, response] of Object.entries(responsesOf(operation))) {
        const at = pointerTo(pointer, "responses", status);
        if (status.startsWith("2")) this.#noteSuccess(response, at);
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

  #noteSuccess(response: unknown, pointer: string): void {
    const { headers, content } = this.#schemas.resolve(response, pointer) ?? {};
    for (const type of Object.keys(isObject(content) ? content : {}))
      if (!isJson(type)) this.#note(pointerTo(pointer, "content", type), `a response of ${type} is not sent`);
    for (const name of Object.keys(isObject(headers) ? headers : {}))
      if (!sentHeaders.includes(name.toLowerCase()))
        this.#note(pointerTo(pointer, "headers", name), `the header field ${name} is not sent`);
  }
}

/** Why a schema does not describe what is stored; undefined if it does. */
function faultOfResource(
  schema: Json,
  { always, sometimes }: DescribedCreate["returned"],
): string | undefined {
  if (schema.type !== "object" && !isObject(schema.properties)) return "its response is no object";
  const missing = requiredOf(schema).find((name) => !(always as readonly unknown[]).includes(name));
  if (missing !== undefined) return `its response requires "${missing}"`;
  const described = propertiesOf(schema);
  const surplus = [...always, ...sometimes].find((name) => !Object.hasOwn(described, name));
  const isClosed = schema.additionalProperties === false && surplus !== undefined;
  return isClosed ? `its response may not have "${surplus}"` : undefined;
}

/** Whether an operation describes the header field Idempotency-Key as required. */
export function requiresKey(schemas: Schemas, { parameters }: Json, pointer: string): boolean {
  return (Array.isArray(parameters) ? parameters : []).some((each) => {
    const parameter = schemas.resolve(each, pointer);
    const isKey = parameter?.in === "header" && /^idempotency-key$/i.test(String(parameter.name));
    return isKey && parameter.required === true;
  });
}

/** Whether a path is that of one resource of a collection, such as /pets/{petId}. */
export function isItemOf(collection: string, path: string): boolean {
  return path.startsWith(`${collection}/`) && /^\{[^/{}]+\}$/.test(path.slice(collection.length + 1));
}

/** Which operation of the collection one is; undefined for any other. */
function knownName(
  method: (typeof methods)[number],
  path: string,
  collection: string,
): Exclude<OperationName, "create"> | undefined {
  if (path === collection) return method === "get" ? "list" : undefined;
  if (!isItemOf(collection, path) || method === "post") return undefined;
  return ({ get: "get", put: "replace", patch: "change", delete: "delete" } as const)[method];
}

function nameOf({ operationId }: Json, fallback: string): string {
  return typeof operationId === "string" && operationId !== "" ? operationId : fallback;
}
