// Parses HTTP/1.x responses, byte by byte exact: what a client library would hide or
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

/** How the bytes of a connection are read. */
interface Expected {
  /** The method of the request, on which the framing depends. */
  readonly method: string;
  /** Whether no more bytes follow. */
  readonly isEnded: boolean;
  /** A longer body is a problem: a response may have no end. */
  readonly bodyBytesMax: number;
}

/** A part of a response, and the index after its last byte. */
interface Parsed<Part> {
  readonly part: Part;
  readonly end: number;
}

type Parsing<Part> = Parsed<Part> | ResponseProblem | undefined;

/** The first final response, what is wrong with it, or undefined while more bytes are needed. */
export function parseResponse(bytes: Buffer, expected: Expected): Parsing<HttpResponse> {
  const head = parseHead(bytes, expected.method);
  if (head === undefined && expected.isEnded)
    return {
      problem: `the connection was closed ${bytes.length === 0 ? "without a response" : "in the head of the response"}`,
    };
  if (head === undefined || "problem" in head) return head;
  const { status, headers, framing } = head.part;
  const rest = bytes.subarray(head.end);
  if (status < 200) return after(head.end, parseResponse(rest, expected));
  const body = framing === "chunked" ? parseChunks(rest, expected) : takeBody(rest, framing, expected);
  if (body === undefined && expected.isEnded)
    return { problem: `the connection was closed in the body of the response ${status}` };
  if (body === undefined) return undefined;
  if ("problem" in body) return { problem: `the body of the response ${status} ${body.problem}` };
  return { part: { status, headers, body: body.part }, end: head.end + body.end };
}

function after<Part>(end: number, parsed: Parsing<Part>): Parsing<Part> {
  return parsed === undefined || "problem" in parsed ? parsed : { ...parsed, end: end + parsed.end };
}

function takeBody(
  bytes: Buffer,
  framing: Exclude<Head["framing"], "chunked">,
  { isEnded, bodyBytesMax }: Expected,
): Parsing<Uint8Array> {
  const end = framing === "close" ? bytes.length : framing.bytes;
  if (end > bodyBytesMax) return tooLong(bodyBytesMax);
  const isWhole = framing === "close" ? isEnded : end <= bytes.length;
  return isWhole ? { part: bytes.subarray(0, end), end } : undefined;
}

function tooLong(bodyBytesMax: number): ResponseProblem {
  return { problem: `has more than ${bodyBytesMax} bytes` };
}

/** RFC 9112, section 7.1. */
function parseChunks(bytes: Buffer, { bodyBytesMax }: Expected): Parsing<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const line = bytes.toString("latin1", at, lineEnd === -1 ? at + headBytesMax : lineEnd);
    // Reported at once: a server that does not send chunks may never send a line end.
    const [, digits = ""] = /^([\dA-Fa-f]{0,8})(?:[ \t]*;.*)?\r?$/.exec(line) ?? [];
    const isBroken = lineEnd === -1 ? digits === "" && line.trim() !== "" : digits === "";
    if (isBroken || line.length >= headBytesMax)
      return { problem: `has ${quoted(line)} in place of the size of a chunk` };
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(digits, 16);
    if (size === 0) {
      // Trailers end with an empty line, of which the line end is the first half if there are none.
      const trailersEnd = bytes.indexOf(headEnd, lineEnd);
      return trailersEnd === -1
        ? undefined
        : { part: Buffer.concat(chunks), end: trailersEnd + headEnd.length };
    }
    length += size;
    if (length > bodyBytesMax) return tooLong(bodyBytesMax);
    const from = lineEnd + 2;
    at = from + size + 2;
    if (bytes.length < at) return undefined;
    chunks.push(bytes.subarray(from, from + size));
    if (bytes.toString("latin1", at - 2, at) !== "\r\n")
      return { problem: `has a chunk of ${size} bytes that does not end with CRLF` };
  }
}

const quoted = (text: string) => JSON.stringify(text.slice(0, 80));

/**
 * A field line (RFC 9112, section 5), without white space before the colon, and not folded. The
 * lookbehind makes the time linear; without it 60,000 blanks take 1.7 s.
 */
const fieldLine = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)(?:(?<![ \t])[ \t]+)?$/;

function parseHead(bytes: Buffer, method: string): Parsing<Head> {
  const text = bytes.toString("latin1", 0, headBytesMax);
  if (!start.startsWith(text.slice(0, start.length)))
    return { problem: `what was received does not start with ${start}: ${quoted(text)}` };
  const end = text.indexOf(headEnd);
  if (end === -1)
    return text.length < headBytesMax
      ? undefined
      : { problem: `the head of the response has more than ${headBytesMax} bytes` };
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
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
  if (typeof framing === "object" && "problem" in framing) return framing;
  return { part: { status, headers, framing }, end: end + headEnd.length };
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
