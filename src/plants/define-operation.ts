// Defines an operation: what it takes and returns, and the way of its requests. The create has a
// faster way of its own, in create-plant.ts.

import type { Caller, ResolveCreator } from "../auth/caller.ts";
import { ApiError, unavailable } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Contract, RequiredHeader } from "../contract/contract.ts";
import { checkMediaType } from "../http/body-reader.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Operation, OperationServices } from "../http/operation.ts";
import type { OperationDocument } from "../http/operation-document.ts";
import { checkHeaders } from "../http/required-headers.ts";
import { toExactJson } from "../json/exact-json.ts";
import { isObject } from "../json/json-values.ts";
import type { SharedBudget } from "../store/fair-share.ts";
import { TurnTimeout } from "../store/groups.ts";
import type { OperationStore } from "../store/operation-store.ts";
import { WrongStatement } from "../store/sql-connection.ts";
import { type Parameters, type ParameterValues, parseParameters } from "./parameters.ts";

/** The response of an operation: JSON, or no body. */
export interface Reply {
  readonly status: number;
  /** A bigint becomes a number with all of its digits. */
  readonly json?: unknown;
  /** JSON that is written already, instead of `json`. */
  readonly jsonText?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What an operation may respond with: a reply, a response as it is, an error, or a value of JSON, which
 * is sent with 200.
 */
export type Result = Reply | Response | ApiError | JsonValue;

type JsonValue =
  | (string | number | bigint | boolean | null)
  | readonly unknown[]
  | { readonly [member: string]: unknown };

interface OperationOptions<Declared extends Parameters, Body>
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
  readonly handle: (call: {
    readonly caller: Caller;
    readonly parameters: ParameterValues<Declared>;
    readonly body: Body;
    /** The address that the client has sent it to. */
    readonly url: string;
    readonly headers: Headers;
    readonly contract: Contract;
    readonly store: OperationStore;
    readonly resolveCreator: ResolveCreator;
    /** The error of JSON that no body may have, as it is too large. */
    readonly checkSize: (json: string) => ApiError | undefined;
  }) => Promise<Result> | Result;
}

/** Makes an operation that authenticates, validates, and responds with what its handler returns. */
export function defineOperation<const Declared extends Parameters = Record<never, never>, Body = undefined>(
  options: OperationOptions<Declared, Body>,
): Operation {
  const { operationId, method, path, access, errors, summary } = options;
  const { description = "", parameters = {}, isConditional = false, body, responses } = options;
  return {
    operationId,
    method,
    path,
    access,
    errors,
    isServed: true,
    advice: "",
    described: { summary, description, parameters, isConditional, body: body?.schema, responses },
    async run(exchange, services, segments) {
      // A POST may have done something before it failed.
      const isRepeatable = method !== "POST";
      try {
        const result = await respond(options, exchange, services, segments);
        if (result instanceof ApiError) exchange.reject(result);
      } catch (error) {
        if (error instanceof ApiError) exchange.reject(error);
        else if (error instanceof TurnTimeout) exchange.reject(overloaded());
        else if (error instanceof OperatorError && !(error instanceof WrongStatement))
          exchange.failStore(error, isRepeatable);
        else if (exchange.request.signal.aborted) exchange.abort();
        else exchange.fail(error, isRepeatable);
      }
    },
  };
}

/** Replies, or returns the error to reply with. */
async function respond<Declared extends Parameters, Body>(
  { parameters: declared, headers: required, body, access, handle }: OperationOptions<Declared, Body>,
  exchange: Exchange,
  { contract, authenticator, resolveCreator, rateLimit, bodyReader, storeOf }: OperationServices,
  segments: Readonly<Record<string, string>>,
): Promise<ApiError | undefined> {
  const { request } = exchange;
  const caller = await authenticator.authenticate(request.headers, access ?? contract.access);
  if (caller instanceof ApiError) return caller;
  exchange.caller = caller;
  exchange.rateLimit = rateLimit?.consume(caller);
  if (exchange.rateLimit?.error !== undefined) return exchange.rateLimit.error;

  const parameters = parseParameters(declared ?? ({} as Declared), segments, request.url);
  if (parameters instanceof ApiError) return parameters;
  const unfit = checkHeaders(request.headers, required);
  if (unfit !== undefined) return unfit;
  if (storeOf === undefined) throw new Error("The server was started without a store for operations");
  const store = storeOf(caller.key);
  let parsed: Body | undefined;
  let heldBytes = 0;
  if (body !== undefined) {
    const bytes = checkMediaType(request.headers, body.types) ?? (await bodyReader.read(request, caller));
    const result = bytes instanceof ApiError ? bytes : body.parse(bytes);
    if (bytes instanceof ApiError || result instanceof ApiError) return result as ApiError;
    // The body stays in memory while its operation waits for its turn.
    if (!bodyReader.memory.acquire(caller.key, bytes.length)) return overloaded();
    heldBytes = bytes.length;
    parsed = result;
  }

  const running = Promise.try(handle, {
    caller,
    parameters,
    body: parsed as Body,
    url: exchange.url,
    headers: request.headers,
    contract,
    store,
    resolveCreator,
    checkSize: (json) => bodyReader.checkSize(Buffer.byteLength(json)),
  });
  const result = await running.finally(() => bodyReader.memory.release(caller.key, heldBytes));
  if (result instanceof ApiError) return result;
  if (!(result instanceof Response)) return send(exchange, caller, bodyReader.memory, toReply(result));
  if (result.status < 200) throw new TypeError("An operation has returned a response without a status");
  // A copy, as the header fields of a response to fetch cannot be changed.
  exchange.reply(new Response(result.body, result));
  return undefined;
}

const replyMembers = ["status", "json", "jsonText", "headers"];

/** A resource may have a status of its own, also a number. */
function toReply(result: Reply | JsonValue): Reply {
  const isReply =
    isObject(result) &&
    Number.isInteger(result.status) &&
    Object.keys(result).every((name) => replyMembers.includes(name));
  if (isReply) return result as unknown as Reply;
  const jsonText = toExactJson(result);
  if (jsonText === undefined)
    throw new TypeError(`An operation has returned ${typeof result}; return JSON, or { status: 204 }`);
  return { status: 200, jsonText };
}

/** Sends a reply. Returns an error instead if there is no memory for its body. */
function send(exchange: Exchange, { key }: Caller, memory: SharedBudget, reply: Reply): ApiError | undefined {
  const json = reply.jsonText ?? (reply.json === undefined ? undefined : toExactJson(reply.json));
  const contentType = json === undefined ? undefined : { "Content-Type": "application/json" };
  const headers = { ...contentType, "Cache-Control": "no-store", ...reply.headers };
  const bytes = json === undefined ? null : new TextEncoder().encode(json);
  let body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null = bytes;
  if (bytes !== null && bytes.length > unheldBytesMax && exchange.request.method !== "HEAD") {
    if (!memory.acquire(key, bytes.length)) return overloaded();
    body = untilReceived(bytes, () => memory.release(key, bytes.length));
  }
  exchange.reply(new Response(body, { status: reply.status, headers }));
  return undefined;
}

function overloaded(): ApiError {
  return unavailable("The server is overloaded and did not run the operation");
}

/** Shorter responses fit into the buffers of the kernel, so that no memory is reserved for them. */
const unheldBytesMax = 16_384;

/** A body that calls `release` when the client has received it, or is gone. */
function untilReceived(bytes: Uint8Array, release: () => void): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream<Uint8Array>(
    {
      // Called again when the socket has taken the first chunk.
      pull(controller) {
        if (isSent) {
          release();
          controller.close();
          return;
        }
        isSent = true;
        controller.enqueue(bytes);
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  );
}
