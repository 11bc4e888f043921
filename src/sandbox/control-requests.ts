// Lists the log of requests for control: with a cursor, and a wait for the next request.

import type { RecordedRequest } from "../../packages/sandbox/src/control-types.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import { type LoggedBody, type LoggedRequest, type RequestLog, storedBytes } from "./request-log.ts";

/** Bytes of requests and responses, from which on a response has no more of them. */
const pageBytesMax = 8 * 2 ** 20;

/** @param collectionAt returns the name of the collection at a target, such as "/plants/7?a=b". */
export function requestsPart(
  log: RequestLog,
  collectionAt: (method: string, target: string) => string | undefined,
): SandboxPart {
  async function list(after: number, limit: number, wait: number, signal: AbortSignal): Promise<Response> {
    if (wait > 0) await log.waitFor(after, AbortSignal.any([signal, AbortSignal.timeout(wait * 1_000)]));
    const page = readPage(log, after, limit);
    return respondControl({
      requests: page.map(describe),
      next: page.at(-1)?.number ?? after,
      dropped: Math.max(0, (page[0]?.number ?? log.last + 1) - 1 - after),
    });
  }

  const describe = (logged: LoggedRequest) => {
    const { method, target } = logged.request;
    return describeRequest(logged, collectionAt(method ?? "", target ?? "") ?? null);
  };

  return {
    routes: {
      "GET /sandbox/requests": ({ query: { after, limit, wait }, signal }) =>
        list(Number(after), Number(limit), Number(wait), signal),
      "DELETE /sandbox/requests": () => {
        log.clear();
        return respondDone();
      },
    },
    reset: () => log.clear(),
    describe: () => ({ requests: { first: log.first, next: log.last } }),
  };
}

function readPage(log: RequestLog, after: number, limit: number): LoggedRequest[] {
  const page: LoggedRequest[] = [];
  let bytes = 0;
  for (const request of log.after(after)) {
    if (page.length === limit || bytes >= pageBytesMax) break;
    page.push(request);
    bytes += storedBytes(request);
  }
  return page;
}

function describeRequest(logged: LoggedRequest, collection: string | null): RecordedRequest {
  const { startedAt, durationMs, request, response, forced } = logged;
  const described = response && describeMessage(response);
  return {
    ...logged,
    startedAt: new Date(startedAt).toISOString(),
    durationMs: Math.round(durationMs * 1_000) / 1_000,
    collection,
    request: describeMessage(request),
    response: described,
    error: findErrorCode(described),
    forced: forced ?? null,
  };
}

/** A message with its body as text, or in Base64 if it is not UTF-8. */
function describeMessage<Message extends { readonly body: LoggedBody }>(message: Message) {
  const { bytes, length } = message.body;
  const text = decodeUtf8(bytes, "kept");
  return {
    ...message,
    body: text ?? null,
    ...(text === undefined ? { bodyBase64: bytes.toString("base64") } : {}),
    bytes: length,
    ...(bytes.length < length ? { isTruncated: true as const } : {}),
  };
}

/** The code of the error in a body, or null. */
function findErrorCode(response: RecordedRequest["response"]): number | null {
  if ((response?.status ?? 0) < 400) return null;
  const code = /^\{"error":(\d{5}),/.exec(response?.body ?? "")?.[1];
  return code === undefined ? null : Number(code);
}
