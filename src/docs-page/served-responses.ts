// Describes the responses of an operation as it is served: the author's, with the header fields of
// the server, and those of the server that the author does not describe.

import type { OperationDocument } from "../http/operation.ts";
import { jsonMedia, jsonType, type ResponseObject } from "./description.ts";
import type { AuthorOperation, Draft } from "./draft.ts";
import { type FailingOperation, FailureResponses } from "./failure-responses.ts";
import { headerReferences } from "./served-components.ts";

type Responses = Readonly<Record<string, ResponseObject>>;

const locationHeader = {
  description: "The path of what was created.",
  schema: { type: "string", format: "uri-reference" },
};

export class ServedResponses {
  readonly #draft: Draft;
  readonly #errorSchema: { readonly $ref: string };
  readonly #failures: FailureResponses;
  readonly #basePath: string;

  /** @param errorName the name of the schema of errors. */
  constructor(
    draft: Draft,
    { basePath, errorName }: { readonly basePath: string; readonly errorName: string },
  ) {
    const { contract, operations } = draft;
    this.#draft = draft;
    this.#basePath = basePath;
    this.#errorSchema = { $ref: `#/components/schemas/${errorName}` };
    this.#failures = new FailureResponses(contract, operations, { basePath, errorSchema: this.#errorSchema });
  }

  /** Returns the responses of an operation, by status. */
  of(
    operation: FailingOperation,
    own: AuthorOperation["responses"] | null,
    successes: OperationDocument["responses"] = {},
  ): Responses {
    const responses: Record<string, ResponseObject> = {};
    for (const [status, { description, headers, returns }] of Object.entries(successes))
      responses[status] = {
        description,
        headers: { ...commonHeaders(), ...this.#withBasePath(headers) },
        ...(returns !== undefined && {
          content: { [jsonType]: { schema: this.#schemaOf(returns, operation) } },
        }),
      };
    for (const [status, described] of Object.entries(own ?? {})) {
      const response = this.#draft.resolve(described);
      const isSuccess = /^[123]/.test(status) && response !== undefined;
      const headers = { ...this.#headersOf(operation, status), ...responses[status]?.headers };
      responses[status] = isSuccess
        ? {
            ...(operation.kind === "asDescribed" ? response : withJsonOnly(response)),
            headers: { ...headers, ...response.headers },
          }
        : described;
    }
    for (const [status, failure] of Object.entries(this.#failures.of(operation))) {
      const described = this.#draft.resolve(responses[status]);
      if (described === undefined) responses[status] = failure;
      else if (this.#hasOurShape(described, operation)) responses[status] = merged(described, failure);
    }
    return responses;
  }

  /** Header fields with the addresses in their examples as this server has them. */
  #withBasePath(headers: OperationDocument["responses"][string]["headers"] = {}): Record<string, object> {
    const addressed = (field: { readonly example?: unknown }) =>
      typeof field.example === "string"
        ? { ...field, example: field.example.replace(/^<\//, `<${this.#basePath}/`) }
        : field;
    return Object.fromEntries(Object.entries(headers).map(([name, field]) => [name, addressed(field)]));
  }

  #headersOf({ kind, path }: FailingOperation, status: string): Record<string, object> {
    const isCreate = kind === "create";
    const hasLocation = isCreate && status === "201" && this.#hasGet(path);
    return { ...commonHeaders(isCreate), ...(hasLocation && { Location: locationHeader }) };
  }

  /** Whether GET is served at the address that the Location of a create has. */
  #hasGet(createPath: string): boolean {
    const start = `${createPath}/{`;
    return this.#draft.operations.some(({ method, path }) => method === "GET" && path.startsWith(start));
  }

  /** The schema of the create's success, for operations that return one plant or a list of them. */
  #schemaOf(returns: "one" | "list" | object, { collection }: FailingOperation): object {
    if (typeof returns === "object") return returns;
    if (collection === undefined) return {};
    const { status } = collection.operations.create;
    const { responses, requestBody } = this.#draft.createOf(collection);
    const response = jsonMedia(this.#draft.resolve(responses?.[status])?.content);
    const body = jsonMedia(this.#draft.resolve(requestBody)?.content);
    const schema = (response ?? body)?.[1].schema ?? {};
    return returns === "one" ? schema : { type: "array", items: schema };
  }

  /**
   * Whether the author describes an error of the shape that the server sends, or one without a body, which
   * gets that shape where the operation is not only responded to as described.
   */
  #hasOurShape({ content }: ResponseObject, { kind }: FailingOperation): boolean {
    if (Object.keys(content ?? {}).length === 0) return kind !== "asDescribed";
    const schema = jsonMedia(content)?.[1].schema;
    const { schema: described } = this.#draft.contract.errors.shape;
    return schema?.$ref === this.#errorSchema.$ref || Bun.deepEquals(schema, described);
  }
}

/**
 * Header fields of every response. Nothing caches the success of a POST, so that of the create has
 * no Cache-Control.
 */
function commonHeaders(isCreate = false): Record<string, object> {
  const caching = isCreate ? [] : ["Cache-Control"];
  return headerReferences(["X-Request-Id", ...caching, "RateLimit", "RateLimit-Policy"]);
}

/** A response without the media types that the server does not send. */
function withJsonOnly(response: ResponseObject): ResponseObject {
  const json = jsonMedia(response.content);
  return json === undefined ? response : { ...response, content: { [json[0]]: json[1] } };
}

/** An author's failure of our shape, with our header fields and examples. */
function merged(own: ResponseObject, failure: ResponseObject): ResponseObject {
  const [type, media] = jsonMedia(own.content) ?? jsonMedia(failure.content) ?? [jsonType, {}];
  const text = String(own.description ?? "").trim();
  const ours = failure.description ?? "";
  const isWhole = text.includes(ours) || ours.startsWith(text);
  const examples = { ...jsonMedia(failure.content)?.[1].examples, ...media.examples };
  const hasExamples = media.example === undefined && Object.keys(examples).length > 0;
  return {
    ...own,
    description: isWhole ? (text.length > ours.length ? text : ours) : `${text}\n\n${ours}`,
    ...(failure.headers !== undefined && { headers: { ...failure.headers, ...own.headers } }),
    content: { ...own.content, [type]: { ...media, ...(hasExamples && { examples }) } },
  };
}
