// The framing of HTTP/1.1 and HTTP/1.0 messages (RFC 9112, section 6): where a message starts and ends in a stream of bytes,
// in chunks as they arrive. It reads both directions of a connection without changing a byte.

import { parseFieldLine } from "../core/http/http-field.ts";

export interface Fields {
  /** In their order, with the names as they were sent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface RequestHead extends Fields {
  readonly method: string;
  readonly target: string;
  /** Such as HTTP/1.1. */
  readonly version: string;
}

export interface ResponseHead extends Fields {
  readonly status: number;
}

/** RFC 9112, section 3, with any byte in the target but whitespace. */
const requestLine = /^([!#$%&'*+.^_`|~\w-]+) ([^\s]+) (HTTP\/1\.[01])$/;

/** RFC 9112, section 4. */
const statusLine = /^HTTP\/1\.[01] (\d{3})(?: .*)?$/;

/** The head of a request: its text to the empty line, a character a byte; undefined if it is not one. */
export function parseRequestHead(text: string): RequestHead | undefined {
  const [first = "", ...lines] = headLines(text);
  const [, method, target, version] = requestLine.exec(first) ?? [];
  const headers = parseFields(lines);
  if (method === undefined || target === undefined || version === undefined || headers === undefined)
    return undefined;
  return { method, target, version, headers };
}

/** The head of a response, as parseRequestHead. */
export function parseResponseHead(text: string): ResponseHead | undefined {
  const [first = "", ...lines] = headLines(text);
  const [, status] = statusLine.exec(first) ?? [];
  const headers = parseFields(lines);
  return status === undefined || headers === undefined ? undefined : { status: Number(status), headers };
}

/** Without the empty line at the end, and without those that may precede a message (RFC 9112, section 2.2). */
function headLines(text: string): string[] {
  return text
    .replace(/^(?:\r\n)+/, "")
    .replace(/\r\n\r\n$/, "")
    .split("\r\n");
}

function parseFields(lines: readonly string[]): [name: string, value: string][] | undefined {
  const fields: [name: string, value: string][] = [];
  for (const line of lines) {
    const field = parseFieldLine(line);
    if (field === undefined) return undefined;
    fields.push(field);
  }
  return fields;
}

/** The values of a field, in their order. */
export function fieldValues({ headers }: Fields, name: string): string[] {
  return headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
}

/** How the end of a body is found; `untilClose`: at the end of the connection. */
type Framing = number | "chunked" | "untilClose";

/** RFC 9112, section 6.3. A request whose length is in doubt is the last one of its connection. */
function requestFraming(head: RequestHead): Framing {
  return declaredFraming(head) ?? 0;
}

function responseFraming(head: ResponseHead, method: string): Framing {
  if (method === "HEAD" || head.status < 200 || head.status === 204 || head.status === 304) return 0;
  return declaredFraming(head) ?? "untilClose";
}

function declaredFraming(head: Fields): Framing | undefined {
  const codings = fieldValues(head, "transfer-encoding");
  const lengths = fieldValues(head, "content-length");
  if (codings.length > 0)
    return lengths.length === 0 && codings.join().toLowerCase() === "chunked" ? "chunked" : "untilClose";
  const [length] = lengths;
  if (length === undefined) return undefined;
  return /^\d{1,15}$/.test(length) && lengths.every((each) => each === length)
    ? Number(length)
    : "untilClose";
}

const [carriageReturn, lineFeed] = [0x0d, 0x0a];

/** Longer heads are not parsed: Bun rejects those over 16 KiB. */
const headBytesMax = 64 * 2 ** 10;

/** Longer lines of chunk sizes and trailers are not parsed. */
const chunkLineCharsMax = 16 * 2 ** 10;

/**
 * Where a reader is: `opaque` is in bytes that belong to no further message, to the end of the connection: a tunnel, or
 * bytes that are not HTTP.
 */
type Position = "head" | "body" | "complete" | "opaque";

/** Reads one message. */
abstract class MessageReader<Head extends Fields> {
  /** Undefined before the head is complete, and for bytes that are not HTTP. */
  head: Head | undefined;
  position: Position = "head";
  /** How many bytes of the empty line after the fields, CR LF CR LF, have been read. */
  #emptyLineBytes = 0;
  #headText = "";
  #body: BodyFraming | undefined;

  protected abstract parseHead(text: string): Head | undefined;
  protected abstract framing(head: Head): Framing | "tunnel";

  /** Whether the next byte may complete the head: the last one was the second CR. */
  get isBeforeLastByteOfHead(): boolean {
    return this.position === "head" && this.#emptyLineBytes === 3;
  }

  /** Whether no byte has been read. */
  get isUnread(): boolean {
    return this.position === "head" && this.#headText === "";
  }

  /** Whether the message ends where the connection does. */
  get endsWithConnection(): boolean {
    return this.position === "opaque" || this.#body?.framing === "untilClose";
  }

  /** Reads from an index, to the end of the head, to the end of the message, or to the end of the chunk; returns the index behind. */
  read(chunk: Buffer, start: number): number {
    switch (this.position) {
      case "head":
        return this.#readHead(chunk, start);
      case "body":
        return this.#readBody(chunk, start);
      case "complete":
        return start;
      case "opaque":
        return chunk.length;
    }
  }

  #readHead(chunk: Buffer, start: number): number {
    let at = start;
    let matched = this.#emptyLineBytes;
    while (at < chunk.length && matched < 4) {
      const byte = chunk[at++];
      if (byte === (matched % 2 === 0 ? carriageReturn : lineFeed)) matched++;
      else matched = byte === carriageReturn ? 1 : 0;
    }
    this.#emptyLineBytes = matched;
    this.#headText += chunk.toString("latin1", start, at);
    if (this.#headText.length > headBytesMax) this.#giveUp();
    else if (matched === 4) this.#endHead();
    return at;
  }

  #endHead(): void {
    // Empty lines before a message are not its head.
    if (/^(?:\r\n)+$/.test(this.#headText)) {
      this.#emptyLineBytes = 2;
      return;
    }
    const head = this.parseHead(this.#headText);
    this.#headText = "";
    if (head === undefined) {
      this.#giveUp();
      return;
    }
    this.head = head;
    const framing = this.framing(head);
    if (framing === "tunnel") this.position = "opaque";
    else if (framing === 0) this.position = "complete";
    else {
      this.position = "body";
      this.#body = new BodyFraming(framing);
    }
  }

  #readBody(chunk: Buffer, start: number): number {
    const end = this.#body?.read(chunk, start);
    if (end === undefined) {
      this.#giveUp();
      return chunk.length;
    }
    if (this.#body?.isComplete) this.position = "complete";
    return end;
  }

  #giveUp(): void {
    this.position = "opaque";
    this.#headText = "";
  }
}

export class RequestReader extends MessageReader<RequestHead> {
  protected override parseHead = parseRequestHead;
  protected override framing = requestFraming;
}

/** Reads one response, without the interim ones before it. */
export class ResponseReader extends MessageReader<ResponseHead> {
  readonly #method: string;

  /** @param method of the request. */
  constructor(method: string) {
    super();
    this.#method = method;
  }

  /** RFC 9110, section 15.2: another response to the same request follows. */
  get isInterim(): boolean {
    return this.head !== undefined && this.head.status < 200 && this.head.status !== 101;
  }

  protected override parseHead = parseResponseHead;

  protected override framing(head: ResponseHead): Framing | "tunnel" {
    return head.status === 101 ? "tunnel" : responseFraming(head, this.#method);
  }
}

/** What the next byte of a chunked body belongs to (RFC 9112, section 7.1). */
type ChunkPart = "size" | "data" | "dataEnd" | "trailer";

class BodyFraming {
  isComplete = false;
  readonly framing: Framing;
  /** Of the body with a length, or of the chunk. */
  #bytesLeft: number;
  #part: ChunkPart = "size";
  #line = "";

  constructor(framing: Framing) {
    this.framing = framing;
    this.#bytesLeft = typeof framing === "number" ? framing : 0;
  }

  /** As MessageReader.read; undefined if the bytes are not a body. */
  read(chunk: Buffer, start: number): number | undefined {
    if (this.framing === "untilClose") return chunk.length;
    if (this.framing === "chunked") return this.#readChunked(chunk, start);
    const end = this.#skip(chunk, start);
    this.isComplete = this.#bytesLeft === 0;
    return end;
  }

  #skip(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + this.#bytesLeft);
    this.#bytesLeft -= end - start;
    return end;
  }

  #readChunked(chunk: Buffer, start: number): number | undefined {
    let at = start;
    while (at < chunk.length && !this.isComplete) {
      if (this.#part === "data") {
        at = this.#skip(chunk, at);
        if (this.#bytesLeft === 0) this.#part = "dataEnd";
        continue;
      }
      const end = chunk.indexOf(lineFeed, at);
      const lineEnd = end === -1 ? chunk.length : end + 1;
      this.#line += chunk.toString("latin1", at, lineEnd);
      at = lineEnd;
      if (this.#line.length > chunkLineCharsMax) return undefined;
      if (end === -1) return at;
      const line = this.#line;
      this.#line = "";
      if (!line.endsWith("\r\n") || !this.#endLine(line.slice(0, -2))) return undefined;
    }
    return at;
  }

  /** @returns false if the line does not belong there. */
  #endLine(line: string): boolean {
    switch (this.#part) {
      case "size": {
        const size = /^([\da-f]{1,12})(?:[ \t]*;.*)?$/i.exec(line)?.[1];
        if (size === undefined) return false;
        this.#bytesLeft = Number.parseInt(size, 16);
        this.#part = this.#bytesLeft === 0 ? "trailer" : "data";
        return true;
      }
      case "dataEnd":
        this.#part = "size";
        return line === "";
      default:
        this.isComplete = line === "";
        return true;
    }
  }
}

/** The content of a chunked body (RFC 9112, section 7.1.3), as far as it has arrived. */
export function decodeChunked(body: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = body.indexOf(lineFeed, at);
    if (lineEnd === -1) break;
    const size = Number.parseInt(body.toString("latin1", at, Math.min(lineEnd, at + 16)), 16);
    if (!(size > 0)) break;
    pieces.push(body.subarray(lineEnd + 1, lineEnd + 1 + size));
    at = lineEnd + 1 + size + 2;
  }
  return Buffer.concat(pieces);
}
