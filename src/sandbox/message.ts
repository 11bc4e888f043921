// HTTP/1.1 messages that the server has understood: where one ends, and its parts for those who
// read the log of requests.

import { parseFieldLine } from "../conformance/response-parser.ts";

/** How the end of a body is found: by its length, or by its chunks (RFC 9112, section 6). */
export type Framing = number | "chunked";

export function framingOf(headers: Headers): Framing {
  if (headers.has("transfer-encoding")) return "chunked";
  // Equal lengths are joined by a comma.
  return Number.parseInt(headers.get("content-length") ?? "0", 10) || 0;
}

/** The index behind the empty line of a head; undefined if the head is not complete. */
export function findHeadEnd(bytes: Buffer, start = 0): number | undefined {
  // Empty lines before a request are not its head (RFC 9112, section 2.2).
  let from = start;
  while (bytes[from] === 0x0d && bytes[from + 1] === 0x0a) from += 2;
  const emptyLine = bytes.indexOf("\r\n\r\n", from);
  return emptyLine === -1 ? undefined : emptyLine + 4;
}

/** Reads a chunked body (RFC 9112, section 7.1) as its bytes arrive. */
export class ChunkReader {
  isComplete = false;
  /** The bytes of the body so far, with its framing. */
  length = 0;
  /** The beginning of a line that has not ended. */
  #line = "";
  /** The bytes of a chunk that are to come, with the line end after them. */
  #left = 0;
  #isInTrailers = false;

  /** Reads the next bytes, and returns the content in them. */
  read(bytes: Buffer): Buffer[] {
    const content: Buffer[] = [];
    let at = 0;
    while (at < bytes.length && !this.isComplete) {
      if (this.#left > 0) {
        const end = Math.min(bytes.length, at + this.#left);
        content.push(bytes.subarray(at, Math.min(end, Math.max(at, at + this.#left - 2))));
        this.#left -= end - at;
        at = end;
      } else {
        const lineFeed = bytes.indexOf("\n", at);
        const end = lineFeed === -1 ? bytes.length : lineFeed + 1;
        // The size, or whether the line is empty, is at its beginning.
        this.#line = (this.#line + bytes.toString("latin1", at, end)).slice(0, 16);
        at = end;
        if (lineFeed !== -1) this.#endLine(this.#line);
      }
    }
    this.length += at;
    return content;
  }

  #endLine(line: string): void {
    this.#line = "";
    if (this.#isInTrailers) this.isComplete = /^\r?\n$/.test(line);
    else {
      const size = Number.parseInt(line, 16);
      this.#isInTrailers = size === 0;
      // The server rejects what is not a size.
      this.#left = size > 0 ? size + 2 : 0;
    }
  }
}

/**
 * The end of the server's response to a request with this method, interim ones included; undefined
 * while its head is not complete. The server sends every response with its length.
 */
export function findResponseEnd(bytes: Buffer, method: string): number | undefined {
  const start = findInterimEnd(bytes);
  const headEnd = findHeadEnd(bytes, start);
  if (headEnd === undefined) return undefined;
  if (method === "HEAD") return headEnd;
  const length = contentLength.exec(bytes.toString("latin1", start, headEnd))?.[0];
  return headEnd + Number(length ?? 0);
}

export const contentLength = /(?<=\r\nContent-Length: )\d+/i;

/** The index behind interim responses, such as 100 (RFC 9110, section 15.2). */
export function findInterimEnd(bytes: Buffer): number {
  for (let start = 0; ; ) {
    const isInterim = /^HTTP\/1\.1 1(?!01)/.test(bytes.toString("latin1", start, start + 12));
    const end = isInterim ? findHeadEnd(bytes, start) : undefined;
    if (end === undefined) return start;
    start = end;
  }
}

/** Names as they were sent, and values, in their order. */
type Fields = readonly (readonly [name: string, value: string])[];

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly headers: Fields;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: Fields;
}

/** RFC 9112, section 3, with any byte in the target but whitespace. */
const requestLine = /^([!#$%&'*+.^_`|~\w-]+) ([^\s]+) (HTTP\/1\.[01])$/;

/** RFC 9112, section 4. */
const statusLine = /^HTTP\/1\.[01] (\d{3})(?: .*)?$/;

/** Parses the head of a request, with its empty line; undefined if it is not one. */
export function parseRequestHead(head: Buffer): RequestHead | undefined {
  const parsed = parseHead(head, requestLine);
  const [, method = "", target = "", version = ""] = parsed?.first ?? [];
  return parsed && { method, target, version, headers: parsed.headers };
}

/** Parses the head of a response, with its empty line; undefined if it is not one. */
export function parseResponseHead(head: Buffer): ResponseHead | undefined {
  const parsed = parseHead(head, statusLine);
  return parsed && { status: Number(parsed.first[1]), headers: parsed.headers };
}

function parseHead(head: Buffer, firstLine: RegExp): { first: RegExpExecArray; headers: Fields } | undefined {
  const lines = head.toString("latin1").split("\r\n");
  // Empty lines may precede a message, and one is its end.
  const [line = "", ...others] = lines.slice(
    lines.findIndex((each) => each !== ""),
    -2,
  );
  const first = firstLine.exec(line);
  const headers = others.map(parseFieldLine);
  return first !== null && headers.every((field) => field !== undefined) ? { first, headers } : undefined;
}
