// Defines an operation by its parameters, its body and its handler, and runs its requests: in the order
// of a create, which has a faster way of its own in create-plant.ts.

import type { Caller, ResolveCreator } from "../auth/caller.ts";
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
  /** Reads the body, or returns the limit that it exceeds. */
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
    async read({ url, headers, segments, readBody }) {
      const values = parseParameters(options.parameters ?? ({} as Declared), segments, url);
      if (values instanceof ApiError) return values;
      const unfit = checkHead({ headers, url }, checked, body && (body.types ?? jsonOnly));
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

interface RunnableOperation<Input> extends Omit<OperationRow, "advice" | "isServed"> {
  /** Reads and checks what was sent, or returns what is wrong with it. */
  readonly read: (request: SentRequest) => Promise<Input | ApiError>;
  /** Rejects with an OperatorError if the store cannot be used now: the client gets a 503. */
  readonly handle: (input: Input, call: OperationCall) => Promise<Result> | Result;
}

export function makeOperation<Input>({ read, handle, ...row }: RunnableOperation<Input>): Operation {
  return {
    ...row,
    isServed: true,
    advice: "",
    async run(exchange, services, segments) {
      // A POST may have done something before it failed.
      const isRepeatable = row.method !== "POST";
      try {
        // Its access may be another in a copy, as the contract says.
        const { access } = this;
        const result = await respond({ ...row, access, read, handle }, exchange, services, segments);
        if (result instanceof ApiError) exchange.reject(result);
      } catch (error) {
        exchange.fail(error, isRepeatable);
      }
    },
  };
}

/** Replies, or returns the error to reply with. */
async function respond<Input>(
  { access, read, handle }: RunnableOperation<Input>,
  exchange: Exchange,
  services: OperationServices,
  segments: Readonly<Record<string, string>>,
): Promise<ApiError | undefined> {
  const { contract, resolveCreator, bodyReader, newId, storeOf } = services;
  const refused = await admit(exchange, services, access ?? contract.access);
  if (refused !== undefined) return refused;
  const { request } = exchange;
  const { headers } = request;
  const caller = exchange.caller as Caller;

  if (storeOf === undefined) throw new Error("The server was started without a store for operations");
  let heldBytes = 0;
  const readBody = async () => {
    const bytes = await bodyReader.read(request, caller);
    if (bytes instanceof ApiError) return bytes;
    // The body stays in memory while its operation waits for its turn.
    if (!bodyReader.memory.acquire(caller.key, bytes.length)) return notRun();
    heldBytes += bytes.length;
    return bytes;
  };
  let result: Result;
  try {
    const input = await read({ url: request.url, headers, segments, readBody });
    if (input instanceof ApiError) return input;
    result = await handle(input, {
      caller,
      url: exchange.url,
      headers,
      contract,
      store: storeOf(caller.key, () => request.signal.aborted),
      resolveCreator,
      newId,
      checkSize: (json) => bodyReader.checkSize(Buffer.byteLength(json)),
    });
  } finally {
    bodyReader.memory.release(caller.key, heldBytes);
  }
  if (result instanceof ApiError) return result;
  if (!(result instanceof Response)) return send(exchange, caller, bodyReader.memory, toReply(result));
  if (result.status < 200) throw new TypeError("An operation has returned a response without a status");
  // A copy, as the header fields of a response to fetch cannot be changed.
  exchange.reply(new Response(result.body, result));
  return undefined;
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

/** Sends a reply. Returns an error instead if there is no memory for its body. */
function send(exchange: Exchange, { key }: Caller, memory: SharedBudget, reply: Reply): ApiError | undefined {
  const json = reply.jsonText ?? (reply.json === undefined ? undefined : jsonTextOf(reply.json));
  const contentType = json === undefined ? undefined : { "Content-Type": "application/json" };
  const headers = { ...contentType, "Cache-Control": "no-store", ...reply.headers };
  const bytes = json === undefined ? null : new TextEncoder().encode(json);
  let body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null = bytes;
  if (bytes !== null && bytes.length > unheldBytesMax && exchange.request.method !== "HEAD") {
    if (!memory.acquire(key, bytes.length)) return notRun();
    body = untilReceived(bytes, () => memory.release(key, bytes.length));
  }
  exchange.reply(new Response(body, { status: reply.status, headers }));
  return undefined;
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
