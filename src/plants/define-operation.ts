// Defines an operation by its parameters, its body and its handler. The create has a faster way of its
// own, in create-plant.ts.

import { ApiError } from "../base/errors.ts";
import type { RequiredHeader } from "../contract/contract.ts";
import { checkMediaType } from "../http/body-reader.ts";
import type { Operation } from "../http/operation.ts";
import type { OperationDocument } from "../http/operation-document.ts";
import { checkHeaders } from "../http/required-headers.ts";
import { type Parameters, type ParameterValues, parseParameters } from "./parameters.ts";
import { makeOperation, type OperationCall, type Result } from "./run-operation.ts";

/** The parts of a request that a handler gets. */
export interface DeclaredInput<Declared extends Parameters, Body> {
  readonly parameters: ParameterValues<Declared>;
  readonly body: Body;
}

export interface OperationOptions<Declared extends Parameters, Body, Call = OperationCall>
  extends Pick<Operation, "operationId" | "method" | "path" | "access" | "errors">,
    Pick<OperationDocument, "summary" | "responses"> {
  readonly description?: string;
  /** Undefined if the operation has none. */
  readonly parameters?: Declared;
  /** Whether it takes If-Match and If-None-Match. */
  readonly isConditional?: boolean;
  /** The header fields that it requires. */
  readonly headers?: readonly RequiredHeader[] | undefined;
  /** Undefined if no body is read. */
  readonly body?: {
    /** The media types that are read; application/json by default. */
    readonly types?: readonly string[];
    /** The schema of OpenAPI. */
    readonly schema: object;
    readonly parse: (bytes: Uint8Array) => Body | ApiError;
  };
  /** Rejects with an OperatorError if the store cannot be used now: the client gets a 503. */
  readonly handle: (call: Call & DeclaredInput<Declared, Body>) => Promise<Result> | Result;
}

/** Makes an operation that authenticates, validates, and responds with what its handler returns. */
export function defineOperation<const Declared extends Parameters = Record<never, never>, Body = undefined>(
  options: OperationOptions<Declared, Body>,
): Operation {
  const { operationId, method, path, access, errors, summary, headers: required, handle } = options;
  const { description = "", parameters = {}, isConditional = false, body, responses } = options;
  return makeOperation<DeclaredInput<Declared, Body>>({
    operationId,
    method,
    path,
    access,
    errors,
    described: { summary, description, parameters, isConditional, body: body?.schema, responses },
    async read({ url, headers, segments, readBody }) {
      const values = parseParameters(options.parameters ?? ({} as Declared), segments, url);
      if (values instanceof ApiError) return values;
      const unfit = checkHeaders(headers, required) ?? (body && checkMediaType(headers, body.types));
      if (unfit !== undefined) return unfit;
      const bytes = body && (await readBody());
      if (bytes instanceof ApiError) return bytes;
      const parsed = bytes && body?.parse(bytes);
      if (parsed instanceof ApiError) return parsed;
      return { parameters: values, body: parsed as Body };
    },
    handle: (input, call) => handle({ ...call, ...input }),
  });
}
