// The contract as it is served: the author's description, with what the server adds to every one.
// What the author wrote is kept.

import type { Contract, Plant } from "../core/contract/contract.ts";
import type { ErrorPart } from "../core/contract/error-shape.ts";
import { type ErrorCode, errorRegistry, statusOf } from "../core/contract/errors.ts";
import { referencedMembers } from "../core/contract/json-pointer.ts";
import { decodePercent } from "../core/contract/percent-encoding.ts";
import { bodyJson } from "../core/contract/plant.ts";
import { type Access, readSecurity, tokenField } from "../core/contract/security.ts";
import { withArticle } from "../core/contract/words.ts";
import type { DescribedOperation, DescribedParameters } from "../core/http/described-operation.ts";
import type { Operation } from "../core/http/operation.ts";
import { codeSamples } from "./code-samples.ts";
import {
  type DescribedParameter,
  type DescribedResponse,
  type Description,
  jsonMedia,
  type MediaType,
  type PathItem,
  parametersOf,
  type Schema,
} from "./description.ts";
import { adviceFor, type FailingOperation, FailureResponses } from "./failure-responses.ts";
import { toOpenApi30 } from "./openapi-3.0.ts";

/** The address that is replaced by this server's when the document is sent. */
export const placeholder = "http://address-of-this-server.invalid";

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] };
type Json = Record<string, unknown>;

const jsonType = "application/json";

/**
 * @param operations those besides the create.
 * @param basePath the server's, which messages of errors have.
 */
export function servedDocument(
  contract: Contract,
  operations: readonly Operation[],
  basePath = "",
): Description {
  return new DocumentBuilder(contract, operations, basePath).build();
}

class DocumentBuilder {
  readonly #contract: Contract;
  readonly #operations: readonly Operation[];
  /** A copy that is changed, in which no parts are shared, as they are by the aliases of YAML. */
  readonly #document: Mutable<Description>;
  readonly #errorSchema: { readonly $ref: string };
  readonly #failures: FailureResponses;

  constructor(contract: Contract, operations: readonly Operation[], basePath: string) {
    this.#contract = contract;
    this.#operations = operations;
    this.#document = JSON.parse(JSON.stringify(contract.document));
    const components = { ...this.#document.components };
    this.#document.components = { ...components, schemas: { ...components.schemas } };
    this.#errorSchema = { $ref: `#/components/schemas/${this.#addErrorSchema()}` };
    this.#failures = new FailureResponses(contract, operations, { basePath, errorSchema: this.#errorSchema });
  }

  build(): Description {
    const { describedPath, others } = this.#contract;
    const operations = this.#operations;
    const document = this.#document;
    document.servers = [{ url: placeholder, description: "This server." }];
    document.info = { ...document.info, description: this.#description() };
    this.#addComponents();
    this.#restrictTexts();
    this.#set(describedPath, "post", (own) => this.#describeCreate(own));
    for (const operation of operations) {
      if (operation.described === undefined) continue;
      const method = operation.method.toLowerCase();
      this.#set(this.#pathOf(operation.path), method, (own) => this.#describe(operation, own));
    }
    for (const { method, path } of others) {
      if (operations.some((each) => each.method === method && this.#pathOf(each.path) === path)) continue;
      const { access } = this.#contract.operations.create;
      this.#set(path, method.toLowerCase(), (own) => ({
        ...own,
        responses: this.#responses({ kind: "unserved", method, path, access }, own.responses),
      }));
    }
    if (this.#document.security !== undefined)
      this.#document.security = this.#accepted(this.#document.security);
    return this.#isVersion30() ? (toOpenApi30(document) as Description) : document;
  }

  #isVersion30(): boolean {
    return this.#document.openapi.startsWith("3.0");
  }

  /** The path of an operation as the author has it, whatever the name of its parameter. */
  #pathOf(path: string): string {
    const shape = (text: string) => decodePercent(text).replaceAll(/\{[^{}]*\}/g, "{}");
    return (
      Object.keys(this.#document.paths).find((each) => shape(each) === shape(path)) ?? decodePercent(path)
    );
  }

  #set(path: string, method: string, describe: (own: Json) => object): void {
    const paths = this.#document.paths as Record<string, PathItem>;
    const item = (this.#resolve(paths[path]) ?? {}) as PathItem;
    const own = (this.#resolve(item[method]) ?? {}) as Json;
    const parameters = this.#resolveAll(parametersOf(item));
    // The page shows parameters, and examples, which may be references.
    paths[path] = { ...item, ...(parameters.length > 0 && { parameters }) } as PathItem;
    const described = { ...describe(own), ...this.#security(own) };
    paths[path] = { ...paths[path], [method]: described } as PathItem;
  }

  /** The requirements of an operation, which are those of the create where it is not described. */
  #security(own: Json): { readonly security?: readonly Json[] } {
    const post = this.#contract.document.paths?.[this.#contract.describedPath]?.post;
    const isDescribed = Object.keys(own).length > 0;
    const { security } = isDescribed ? own : ((this.#resolve(post) ?? {}) as Json);
    return security === undefined ? {} : { security: this.#accepted(security) };
  }

  /** The requirements that the server can check: a bearer token if there is none. */
  #accepted(security: unknown): readonly Json[] {
    const { accepted, refused } = this.#readSecurity(security);
    if (accepted.length > 0 || refused.length === 0) return accepted;
    const { components } = this.#document as { components: Record<string, Record<string, object>> };
    let name = "bearerAuth";
    while (
      components.securitySchemes?.[name] !== undefined &&
      components.securitySchemes[name] !== bearerAuth
    )
      name = `${name}OfServer`;
    components.securitySchemes = { ...components.securitySchemes, [name]: bearerAuth };
    return [{ [name]: [] }];
  }

  #readSecurity(security: unknown) {
    const schemes = this.#document.components.securitySchemes ?? {};
    return readSecurity(
      security,
      (name) => this.#resolve(Object.hasOwn(schemes, name) ? schemes[name] : undefined) as Json | undefined,
    );
  }

  #resolveAll(values: unknown): DescribedParameter[] {
    return Array.isArray(values) ? values.map((each) => this.#resolve(each) as DescribedParameter) : [];
  }

  #describeCreate(own: Json): object {
    const { words, operations, examples, path, id, requiresKey } = this.#contract;
    const body = (this.#resolve(own.requestBody) ?? {}) as Json;
    const content = (body.content ?? {}) as Record<string, MediaType>;
    const [type, media] = jsonMedia(content) ?? [jsonType, {}];
    const one = withArticle(words.one);
    const json = bodyJson(this.#contract, examples[0] as Plant);
    const given = Object.entries(media.examples ?? {}).map(([name, each]) => [
      name,
      this.#resolve(each) ?? {},
    ]);
    const example = {
      summary: one.slice(0, 1).toUpperCase() + one.slice(1),
      value: JSON.parse(json),
    };
    const named = given.length > 0 ? Object.fromEntries(given) : { example };
    const parameters = this.#resolveAll(own.parameters);
    const hasKey = parameters.some(({ name }) => /^idempotency-key$/i.test(name));
    if (!id.isRequired && !hasKey && !requiresKey) parameters.push(keyParameter(words.one));
    const same = id.isRequired ? "The same id" : "The same `Idempotency-Key`";
    return {
      summary: `Create ${one}`,
      description: `Creates ${one}. The response is sent only after the ${words.one} is on stable storage. ${same} with the same content has the same response again; with different content it is 40009.`,
      "x-codeSamples": codeSamples({
        field: tokenField(operations.create.access),
        method: "POST",
        url: placeholder + path,
        body: json,
      }),
      ...own,
      operationId: operations.create.operationId,
      ...(parameters.length > 0 && { parameters }),
      requestBody: {
        required: true,
        ...body,
        content: {
          [type]: { ...media, ...(media.example === undefined && { examples: named }) },
        },
      },
      responses: this.#responses(
        { kind: "create", method: "POST", path, access: operations.create.access },
        own.responses,
      ),
    };
  }

  #describe(operation: Operation, own: Json): object {
    const { operationId, method, path, described } = operation;
    const { access = this.#contract.operations.create.access } = operation;
    if (described === undefined) throw new Error(`${operationId} has no description`);
    const { summary, description, parameters, isConditional, body } = described;
    const example = body === undefined ? undefined : this.#exampleOf(body as Schema);
    const ownParameters = this.#resolveAll(own.parameters);
    const known = [...ownParameters, ...parametersOf(this.#document.paths[this.#pathOf(path)])];
    const names = namesInPath(path);
    const ownNames = namesInPath(this.#pathOf(path));
    const added = Object.entries(parameters).flatMap(([name, parameter]) => {
      const index = names.indexOf(name);
      const place = index === -1 ? "query" : "path";
      const described = {
        name: ownNames[index] ?? name,
        in: place,
        required: parameter.whenAbsent === undefined,
        description: parameter.description,
        schema: parameter.schema,
      };
      return known.some((each) => each.name === described.name && each.in === place) ? [] : [described];
    });
    const url = placeholder + this.#sampleTarget(path, parameters);
    const sampled = example === undefined ? undefined : JSON.stringify(example);
    return {
      tags: this.#createTags(),
      summary,
      description,
      "x-codeSamples": codeSamples({ field: tokenField(access), method, url, body: sampled }),
      ...(body !== undefined && {
        requestBody: {
          required: true,
          content: { [jsonType]: { schema: body, examples: { [operationId]: { summary, value: example } } } },
        },
      }),
      ...own,
      ...(own.requestBody !== undefined && {
        requestBody: this.#bodyWith(own.requestBody, summary, example),
      }),
      operationId: own.operationId ?? operationId,
      parameters: [...ownParameters, ...added],
      responses: this.#responses(
        { kind: body === undefined ? "withoutBody" : "withBody", isConditional, method, path, access },
        own.responses,
        described.responses,
      ),
    };
  }

  /** The author's body, with an example if it has none. */
  #bodyWith(own: unknown, summary: string, value: unknown): object {
    const { content = {}, ...body } = (this.#resolve(own) ?? {}) as { content?: Record<string, MediaType> };
    const [type, media] = jsonMedia(content) ?? [];
    if (type === undefined || value === undefined || (media?.example ?? media?.examples) !== undefined)
      return { required: true, ...body, content };
    const examples = { example: { summary, value } };
    return { required: true, ...body, content: { ...content, [type]: { ...media, examples } } };
  }

  #createTags(): readonly string[] {
    const { tags } = (this.#document.paths[this.#contract.describedPath]?.post ?? {}) as {
      readonly tags?: string[];
    };
    return tags ?? [this.#contract.words.many];
  }

  /** The success of the create, for operations that return one or several. */
  #schemaOf(returns: "one" | "list" | object): object {
    if (typeof returns === "object") return returns;
    const { create } = this.#contract.operations;
    const post = this.#document.paths[this.#contract.describedPath]?.post;
    const response = this.#resolve(post?.responses[create.status]) as DescribedResponse | undefined;
    const body = this.#resolve(post?.requestBody) as DescribedResponse | undefined;
    const schema = (jsonMedia(response?.content) ?? jsonMedia(body?.content))?.[1].schema ?? {};
    return returns === "one" ? schema : { type: "array", items: schema };
  }

  /**
   * The author's responses with the header fields of the server, and those that are not among them.
   */
  #responses(
    operation: FailingOperation,
    own: unknown,
    successes: DescribedOperation["responses"] = {},
  ): Record<string, DescribedResponse> {
    const responses: Record<string, DescribedResponse> = {};
    for (const [status, { description, headers, returns }] of Object.entries(successes))
      responses[status] = {
        description,
        headers: { ...commonHeaders(), ...headers },
        ...(returns !== undefined && { content: { [jsonType]: { schema: this.#schemaOf(returns) } } }),
      };
    for (const [status, described] of Object.entries((own ?? {}) as Record<string, DescribedResponse>)) {
      const response = this.#resolve(described) as DescribedResponse | undefined;
      const isSuccess = /^[123]/.test(status) && response !== undefined;
      const isCreate = operation.kind === "create";
      const headers = {
        ...commonHeaders(isCreate),
        ...(isCreate && status === "201" && this.#hasGet() && { Location: locationHeader }),
        ...responses[status]?.headers,
      };
      responses[status] = isSuccess
        ? { ...withJsonOnly(response), headers: { ...headers, ...response.headers } }
        : described;
    }
    for (const [status, failure] of Object.entries(this.#failures.of(operation))) {
      const described = this.#resolve(responses[status]) as DescribedResponse | undefined;
      if (described === undefined) responses[status] = failure;
      else if (this.#hasOurShape(described)) responses[status] = merged(described, failure);
    }
    return responses;
  }

  /** Whether a plant can be got where a Location is. */
  #hasGet(): boolean {
    return this.#operations.some(
      ({ method, path }) => method === "GET" && path.startsWith(`${this.#contract.path}/{`),
    );
  }

  /** Whether the author describes an error of the shape that the server sends. */
  #hasOurShape({ content }: DescribedResponse): boolean {
    const schema = jsonMedia(content)?.[1].schema;
    const { schema: described } = this.#contract.errorShape;
    return schema?.$ref === this.#errorSchema.$ref || Bun.deepEquals(schema, described);
  }

  /** The name of the schema of errors, which is the author's if it has the shape of ours. */
  #addErrorSchema(): string {
    const schemas = this.#document.components.schemas as Record<string, Schema>;
    const { schema: described } = this.#contract.errorShape;
    const named = /^#\/components\/schemas\/([^/]+)$/.exec(String(described?.$ref))?.[1];
    if (named !== undefined) return named;
    const own = Object.entries(schemas).find(
      ([, { properties, required = [] }]) =>
        properties?.error?.type === "integer" &&
        properties.message?.type === "string" &&
        required.every((name) => name === "error" || name === "message"),
    );
    if (own !== undefined) return own[0];
    const taken = new Set(Object.keys(schemas));
    let name = "Error";
    while (taken.has(name)) name = `Server${name}`;
    schemas[name] = described ?? errorSchema;
    return name;
  }

  #addComponents(): void {
    const { components } = this.#document as { components: Record<string, Record<string, object>> };
    components.headers = { ...headerComponents, ...components.headers };
    const schemes = Object.entries(components.securitySchemes ?? {});
    // The page looks them up by name.
    if (schemes.length > 0)
      components.securitySchemes = Object.fromEntries(
        schemes.map(([name, scheme]) => [name, this.#resolve(scheme) ?? {}]),
      );
  }

  /** Adds the pattern of what can be stored to the texts of the resource that have none. */
  #restrictTexts(): void {
    const isPlain = new Set(
      this.#contract.fields.filter(({ type }) => type.kind === "text").map(({ name }) => name),
    );
    const restrict = (value: unknown, depth: number) => {
      const schema = this.#resolve(value) as Mutable<Schema> | undefined;
      if (schema === undefined || depth > 8) return;
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        const text = property as Mutable<Schema>;
        const isFree = text.type === "string" && text.pattern === undefined && text.enum === undefined;
        if (isFree && text.format === undefined && isPlain.has(name)) text.pattern = "^[^\\x00]*$";
      }
      for (const part of schema.allOf ?? []) restrict(part, depth + 1);
    };
    const post = this.#document.paths[this.#contract.describedPath]?.post;
    for (const part of [post?.requestBody, ...Object.values(post?.responses ?? {})]) {
      const { content } = (this.#resolve(part) ?? {}) as DescribedResponse;
      restrict(jsonMedia(content)?.[1].schema, 0);
    }
  }

  #resolve(value: unknown): object | undefined {
    let found = value;
    for (let depth = 0; depth < 20; depth++) {
      if (typeof found !== "object" || found === null) return undefined;
      const { $ref } = found as { readonly $ref?: unknown };
      if (typeof $ref !== "string") return found;
      found = referencedMembers($ref).reduce<unknown>(
        (parent, name) => (parent as Json | undefined)?.[name],
        this.#document,
      );
    }
    return undefined;
  }

  /**
   * The author's text, with paragraphs and chapters of the server where they are not the author's.
   */
  #description(): string {
    const { description } = this.#document.info;
    const own = typeof description === "string" ? description.trim() : "";
    const [lead = "", ...chapters] = own.split(/^(?=## )/m).map((text) => text.trim());
    const error = this.#errorSchema.$ref.split("/").at(-1) ?? "";
    const notes = [
      `Every response that is not a success has ${withArticle(error)} as its body: ${this.#describeErrorMembers()}. Creates are idempotent: sending the same ${this.#contract.words.one} again
has the same response and changes nothing, so a client that lost a response can retry.`,
      `This description is served as \`openapi.json\` and \`openapi.yaml\`${this.#isVersion30() ? "" : ", and in OpenAPI 3.0.3, for tools that read no 3.1, as\n`openapi-3.0.json`"}.`,
    ].filter((note) => !own.includes(note));
    const added = [tokensChapter(this.#contract.operations.create.access), this.#errorsChapter()].filter(
      (chapter) => !chapters.some((each) => titleOf(each) === titleOf(chapter)),
    );
    return `${[lead || `${this.#contract.words.service}.`, ...notes, ...chapters, ...added].join("\n\n")}\n`;
  }

  #describeErrorMembers(): string {
    const { members } = this.#contract.errorShape;
    return members
      .filter(([, holds]) => holds in memberMeanings)
      .map(([name, holds]) => `\`${name}\` ${memberMeanings[holds]}`)
      .join(",\n");
  }

  #errorsChapter(): string {
    const { members } = this.#contract.errorShape;
    const [name, holds] = members.find(([, each]) => each.startsWith("code")) ?? ["status", "status"];
    const codes = (Object.keys(errorRegistry) as ErrorCode[]).filter((code) => {
      if (code === "invalidParameter") return this.#operations.length > 0 || !this.#contract.id.isRequired;
      if (code === "preconditionFailed")
        return this.#operations.some(({ described }) => described?.isConditional);
      return code !== "notImplemented" || this.#contract.others.length > 0;
    });
    const rows = codes
      .toSorted((one, other) => errorRegistry[one].error - errorRegistry[other].error)
      .map(
        (code) =>
          `| ${holds === "status" ? statusOf(code) : errorRegistry[code].error} | ${errorRegistry[code].meaning} | ${adviceFor(code, this.#contract)} |`,
      );
    return `## Errors

The HTTP parser rejects what is not well-formed HTTP with a bare 400, 431 or 505: a status line without a body,
and the connection is closed. Every other error is one of these:

| ${name} | Meaning | What to do |
| --- | --- | --- |
${rows.join("\n")}`;
  }

  /** A path with values for its parameters, and with the query parameters that are required. */
  #sampleTarget(path: string, parameters: DescribedParameters): string {
    const query = new URLSearchParams();
    let target = path;
    for (const [name, { schema, whenAbsent }] of Object.entries(parameters)) {
      const value = String(this.#exampleOf(schema));
      if (path.includes(`{${name}}`)) target = target.replace(`{${name}}`, () => encodeURIComponent(value));
      else if (whenAbsent === undefined) query.set(name, value);
    }
    return query.size === 0 ? target : `${target}?${query}`;
  }

  /** A value of a schema, of its examples where it has some. */
  #exampleOf(schema: Schema): unknown {
    if (schema.$ref !== undefined) return this.#exampleOf((this.#resolve(schema) ?? {}) as Schema);
    const given = [
      schema.example,
      ...(schema.examples ?? []),
      schema.default,
      schema.const,
      ...(schema.enum ?? []),
    ];
    const example = given.find((value) => value !== undefined);
    if (example !== undefined) return example;
    if (schema.properties !== undefined || schema.allOf !== undefined) {
      const own = Object.entries(schema.properties ?? {}).map(([name, each]) => [
        name,
        this.#exampleOf(each),
      ]);
      // The properties that a schema adds to another one come first, such as the id of a NewPlant.
      const parts = (schema.allOf ?? []).toReversed().map((each) => this.#exampleOf(each) as object);
      return Object.assign(Object.fromEntries(own), ...parts);
    }
    if (schema.type === "array") return schema.items === undefined ? [] : [this.#exampleOf(schema.items)];
    if (schema.type === "boolean") return true;
    return schema.type === "string" ? "text" : Math.max(1, schema.minimum ?? 1);
  }
}

const memberMeanings: Partial<Record<ErrorPart, string>> = {
  code: "is the HTTP status times 100 plus a detail",
  codeText: "is the HTTP status times 100 plus a detail",
  message: "says what was wrong and what would be right",
  status: "is the HTTP status",
  title: "says what errors of the same type have in common",
  type: "ends with the HTTP status times 100 plus a detail",
};

function tokensChapter(access: Access): string {
  const field = tokenField(access);
  if (field === undefined) return "## Tokens\n\nNone is needed.";
  return `## Tokens

The operator issues tokens with \`plantstore token create --name ci\`; a token is shown once. Send it as
\`${field.join(": ")}<ACCESS_TOKEN>\`.`;
}

/** The header field by which a create can be sent again, where the server chooses the id. */
function keyParameter(one: string): DescribedParameter {
  return {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: `One that is new for each ${one}, such as a UUID. Sent again, it creates no second one.`,
    schema: { type: "string", minLength: 1, maxLength: 255 },
  } as DescribedParameter;
}

function titleOf(chapter: string): string {
  return chapter.split("\n", 1)[0]?.trim() ?? "";
}

/** The names of the parameters of a path. */
function namesInPath(path: string): string[] {
  return [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
}

/** A response without the media types that the server does not send. */
function withJsonOnly(response: DescribedResponse): DescribedResponse {
  const json = jsonMedia(response.content);
  return json === undefined ? response : { ...response, content: { [json[0]]: json[1] } };
}

const locationHeader = {
  description: "The path of what was created.",
  schema: { type: "string", format: "uri-reference" },
};

/** An author's failure of our shape, with our header fields and examples. */
function merged(own: DescribedResponse, failure: DescribedResponse): DescribedResponse {
  const [type, media] = jsonMedia(own.content) ?? jsonMedia(failure.content) ?? [jsonType, {}];
  const text = own.description?.trim() ?? "";
  const ours = failure.description ?? "";
  const isWhole = text.includes(ours) || ours.startsWith(text);
  const examples = { ...jsonMedia(failure.content)?.[1].examples, ...media.examples };
  return {
    ...own,
    description: isWhole ? (text.length > ours.length ? text : ours) : `${text}\n\n${ours}`,
    ...(failure.headers !== undefined && { headers: { ...failure.headers, ...own.headers } }),
    content: {
      ...own.content,
      [type]: {
        ...media,
        ...(media.example === undefined && Object.keys(examples).length > 0 && { examples }),
      },
    },
  };
}

/**
 * Header fields of every response; a success of the create may be cached by nobody, so it does not
 * say it.
 */
function commonHeaders(isCreate = false): Record<string, object> {
  const names = ["X-Request-Id", ...(isCreate ? [] : ["Cache-Control"]), "RateLimit", "RateLimit-Policy"];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const errorSchema: Schema = {
  type: "object",
  description: "What was wrong, and what would be right.",
  required: ["error", "message"],
  properties: {
    error: {
      type: "integer",
      format: "int32",
      description: "Numeric error value, the HTTP status times 100 plus a detail.",
      examples: [40002],
    },
    message: { type: "string", description: "Error message text." },
  },
};

const bearerAuth = {
  type: "http",
  scheme: "bearer",
  description:
    "A token that the operator issued, or a JWT of the identity provider that the operator has configured.",
};

const headerComponents = {
  "Cache-Control": {
    description: "Errors must not be stored by caches.",
    schema: { type: "string", examples: ["no-store"] },
  },
  "X-Request-Id": {
    description: `The id of the request in the server's log: the X-Request-Id of the request, or the trace id of its traceparent,
if well-formed; otherwise generated.`,
    schema: { type: "string", examples: ["4fzyo82m-1c"] },
  },
  "RateLimit-Policy": {
    description: `The token's quota (q) and window in seconds (w), if the operator has set a rate
(draft-ietf-httpapi-ratelimit-headers-11).`,
    schema: { type: "string", examples: ['"token";q=50;w=5'] },
  },
  RateLimit: {
    description: "The remaining quota of the token (r), and the seconds until the quota is reset (t).",
    schema: { type: "string", examples: ['"token";r=49;t=5'] },
  },
  "Retry-After": {
    description: "Seconds to wait before sending the request again.",
    schema: { type: "integer", format: "int32", examples: [1] },
  },
};
