// Parses HTTP/1.x responses as they arrive, byte by byte exact: what a client library would hide or
// repair is a problem here. That is why it is not http-parser-js or node:http, which accept more
// than RFC 9112 does and drop the bytes.

export interface HttpResponse {
  readonly status: number;
  /** In the order received; names in lower case, values without white space at their ends. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body without the framing of its chunks. */
  readonly body: Uint8Array;
}

/** Why bytes are not a response. */
export interface ResponseProblem {
  readonly problem: string;
}

const headBytesMax = 65_536;
const headEnd = "\r\n\r\n";
const start = "HTTP/1.";

interface Head extends Pick<HttpResponse, "status" | "headers"> {
  readonly framing: { readonly bytes: number } | "chunked" | "close";
}

/** The value of a header field, or several joined by commas (RFC 9110, section 5.3). */
export function headerOf({ headers }: Pick<HttpResponse, "headers">, name: string): string | undefined {
  const values = headers.filter(([each]) => each === name.toLowerCase()).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(", ");
}

/** Parses the responses on one connection, one after another. */
export class ResponseParser {
  readonly #bodyBytesMax: number;
  #buffer = Buffer.alloc(4_096);
  #length = 0;
  /** The index of the first byte that is not yet parsed. */
  #at = 0;
  #head: Head | undefined;
  #chunks: Uint8Array[] = [];
  #chunkBytes = 0;

  /** @param bodyBytesMax a longer body is a problem: a response may have no end. */
  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax;
  }

  push(chunk: Uint8Array): void {
    if (this.#length + chunk.length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(2 * this.#buffer.length, this.#length + chunk.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length += chunk.length;
  }

  /** The number of bytes received after the last complete response. */
  get restBytes(): number {
    return this.#length - this.#at;
  }

  /** All bytes received, from the first. */
  get received(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Whether every byte received belongs to a complete response. */
  get isBetweenResponses(): boolean {
    return this.restBytes === 0 && this.#head === undefined;
  }

  /**
   * The next final response, what is wrong with it, or undefined while more bytes are needed.
   *
   * @param method of the request, on which the framing depends.
   * @param isEnded whether no more bytes follow.
   */
  next(method: string, isEnded: boolean): HttpResponse | ResponseProblem | undefined {
    for (;;) {
      const head = this.#head ?? this.#nextHead(method);
      if (head !== undefined && "problem" in head) return head;
      this.#head = head;
      const body = head && this.#nextBody(head, isEnded);
      if (head === undefined || body === undefined) return isEnded ? this.#truncated() : undefined;
      if ("problem" in body) return body;
      this.#head = undefined;
      if (head.status >= 200) return { status: head.status, headers: head.headers, body };
    }
  }

  #truncated(): ResponseProblem {
    if (this.#head !== undefined)
      return { problem: `the connection was closed in the body of the response ${this.#head.status}` };
    const where = this.isBetweenResponses ? "without a response" : "in the head of the response";
    return { problem: `the connection was closed ${where}` };
  }

  #nextHead(method: string): Head | ResponseProblem | undefined {
    const bytes = this.#buffer.subarray(this.#at, Math.min(this.#length, this.#at + headBytesMax));
    const text = bytes.toString("latin1");
    if (!start.startsWith(text.slice(0, start.length)))
      return { problem: `what was received does not start with ${start}: ${quoted(text)}` };
    const end = text.indexOf(headEnd);
    if (end === -1)
      return bytes.length < headBytesMax
        ? undefined
        : { problem: `the head of the response has more than ${headBytesMax} bytes` };
    const head = parseHead(text.slice(0, end), method);
    if (!("problem" in head)) this.#at += end + headEnd.length;
    return head;
  }

  #nextBody({ framing, status }: Head, isEnded: boolean): Uint8Array | ResponseProblem | undefined {
    if (framing === "chunked") return this.#nextChunks(status);
    const bytes = framing === "close" ? this.restBytes : framing.bytes;
    if (bytes > this.#bodyBytesMax) return this.#tooLong(status);
    return this.restBytes < bytes || (framing === "close" && !isEnded) ? undefined : this.#take(bytes);
  }

  #tooLong(status: number): ResponseProblem {
    return { problem: `the body of the response ${status} has more than ${this.#bodyBytesMax} bytes` };
  }

  #take(bytes: number): Uint8Array {
    this.#at += bytes;
    return this.#buffer.slice(this.#at - bytes, this.#at);
  }

  /** RFC 9112, section 7.1. Every chunk is parsed once, however the bytes arrive. */
  #nextChunks(status: number): Uint8Array | ResponseProblem | undefined {
    for (;;) {
      const text = this.#buffer.toString("latin1", this.#at, Math.min(this.#length, this.#at + headBytesMax));
      const lineEnd = text.indexOf("\r\n");
      const line = text.slice(0, lineEnd === -1 ? undefined : lineEnd);
      // Reported at once: a server that does not send chunks may never send a line end.
      const [, digits = ""] = /^([\dA-Fa-f]{0,8})(?:[ \t]*;.*)?\r?$/.exec(line) ?? [];
      const isBroken = lineEnd === -1 ? digits === "" && line.trim() !== "" : digits === "";
      if (isBroken || line.length === headBytesMax)
        return { problem: `${quoted(line)} is not the size of a chunk` };
      if (lineEnd === -1) return undefined;
      const bytes = Number.parseInt(digits, 16);
      const from = lineEnd + 2;
      if (this.#chunkBytes + bytes > this.#bodyBytesMax) return this.#tooLong(status);
      if (bytes === 0) {
        // Trailers end with an empty line, of which the line end is the first half if there are none.
        const trailersEnd = text.indexOf(headEnd, lineEnd);
        if (trailersEnd === -1) return undefined;
        this.#at += trailersEnd + headEnd.length;
        const body = Buffer.concat(this.#chunks);
        this.#chunks = [];
        this.#chunkBytes = 0;
        return body;
      }
      if (this.restBytes < from + bytes + 2) return undefined;
      this.#at += from;
      this.#chunks.push(this.#take(bytes));
      this.#chunkBytes += bytes;
      if (Buffer.from(this.#take(2)).toString("latin1") !== "\r\n")
        return { problem: `a chunk of ${bytes} bytes does not end with CRLF` };
    }
  }
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 80));

/**
 * A field line (RFC 9112, section 5), without white space before the colon, and not folded. The
 * lookbehind makes the time linear; without it 60,000 blanks take 1.7 s.
 */
const fieldLine = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)(?:(?<![ \t])[ \t]+)?$/;

function parseHead(text: string, method: string): Head | ResponseProblem {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const [, digits] = /^HTTP\/1\.[01] (\d{3})(?: .*)?$/.exec(statusLine) ?? [];
  if (digits === undefined) return { problem: `${quoted(statusLine)} is not a status line` };
  const headers: [string, string][] = [];
  for (const line of lines) {
    const [, name, value = ""] = fieldLine.exec(line) ?? [];
    if (name === undefined) return { problem: `${quoted(line)} is not a header field` };
    headers.push([name.toLowerCase(), value]);
  }
  const status = Number(digits);
  const framing = framingOf(status, method, headers);
  return typeof framing === "object" && "problem" in framing ? framing : { status, headers, framing };
}

/** RFC 9112, section 6.3. */
function framingOf(
  status: number,
  method: string,
  headers: HttpResponse["headers"],
): Head["framing"] | ResponseProblem {
  const coding = headerOf({ headers }, "transfer-encoding");
  const length = headerOf({ headers }, "content-length");
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    return { problem: `the Content-Length of the response is ${quoted(length)}` };
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return { bytes: 0 };
  if (coding === undefined) return length === undefined ? "close" : { bytes: Number(length) };
  if (length !== undefined) return { problem: "the response has both Transfer-Encoding and Content-Length" };
  return coding.toLowerCase() === "chunked"
    ? "chunked"
    : { problem: `the Transfer-Encoding of the response is ${quoted(coding)}` };
}
