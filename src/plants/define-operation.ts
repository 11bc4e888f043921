// Defines an operation by its parameters, its body and its handler, and runs its requests: in the order
// of a create, which has a faster way of its own in create-plant.ts.

import type { Caller, ResolveCreator } from "../auth/caller.ts";
import { BoundedMap } from "../base/bounded-map.ts";
import { ApiError } from "../base/errors.ts";
import type { CheckedParameter, Contract } from "../contract/contract.ts";
import { type Exchange, notRun } from "../http/exchange.ts";
import {
  admit,
  type Operation,
  type OperationDocument,
  type OperationRow,
  type OperationServices,
} from "../http/operation.ts";
import { checkHead, jsonOnly } from "../http/request-head.ts";
import { toExactJson } from "../json/exact-json.ts";
import { isObject } from "../json/json-values.ts";
import type { SharedBudget } from "../store/fair-share.ts";
import type { OperationStore } from "../store/operation-store.ts";
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
 * The results of an operation: a reply, a response as it is, an error, or a value of JSON, which
 * is sent with 200.
 */
export type Result = Reply | Response | ApiError | JsonValue;

type JsonValue = string | number | bigint | boolean | null | object;

/** A request whose caller is known. */
interface SentRequest {
  readonly url: string;
  readonly headers: Headers;
  /** The texts of the path's parameters by name, without percent-encoding. */
  readonly segments: Readonly<Record<string, string>>;
  /**
   * Reads the body, or returns the limit that it exceeds. Never settles if the body does not arrive in
   * time, as the client has got its response then.
   */
  readonly readBody: () => Promise<Uint8Array | ApiError>;
}

/** The argument of a handler, besides what was sent. */
export interface OperationCall {
  readonly caller: Caller;
  /** The address that the client has sent it to. */
  readonly url: string;
  readonly headers: Headers;
  readonly contract: Contract;
  readonly store: OperationStore;
  readonly resolveCreator: ResolveCreator;
  readonly newId: OperationServices["newId"];
  /** The error of JSON that no body may have, as it is too large. */
  readonly checkSize: (json: string) => ApiError | undefined;
}

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
  /** Parameters that are only checked. */
  readonly checked?: readonly CheckedParameter[] | undefined;
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
  const { operationId, method, path, access, errors, summary, checked, handle } = options;
  const { description = "", parameters = {}, isConditional = false, body, responses } = options;
  return makeOperation<DeclaredInput<Declared, Body>>({
    operationId,
    method,
    path,
    access,
    errors,
    described: { summary, description, parameters, isConditional, body: body?.schema, responses },
    read({ url, headers, segments, readBody }) {
      const values = parseParameters(options.parameters ?? ({} as Declared), segments, url);
      if (values instanceof ApiError) return values;
      const unfit = checkHead({ headers, url }, checked, body && (body.types ?? jsonOnly));
      if (unfit !== undefined) return unfit;
      if (body === undefined) return { parameters: values, body: undefined as Body };
      return readBody().then((bytes) => {
        const parsed = bytes instanceof ApiError ? bytes : body.parse(bytes);
        return parsed instanceof ApiError ? parsed : { parameters: values, body: parsed };
      });
    },
    handle: (input, call) => handle(Object.assign(call, input)),
  });
}

interface RunnableOperation<Input> extends Omit<OperationRow, "advice" | "isServed"> {
  /** Reads and checks what was sent, or returns what is wrong with it. */
  readonly read: (request: SentRequest) => Promise<Input | ApiError> | Input | ApiError;
  /**
   * Rejects with an OperatorError if the store cannot be used now: the client gets a 503.
   *
   * @param call may be kept and changed.
   */
  readonly handle: (input: Input, call: OperationCall) => Promise<Result> | Result;
}

export function makeOperation<Input>({ read, handle, ...row }: RunnableOperation<Input>): Operation {
  return {
    ...row,
    isServed: true,
    advice: "",
    async run(exchange, services, segments) {
      const { request } = exchange;
      const { contract, resolveCreator, bodyReader, newId, storeOf } = services;
      try {
        // Its access may be another in a copy, as the contract says.
        const admitting = admit(exchange, services, this.access ?? contract.access);
        const refused = admitting instanceof Promise ? await admitting : admitting;
        if (refused !== undefined) return exchange.reject(refused);
        if (storeOf === undefined) throw new Error("The server was started without a store for operations");
        const caller = exchange.caller as Caller;
        const { headers, url } = request;
        // The body stays in memory while its operation waits for its turn.
        const readBody = () => bodyReader.readHeld(request, exchange);
        const reading = read({ url, headers, segments, readBody });
        const input = reading instanceof Promise ? await reading : reading;
        // Its body may have been late.
        if (exchange.isSettled) return;
        if (input instanceof ApiError) return exchange.reject(input);
        const result = await handle(input, {
          caller,
          // Few handlers look at it.
          get url() {
            return exchange.url;
          },
          headers,
          contract,
          store: storeOf(caller.key, () => request.signal.aborted),
          resolveCreator,
          newId,
          checkSize: (json) => bodyReader.checkSize(Buffer.byteLength(json)),
        });
        bodyReader.end(exchange);
        if (result instanceof ApiError) exchange.reject(result);
        else if (result instanceof Response) sendResponse(exchange, result);
        else sendReply(exchange, caller, bodyReader.memory, toReply(result));
      } catch (error) {
        // A POST may have done something before it failed.
        exchange.fail(error, row.method !== "POST");
      } finally {
        bodyReader.end(exchange);
      }
    },
  };
}

const replyMembers = ["status", "json", "jsonText", "headers"];

/**
 * The response for a value: a resource may have a status of its own, also a number.
 *
 * @param status of a value that is no reply.
 */
export function toReply(result: Reply | JsonValue, status = 200): Reply {
  const isReply =
    isObject(result) &&
    Number.isInteger(result.status) &&
    Object.keys(result).every((name) => replyMembers.includes(name));
  if (isReply) return result as unknown as Reply;
  return { status, jsonText: jsonTextOf(result) };
}

/** The JSON of what a handler returns. */
function jsonTextOf(value: unknown): string {
  // A Map, bytes or a stream would be sent as an empty object.
  const isJson = !isObject(value) || "toJSON" in value || isPlain(value);
  const jsonText = isJson ? toExactJson(value) : undefined;
  if (jsonText === undefined) {
    const kind = isObject(value) ? value.constructor?.name : typeof value;
    throw new TypeError(`An operation has returned ${kind}; return JSON, or { status: 204 }`);
  }
  return jsonText;
}

/** Whether an object is a literal, or that of a class without contents of its own kind. */
function isPlain(value: object): boolean {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** Sends a response that an operation has made. */
function sendResponse(exchange: Exchange, response: Response): void {
  if (response.status < 200) throw new TypeError("An operation has returned a response without a status");
  const copy = copyOf(response);
  copy.headers.set("X-Request-Id", exchange.requestId);
  exchange.reply(copy);
}

/** A copy of a response, as an operation may return one without a body each time. */
function copyOf(response: Response): Response {
  const { status, statusText, headers } = response;
  if (headers.has("Content-Type")) return new Response(response.body, { status, statusText, headers });
  // Only a clone keeps the type of a text, which no field has before the text is sent.
  const copy = response.clone() as Response;
  // Otherwise a stream is kept in memory for the other one, too.
  void response.body?.cancel();
  return copy;
}

const uncachedHeaders = { "Cache-Control": "no-store" };
const jsonHeaders = { ...uncachedHeaders, "Content-Type": "application/json" };

/**
 * The fields of replies, by their names: a response copies them, so that the next one sets them again,
 * which takes half the time of making them.
 */
const reusedHeaders = new BoundedMap<string, Headers>(100);

function replyHeaders(isJson: boolean, own: Readonly<Record<string, string>>, requestId: string): Headers {
  let kind = isJson ? "json" : "";
  for (const name in own) kind += ` ${name}`;
  let headers = reusedHeaders.get(kind);
  if (headers === undefined) {
    headers = new Headers(isJson ? jsonHeaders : uncachedHeaders);
    reusedHeaders.set(kind, headers);
  }
  // An operation may name one of the fields that all have, in letters of another case.
  for (const name in own) headers.set(name, own[name] as string);
  headers.set("X-Request-Id", requestId);
  return headers;
}

/** Sends a reply, or an error if there is no memory for its body. */
function sendReply(exchange: Exchange, { key }: Caller, memory: SharedBudget, reply: Reply): void {
  const json = reply.jsonText ?? (reply.json === undefined ? undefined : jsonTextOf(reply.json));
  const headers = replyHeaders(json !== undefined, reply.headers ?? {}, exchange.requestId);
  const isShort = json === undefined || json.length * utf8BytesMax <= unheldBytesMax;
  const bytes = isShort ? undefined : new TextEncoder().encode(json);
  const isHeld = bytes !== undefined && bytes.length > unheldBytesMax && exchange.request.method !== "HEAD";
  const body = isHeld ? untilReceived(bytes, () => memory.release(key, bytes.length)) : (bytes ?? json);
  // Throws for a status or a field that is none, before the memory is held.
  const response = new Response(body, { status: reply.status, headers });
  if (isHeld && !memory.acquire(key, bytes.length)) exchange.reject(notRun());
  else exchange.reply(response);
}

/** Shorter responses fit into the buffers of the kernel, so that no memory is reserved for them. */
const unheldBytesMax = 16_384;

/** Bytes of a UTF-16 code unit in UTF-8. */
const utf8BytesMax = 3;

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
