// Responses of the console: JSON, lists, reports and downloads, which take bounded memory where a
// client does not read them.

import { AdminError, respond } from "../admin-responses.ts";
import { ResponseStreams } from "./response-streams.ts";

type Headers = Readonly<Record<string, string>>;

/** Files that are downloaded, which may take hours. */
const downloads = new ResponseStreams(64 * 2 ** 20);

/** Bounds the memory of lists and reports that clients do not read. */
const lists = new ResponseStreams(64 * 2 ** 20);

const pieceBytes = 64 * 2 ** 10;

/** JSON with bigints as strings: a number in JavaScript is not exact past 2^53. */
export function respondJson(value: unknown, headers: Headers = {}): Response {
  const text = JSON.stringify(value, (_, field) => (typeof field === "bigint" ? String(field) : field));
  return respondLong(text, { "Content-Type": "application/json", ...headers });
}

/** Responds with a text of any length. */
function respondLong(text: string, headers: Headers): Response {
  if (text.length < pieceBytes) return respond(text, 200, headers);
  const bytes = new TextEncoder().encode(text);
  return respond(lists.stream(split(bytes), bytes.byteLength), 200, headers);
}

/** @param pieceBytesMax memory that one piece may take. */
export function respondDownload(
  pieces: AsyncGenerator<Uint8Array>,
  pieceBytesMax: number,
  headers: Headers,
): Response {
  return respond(downloads.stream(pieces, pieceBytesMax), 200, headers);
}

async function* split(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += pieceBytes)
    yield bytes.subarray(start, start + pieceBytes);
}

/** A request that is not valid. The message is a sentence. */
export class BadRequestError extends AdminError {
  constructor(message: string) {
    super(400, message);
  }
}
