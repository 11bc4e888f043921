// Responses of the console: JSON, lists, reports and downloads, which take bounded memory where a
// client does not read them.

import { AdminError } from "../core/admin/request-bodies.ts";
import { respond } from "../core/admin/responses.ts";
import { ResponseStreams } from "./response-streams.ts";

type Headers = Readonly<Record<string, string>>;

/** Files that are downloaded, which may take hours. */
const downloads = new ResponseStreams(64 * 2 ** 20);

/** Bounds the memory of lists and reports that clients do not read. */
const lists = new ResponseStreams(64 * 2 ** 20);

const pieceBytes = 64 * 2 ** 10;

/** JSON with bigints as strings: a number in JavaScript is not exact past 2^53. */
export function respondJson(value: unknown, status = 200, headers: Headers = {}): Response {
  const text = JSON.stringify(value, (_, field) => (typeof field === "bigint" ? String(field) : field));
  return respondLong(text, status, { "Content-Type": "application/json", ...headers });
}

/** Responds with a text of any length. */
export function respondLong(text: string, status: number, headers: Headers): Response {
  if (text.length < pieceBytes) return respond(text, status, headers);
  const bytes = new TextEncoder().encode(text);
  const body = lists.stream(split(bytes), bytes.byteLength);
  if (body === undefined) throw tooManyStreams();
  return respond(body, status, headers);
}

/** @param pieceBytesMax memory that one piece may take. */
export function respondDownload(
  pieces: AsyncGenerator<Uint8Array>,
  pieceBytesMax: number,
  headers: Headers,
): Response {
  const body = downloads.stream(pieces, pieceBytesMax);
  if (body === undefined) throw tooManyStreams();
  return respond(body, 200, headers);
}

async function* split(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += pieceBytes)
    yield bytes.subarray(start, start + pieceBytes);
}

function tooManyStreams(): AdminError {
  const message = "Too many large responses are being sent; try again in a second.";
  return new AdminError(503, message, { "Retry-After": "1" });
}

/** A request that is not valid. The message is a sentence. */
export class BadRequestError extends AdminError {
  constructor(message: string) {
    super(400, message);
  }
}
