// Responds to an operation that no collection serves as it is described, in a sandbox. Nothing is
// kept.

import type { Caller } from "../../auth/caller.ts";
import { ApiError } from "../../base/errors.ts";
import { listed } from "../../base/listed.ts";
import type { OpenApiDocument, OtherOperation } from "../../contract/contract.ts";
import { apiErrorMembers, type ErrorFormat, type ErrorShape } from "../../contract/error-format.ts";
import { type DescribedBody, readDescribedBody } from "../../described/described-body.ts";
import { readDescribedParameters, type SentParameters } from "../../described/described-parameters.ts";
import type { Exchange } from "../../http/exchange.ts";
import type { Operation, OperationServices } from "../../http/operation.ts";
import { errorResponse } from "../../http/responses.ts";
import { encodePath } from "../../json/percent-encoding.ts";
import { type DescribedOperation, operationAt } from "../../openapi/description/described-operation.ts";
import { errorFormatOf } from "../../openapi/description/error-shapes.ts";
import { ContractError, Place } from "../../openapi/document/place.ts";
import { ValueMaker } from "../../openapi/schema/made-values.ts";
import { parsePrefer, unmetPreference } from "../prefer.ts";
import { missingCredentials } from "./credentials.ts";
import { DescribedResponses, type FoundResponse } from "./described-responses.ts";

/** A request to an operation. */
export interface SentRequest extends SentParameters {
  /** Reads the body, or returns the limit that it exceeds. */
  readonly readBody: () => Promise<Uint8Array | ApiError>;
}

/** Parts that all operations of one description use. */
interface SharedParts {
  readonly document: OpenApiDocument;
  readonly maker: ValueMaker;
}

/** The parts of an operation that are read when its first request arrives. */
interface ReadOperation {
  /** The error of its credentials, or of its parameters. */
  readonly headFault: (sent: SentParameters) => ApiError | undefined;
  /** Undefined for an operation without a body. */
  readonly readBody: DescribedBody | undefined;
  readonly responses: DescribedResponses;
  readonly errors: ErrorFormat;
}

/** The caller of these operations, whose credentials are not checked. */
const sandboxCaller: Caller = { key: "sandbox", name: "sandbox", creator: undefined };

type DescribedPath = Pick<OtherOperation, "method" | "path">;

export class SandboxOperation implements Operation {
  readonly operationId: string;
  readonly method: Operation["method"];
  readonly path: string;
  readonly isServed = true;
  readonly advice = "";
  readonly #describedPath: string;
  readonly #shape: ErrorShape;
  readonly #shared: SharedParts;
  #read: Promise<ReadOperation> | undefined;

  /** @param shape of errors that are not described. */
  constructor({ method, path }: DescribedPath, operationId: unknown, shape: ErrorShape, shared: SharedParts) {
    this.operationId = typeof operationId === "string" ? operationId : `${method} ${path}`;
    this.method = method;
    this.path = encodePath(path);
    this.#describedPath = path;
    this.#shape = shape;
    this.#shared = shared;
  }

  async run(
    exchange: Exchange,
    { bodyReader }: OperationServices,
    segments: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { request } = exchange;
    try {
      exchange.caller = sandboxCaller;
      const [, query = ""] = /\?([^#]*)/.exec(request.url) ?? [];
      const readBody = () => bodyReader.read(request, sandboxCaller);
      const response = await this.respond({ headers: request.headers, query, segments, readBody });
      response.headers.set("X-Request-Id", exchange.requestId);
      exchange.reply(response);
    } catch (error) {
      exchange.fail(error);
    }
  }

  /** Responds as described. It needs no server, and no collection. */
  async respond(sent: SentRequest): Promise<Response> {
    this.#read ??= this.#readOperation();
    let read: ReadOperation;
    try {
      read = await this.#read;
    } catch (error) {
      if (!(error instanceof ContractError)) throw error;
      return this.#refuse(error.problem, { shape: this.#shape, shapes: {}, statuses: {} });
    }
    const { headers } = sent;
    const preferences = parsePrefer(headers.get("prefer") ?? "");
    const [code, example] = [preferences.get("code"), preferences.get("example")];
    const isDynamic = preferences.get("dynamic") === "true";
    const found = chosenResponse(read.responses, code, example);
    const { errors } = read;
    if (typeof found === "string") return unmetPreference(found, errors.shapes[400] ?? errors.shape);
    // A forced error needs no valid request.
    const fault = code !== undefined && Number(code) >= 400 ? undefined : await requestFault(read, sent);
    const accept = headers.get("accept");
    if (fault !== undefined) return await this.#fail(read, fault, accept);
    if (found === undefined) return this.#refuse("it describes no response", errors);
    const response = await read.responses.write(found, { accept, example, isDynamic });
    if (response === undefined) return this.#refuse(noValueFor(found), errors);
    const applied = [code && `code=${code}`, example && `example=${example}`, isDynamic && "dynamic=true"];
    const followed = applied.filter((each) => each);
    if (followed.length > 0) response.headers.set("Preference-Applied", followed.join(", "));
    response.headers.set("Cache-Control", "no-store");
    return response;
  }

  async #readOperation(): Promise<ReadOperation> {
    const { document, maker } = this.#shared;
    // The parts of schemas are counted for each operation.
    const root = Place.root(document, { isLenient: true });
    const method = this.method.toLowerCase() as DescribedOperation["method"];
    const item = root.at("paths", this.#describedPath);
    const described = operationAt(item, this.#describedPath, method);
    const readParameters = await readDescribedParameters(described);
    return {
      headFault: (sent) => missingCredentials(described.place, sent) ?? errorIn(readParameters(sent)),
      readBody: await readDescribedBody(described.place),
      responses: new DescribedResponses(described.place, maker),
      errors: errorFormatOf(described, this.#shape),
    };
  }

  /** Writes an error as the description has it, with its own message where there is a place for it. */
  async #fail(
    { responses, errors }: ReadOperation,
    error: ApiError,
    accept: string | null,
  ): Promise<Response> {
    const own = errorResponse(errors, error);
    const found = responses.at(own.status);
    if (found === undefined) return own;
    const response = await responses.write(found, { accept, error: apiErrorMembers(errors, error) });
    if (response === undefined) return this.#refuse(noValueFor(found), errors);
    for (const [name, value] of own.headers)
      if (!response.headers.has(name)) response.headers.set(name, value);
    if (response.body === null) response.headers.delete("Content-Type");
    return response;
  }

  #refuse(reason: string, errors: ErrorFormat): Response {
    const message = `${this.method} ${this.#describedPath} cannot respond as described: ${reason}.`;
    return errorResponse(errors, new ApiError("notImplemented", message));
  }
}

function noValueFor({ status }: FoundResponse): string {
  return `no value was found that fits its response ${status}; describe an example`;
}

/** The response that the preferences choose; why there is none, or undefined if none is described. */
function chosenResponse(
  responses: DescribedResponses,
  code: string | undefined,
  example: string | undefined,
): FoundResponse | undefined | string {
  const isStatus = code === undefined || /^[2-5]\d\d$/.test(code);
  const first = code === undefined ? responses.usual() : isStatus ? responses.at(Number(code)) : undefined;
  if (code !== undefined && first === undefined) return `code=${code} is no described response.`;
  if (example === undefined) return first;
  const found = responses.withExample(example, first);
  if (found === undefined || (code !== undefined && found.status !== Number(code)))
    return `there is no example ${JSON.stringify(example)} of this response.`;
  return found;
}

/** The error of a request that is not as described. */
async function requestFault(
  { headFault, readBody }: ReadOperation,
  sent: SentRequest,
): Promise<ApiError | undefined> {
  const fault = headFault(sent);
  if (fault !== undefined || readBody === undefined) return fault;
  return errorIn(await readBody(sent.headers, sent.readBody));
}

function errorIn(read: object): ApiError | undefined {
  return read instanceof ApiError ? read : undefined;
}

/**
 * The described operations that no collection serves.
 *
 * @param others their methods and paths.
 * @param shape of errors that are not described.
 */
export function sandboxOperations(
  document: OpenApiDocument,
  others: readonly DescribedPath[],
  shape: ErrorShape,
): SandboxOperation[] {
  const shared: SharedParts = { document, maker: new ValueMaker("response") };
  const paths = Place.root(document, { isLenient: true }).at("paths");
  return others.map((other) => {
    const operationId = paths.at(other.path, other.method.toLowerCase(), "operationId").value;
    return new SandboxOperation(other, operationId, shape, shared);
  });
}

/** Says which operations only respond as described. */
export function describedLine(operations: readonly Operation[]): string {
  const list = listed(operations.map(({ method, path }) => `${method} ${path}`));
  const [verb, keep] =
    operations.length === 1 ? ["operation responds", "keeps"] : ["operations respond", "keep"];
  return `${operations.length} ${verb} as described, and ${keep} nothing: ${list}`;
}
