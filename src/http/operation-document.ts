// Defines the part of the served OpenAPI document that an operation brings along.

export interface OperationDocument {
  readonly summary: string;
  readonly description: string;
  readonly parameters: DescribedParameters;
  /** Whether it takes If-Match and If-None-Match. */
  readonly isConditional: boolean;
  /** The schema of the body; undefined if no body is read. */
  readonly body: object | undefined;
  /** The responses with a status below 400, by status. */
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

/** Keyed by name. */
export type DescribedParameters = Readonly<Record<string, DescribedParameter>>;

/** A parameter: one of the path if the path names it in braces, otherwise one of the query. */
export interface DescribedParameter {
  readonly description: string;
  /** The schema of OpenAPI. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Undefined if the parameter is required. */
  readonly whenAbsent?: object;
}

interface DescribedResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  /** The JSON that it has: one plant, an array of them, or what a schema of OpenAPI says. */
  readonly returns?: "one" | "list" | object;
}
