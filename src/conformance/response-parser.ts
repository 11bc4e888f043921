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
/** Interim responses (RFC 9110, section 15.2) before one response: a server may send them forever. */
const interimMax = 100;
const headEnd = "\r\n\r\n";
const start = "HTTP/1.";

interface Head {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
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
  /** The number of interim responses (1xx) before the next one. */
  #interim = 0;

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

  /** The bytes received after the last complete response. */
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
      if (this.#head === undefined) {
        const head = this.#nextHead(method);
        if (head === undefined) return isEnded ? this.#truncated() : undefined;
        if ("problem" in head) return head;
        this.#head = head;
      }
      const head = this.#head;
      const body = this.#nextBody(head, isEnded);
      if (body === undefined) return isEnded ? this.#truncated() : undefined;
      if ("problem" in body) return body;
      this.#head = undefined;
      if (head.status < 200) {
        if (++this.#interim > interimMax)
          return { problem: `more than ${interimMax} interim responses precede the response` };
        continue;
      }
      this.#interim = 0;
      return { status: head.status, headers: head.headers, body };
    }
  }

  #truncated(): ResponseProblem {
    if (this.#head !== undefined)
      return { problem: `the connection was closed in the body of the response ${this.#head.status}` };
    if (this.restBytes > 0) return { problem: "the connection was closed in the head of the response" };
    return { problem: "the connection was closed without a response" };
  }

  #nextHead(method: string): Head | ResponseProblem | undefined {
    const bytes = this.#buffer.subarray(this.#at, this.#length);
    const beginning = bytes.subarray(0, start.length).toString("latin1");
    if (!start.startsWith(beginning))
      return {
        problem: `what was received does not start with ${start}: ${JSON.stringify(bytes.subarray(0, 40).toString("latin1"))}`,
      };
    const end = bytes.subarray(0, headBytesMax + headEnd.length).indexOf(headEnd);
    if (end === -1) {
      return bytes.length > headBytesMax
        ? { problem: `the head of the response has more than ${headBytesMax} bytes` }
        : undefined;
    }
    const head = parseHead(bytes.subarray(0, end).toString("latin1"), method);
    if (!("problem" in head)) this.#at += end + headEnd.length;
    return head;
  }

  #nextBody({ framing, status }: Head, isEnded: boolean): Uint8Array | ResponseProblem | undefined {
    const tooLong = {
      problem: `the body of the response ${status} has more than ${this.#bodyBytesMax} bytes`,
    };
    if (framing === "chunked") return this.#nextChunks(tooLong);
    const bytes = framing === "close" ? this.restBytes : framing.bytes;
    if (bytes > this.#bodyBytesMax) return tooLong;
    if (framing === "close" ? !isEnded : this.restBytes < bytes) return undefined;
    const body = this.#buffer.slice(this.#at, this.#at + bytes);
    this.#at += bytes;
    return body;
  }

  /** RFC 9112, section 7.1. Every chunk is parsed once, however the bytes arrive. */
  #nextChunks(tooLong: ResponseProblem): Uint8Array | ResponseProblem | undefined {
    for (;;) {
      const lineEnd = this.#buffer.subarray(0, this.#length).indexOf("\r\n", this.#at);
      const line = this.#buffer.toString("latin1", this.#at, lineEnd === -1 ? this.#length : lineEnd);
      const [, digits] = /^([\dA-Fa-f]{1,8})(?:[ \t]*;.*)?$/.exec(line) ?? [];
      if (lineEnd === -1) {
        // Reported at once: a server that does not send chunks may never send a line end.
        const isBroken = !/^[\dA-Fa-f]{0,8}(?:[ \t]*;.*)?\r?$/.test(line) || line.length > headBytesMax;
        return isBroken ? badChunk(line) : undefined;
      }
      if (digits === undefined) return badChunk(line);
      const bytes = Number.parseInt(digits, 16);
      const from = lineEnd + 2;
      if (this.#chunkBytes + bytes > this.#bodyBytesMax) return tooLong;
      if (bytes === 0) {
        const trailersEnd = this.#trailersEnd(from);
        if (trailersEnd === -1) return undefined;
        this.#at = trailersEnd;
        const body = Buffer.concat(this.#chunks);
        this.#chunks = [];
        this.#chunkBytes = 0;
        return body;
      }
      if (this.#length < from + bytes + 2) return undefined;
      if (this.#buffer.toString("latin1", from + bytes, from + bytes + 2) !== "\r\n")
        return { problem: `a chunk of ${bytes} bytes does not end with CRLF` };
      this.#chunks.push(this.#buffer.slice(from, from + bytes));
      this.#chunkBytes += bytes;
      this.#at = from + bytes + 2;
    }
  }

  /** The index after the trailers, which may be none; -1 if they have not arrived. */
  #trailersEnd(from: number): number {
    const text = this.#buffer.toString("latin1", from, Math.min(this.#length, from + headBytesMax));
    if (text.startsWith("\r\n")) return from + 2;
    const end = text.indexOf(headEnd);
    return end === -1 ? -1 : from + end + headEnd.length;
  }
}

/** RFC 9112, section 5. Neither whitespace before the colon nor a folded line. */
const fieldName = /^[!#$%&'*+.^_`|~\w-]+$/;

/** The lookbehind makes the time linear; without it 60,000 blanks take 1.7 s. */
const trailingBlanks = /(?<![ \t])[ \t]+$/;

/** The name as it was sent and the trimmed value; undefined if the line is not a field. */
export function parseFieldLine(line: string): [name: string, value: string] | undefined {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon));
  if (!fieldName.test(name)) return undefined;
  // Only spaces and tabs: trim() also removes other whitespace.
  const value = line
    .slice(colon + 1)
    .replace(/^[ \t]+/, "")
    .replace(trailingBlanks, "");
  return [name, value];
}

function badChunk(line: string): ResponseProblem {
  return { problem: `${JSON.stringify(line.slice(0, 40))} is not the size of a chunk` };
}

function parseHead(text: string, method: string): Head | ResponseProblem {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const [, digits] = /^HTTP\/1\.[01] (\d{3})(?: .*)?$/.exec(statusLine) ?? [];
  if (digits === undefined)
    return { problem: `${JSON.stringify(statusLine.slice(0, 80))} is not a status line` };
  const headers: [string, string][] = [];
  for (const line of lines) {
    const field = parseFieldLine(line);
    if (field === undefined) return { problem: `${JSON.stringify(line.slice(0, 80))} is not a header field` };
    headers.push([field[0].toLowerCase(), field[1]]);
  }
  const status = Number(digits);
  const framing = framingOf(status, method, headers);
  return typeof framing === "object" && "problem" in framing ? framing : { status, headers, framing };
}

/** RFC 9112, section 6.3. */
function framingOf(
  status: number,
  method: string,
  headers: readonly (readonly [string, string])[],
): Head["framing"] | ResponseProblem {
  const coding = headerOf({ headers }, "transfer-encoding");
  const length = headerOf({ headers }, "content-length");
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    return { problem: `the Content-Length of the response is ${JSON.stringify(length)}` };
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return { bytes: 0 };
  if (coding !== undefined && length !== undefined)
    return { problem: "the response has both Transfer-Encoding and Content-Length" };
  if (coding !== undefined)
    return coding.toLowerCase() === "chunked"
      ? "chunked"
      : { problem: `the Transfer-Encoding of the response is ${JSON.stringify(coding)}` };
  return length === undefined ? "close" : { bytes: Number(length) };
}
