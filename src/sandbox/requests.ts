// Control of the log of requests: a list with a cursor that waits for the next request, and the bytes
// of each message.

import { AdminError } from "../core/admin/request-bodies.ts";
import { respond } from "../core/admin/responses.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { parseNumber, respondControl, respondDone, type SandboxPart } from "./control.ts";
import type { StoredMessage } from "./kept-bytes.ts";
import {
  ChunkReader,
  findHeadEnd,
  findInterimEnd,
  parseRequestHead,
  parseResponseHead,
  type RequestHead,
  type ResponseHead,
} from "./message.ts";
import type { RecordedRequest, RequestLog } from "./request-log.ts";

/** Requests of one response. */
const requestsMax = 1_000;
const requestsDefault = 100;

/** Bytes of requests and responses, from which on a response has no more of them. */
const pageBytesMax = 8 * 2 ** 20;

/** The admin listener closes a connection that is idle for a minute. */
const waitSecondsMax = 30;

export function requestsPart(log: RequestLog): SandboxPart {
  async function list(query: URLSearchParams, signal: AbortSignal): Promise<Response> {
    const after = parseNumber(query, "after", { least: 0, default: 0 });
    const limit = parseNumber(query, "limit", { least: 1, default: requestsDefault });
    const wait = parseNumber(query, "wait", { least: 0, most: waitSecondsMax, default: 0 });
    if (wait > 0) await log.waitFor(after, AbortSignal.any([signal, AbortSignal.timeout(wait * 1_000)]));
    const page = readPage(log, after, Math.min(limit, requestsMax));
    return respondControl({
      requests: page.map(describeRequest),
      next: page.at(-1)?.number ?? after,
      dropped: Math.max(0, (page[0]?.number ?? log.last + 1) - 1 - after),
    });
  }

  function bytes(number: string, kind: "request" | "response"): Response {
    const found = /^\d{1,15}$/.test(number) ? log.get(Number(number)) : undefined;
    if (found === undefined)
      throw new AdminError(
        404,
        `There is no request ${number} in the log, which has ${log.first} to ${log.last}.`,
      );
    const message = found[kind];
    if (message.length === 0) throw new AdminError(404, `Request ${number} has no ${kind}.`);
    const headers = { "Content-Type": "application/octet-stream" };
    return respond(new Uint8Array(message.bytes), 200, headers);
  }

  return {
    routes: {
      "GET /sandbox/requests": ({ query, signal }) => list(query, signal),
      "DELETE /sandbox/requests": () => {
        log.clear();
        return respondDone();
      },
      "GET /sandbox/requests/{number}/request": ({ parameter }) => bytes(parameter, "request"),
      "GET /sandbox/requests/{number}/response": ({ parameter }) => bytes(parameter, "response"),
    },
    reset: () => log.clear(),
    describe: () => ({ requests: { first: log.first, next: log.last } }),
  };
}

function readPage(log: RequestLog, after: number, limit: number): RecordedRequest[] {
  const page: RecordedRequest[] = [];
  let bytes = 0;
  for (const request of log.after(after)) {
    if (page.length === limit || bytes >= pageBytesMax) break;
    page.push(request);
    bytes += request.request.bytes.length + request.response.bytes.length;
  }
  return page;
}

function describeRequest(recorded: RecordedRequest): Readonly<Record<string, unknown>> {
  const { number, connection, startedAt, durationMs, request, response, forced, ended } = recorded;
  const described = describeResponseMessage(response);
  return {
    number,
    connection,
    startedAt: new Date(startedAt).toISOString(),
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    request: describeRequestMessage(request, ended),
    response: described,
    error: findErrorCode(described),
    forced: forced ?? null,
    ended,
  };
}

function describeRequestMessage(
  message: StoredMessage,
  ended: RecordedRequest["ended"],
): Readonly<Record<string, unknown>> {
  const headEnd = ended === "notHttp" ? undefined : findHeadEnd(message.bytes);
  const head = headEnd === undefined ? undefined : parseRequestHead(message.bytes.subarray(0, headEnd));
  const { method = null, target = null, version = null } = head ?? {};
  return { method, target, version, ...describeMessage(message, head, headEnd) };
}

/** The final response; interim ones before it are in the bytes only. Null if nothing was sent. */
function describeResponseMessage(message: StoredMessage): Readonly<Record<string, unknown>> | null {
  if (message.length === 0) return null;
  const interimEnd = findInterimEnd(message.bytes);
  const start = interimEnd === message.bytes.length ? 0 : interimEnd;
  const headEnd = findHeadEnd(message.bytes, start);
  const head = headEnd === undefined ? undefined : parseResponseHead(message.bytes.subarray(start, headEnd));
  return { status: head?.status ?? null, ...describeMessage(message, head, headEnd) };
}

/** The fields, and the body without the framing of chunks, as text if it is UTF-8. */
function describeMessage(
  { bytes, length }: StoredMessage,
  head: RequestHead | ResponseHead | undefined,
  headEnd: number | undefined,
): Readonly<Record<string, unknown>> {
  const body = head === undefined ? bytes : decodeBody(bytes.subarray(headEnd), head);
  const text = decodeUtf8(body, "kept");
  return {
    headers: head?.headers ?? [],
    body: text ?? null,
    ...(text === undefined ? { bodyBase64: body.toString("base64") } : {}),
    bytes: length,
    ...(bytes.length < length ? { isTruncated: true } : {}),
  };
}

function decodeBody(body: Buffer, { headers }: RequestHead | ResponseHead): Buffer {
  const isChunked = headers.some(
    ([name, value]) => name.toLowerCase() === "transfer-encoding" && value.toLowerCase() === "chunked",
  );
  return isChunked ? Buffer.concat(new ChunkReader().read(body)) : body;
}

/** The number of the error in a body of the contract, or null. */
function findErrorCode(response: Readonly<Record<string, unknown>> | null): number | null {
  const { status, body } = response ?? {};
  if (typeof status !== "number" || status < 400 || typeof body !== "string") return null;
  const code = /^\{"error":(\d{5}),/.exec(body)?.[1];
  return code === undefined ? null : Number(code);
}
