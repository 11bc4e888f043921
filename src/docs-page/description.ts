// Declares the parts of an OpenAPI description that the documentation reads and writes.

/** A part of the description. */
interface Described {
  readonly $ref?: string;
  readonly description?: string;
}

/** A part of JSON Schema. */
export interface Schema extends Described {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly example?: unknown;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly allOf?: readonly Schema[];
}

export interface Example extends Described {
  readonly summary?: string;
  readonly value?: unknown;
}

export interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface ResponseObject extends Described {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface ParameterObject extends Described {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

export interface RequestBody extends Described {
  readonly content: Readonly<Record<string, MediaType>>;
}

/** An operation as it is served. */
export interface OperationObject {
  readonly tags?: readonly string[];
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly ParameterObject[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly security?: readonly object[];
}

/** The operations of a path by their methods in lower case. */
export type PathItem = Readonly<Record<string, OperationObject>>;

/** The parameters that all operations of a path have. */
export function parametersOf(item: PathItem | undefined): readonly ParameterObject[] {
  const { parameters } = (item ?? {}) as { readonly parameters?: unknown };
  return Array.isArray(parameters) ? parameters : [];
}

export interface Description {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license?: { readonly name: string };
  };
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses?: Readonly<Record<string, ResponseObject>>;
    readonly headers?: Readonly<Record<string, object>>;
    readonly securitySchemes?: Readonly<Record<string, object>>;
  };
  readonly [member: string]: unknown;
}

export const jsonType = "application/json";

/** The name and the value of the media type of JSON, also where it has parameters. */
export function jsonMedia(
  content: Readonly<Record<string, MediaType>> | undefined,
): readonly [name: string, media: MediaType] | undefined {
  return Object.entries(content ?? {}).find(([name]) =>
    /^(?:application\/(?:(?:problem|merge-patch)\+)?json\b|\*\/\*)/i.test(name),
  );
}

/** Whether a header field is the one by which a create can be sent again. */
export function isIdempotencyKey(name: string): boolean {
  return /^idempotency-key$/i.test(name);
}

/** The last name of a reference. */
function nameOf({ $ref = "" }: { readonly $ref?: string }): string {
  return $ref.split("/").at(-1) ?? "";
}

/** The response of the components that a response refers to, or the response itself. */
export function referencedResponse(
  { responses }: Description["components"],
  response: ResponseObject,
): ResponseObject {
  return responses?.[nameOf(response)] ?? response;
}

export function firstLineOf(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
