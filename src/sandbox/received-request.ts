// Holds a request that came over the network, and its response, until both are in the log.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { SharedBudget } from "../store/fair-share.ts";
import { changeBody, type Fault, type SentResponse } from "./faults.ts";
import {
  type Ending,
  type Fields,
  type ForcedBy,
  type LoggedRequest,
  type RequestLog,
  wholeBody,
} from "./request-log.ts";

/** The log keeps the first bytes of a longer body, and as many wait for their reader. */
export const bodyBytesMax = 4 * 2 ** 20;

/** Bytes of a response's body that are read before it is sent, to tell its length, and that the log keeps. */
const startBytesMax = 65_536;

/** The interval of pieces that are sent slowly. */
const slowStepMsMin = 10;

/** Time for a client to close its side after the server. */
const lingerMsMax = 1_000;

export class ReceivedRequest {
  /** The rule or the preferences whose outcome it gets. */
  forced: ForcedBy | undefined;
  /** Set it before the response is returned. */
  fault: Fault | undefined;
  /** Resolves when the response is sent, or the connection is closed. */
  readonly closed: Promise<void>;
  readonly socket: Socket;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connection: number;
  readonly #log: Pick<RequestLog, "add">;
  readonly #memory: SharedBudget;
  readonly #client: string;
  readonly #startedAt = Date.now();
  readonly #start = performance.now();
  readonly #aborting = new AbortController();
  readonly #body: ReadableStream<Uint8Array>;
  readonly #kept: Buffer[] = [];
  /** Resolves when the body has ended, or is longer than what is kept of it. */
  readonly #bodyRead = Promise.withResolvers<void>();
  #keptBytes = 0;
  /** The memory that is acquired for it. */
  #heldBytes = 0;
  #bodyBytes = 0;
  #isBodySkipped = false;
  /** Null before it is being sent. */
  #sent: LoggedRequest["response"] = null;
  #isClosed = false;
  #isLogged = false;

  /**
   * @param connection its number.
   * @param memory of the bodies that are kept.
   */
  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    connection: number,
    { log, memory }: { readonly log: Pick<RequestLog, "add">; readonly memory: SharedBudget },
  ) {
    this.#message = message;
    this.#response = response;
    this.#connection = connection;
    this.#log = log;
    this.#memory = memory;
    this.#client = message.socket.remoteAddress ?? "";
    this.socket = message.socket;
    this.#body = this.#readBody();
    this.closed = new Promise((resolve) => {
      response.once("close", () => {
        this.#isClosed = true;
        if (!response.writableFinished) this.#aborting.abort();
        this.#file("clientAborted");
        resolve();
      });
    });
  }

  /** Whether the client has left, or the response is sent. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  toRequest(origin: string): Request {
    const { method = "", url: target = "", rawHeaders } = this.#message;
    const url = target.startsWith("/") ? origin + target : target;
    return new Request(URL.canParse(url) ? url : origin, {
      method,
      headers: toFields(rawHeaders).map(([name, value]): [string, string] => [name, value]),
      body: method === "GET" || method === "HEAD" ? null : this.#body,
      signal: this.#aborting.signal,
    });
  }

  /** The body; undefined if it is longer than what is kept of it, or has not arrived in time. */
  async body(msMax: number): Promise<Buffer | undefined> {
    await Promise.race([this.#bodyRead.promise, this.closed, sleep(msMax, undefined, { ref: false })]);
    const isWhole = this.#message.complete && this.#keptBytes === this.#bodyBytes;
    return isWhole ? Buffer.concat(this.#kept) : undefined;
  }

  /** Sends the response, with its fault. Resolves when that is done, or the client has left. */
  async send(response: Response): Promise<void> {
    const { status, headers } = response;
    const body: AsyncIterator<Uint8Array> | undefined = response.body?.[Symbol.asyncIterator]();
    const isDeclared = headers.has("content-length");
    const bytesMax = isDeclared ? 0 : startBytesMax;
    const { start, isWhole } = await readStart(body, this.fault === undefined ? bytesMax : Infinity);
    const isHead = this.#message.method === "HEAD";
    const hasLength = isWhole && !isDeclared && ![204, 304].includes(status);
    const fields: Fields = [
      ...headers,
      ["date", new Date().toUTCString()],
      ...(hasLength ? [["content-length", String(start.length)] as const] : []),
    ];
    const sent = { status, headers: fields, body: isHead ? Buffer.alloc(0) : start };
    if (!this.#isClosed) {
      if (this.fault !== undefined) await this.#sendFault(sent, this.fault);
      else await this.#sendRight(sent, isHead ? undefined : body);
      await this.closed;
    }
    if (!isWhole) await body?.return?.();
  }

  /** Releases the memory of the body. Call it when nothing reads it any more. */
  release(): void {
    this.#memory.release(this.#client, this.#heldBytes);
    this.#heldBytes = 0;
    this.#kept.length = 0;
  }

  /** Rejects a body that has no room, and closes the connection. */
  #refuse(body: ReadableStreamDefaultController): void {
    this.#isBodySkipped = true;
    this.#message.pause();
    body.error(new Error("There is no memory for the body"));
    this.#aborting.abort();
    if (this.#isClosed || this.#sent !== null) return void this.socket.destroy();
    const headers: Fields = [
      ["retry-after", "1"],
      ["connection", "close"],
    ];
    this.#sent = { status: 503, headers, body: wholeBody(Buffer.alloc(0)) };
    this.#file("complete");
    this.#isClosed = true;
    this.#response.writeHead(503, headers.flat());
    this.#response.end(() => this.socket.destroy());
  }

  /** Closes the connection, and logs nothing. */
  discard(): void {
    this.#isClosed = true;
    this.#isLogged = true;
    this.socket.destroy();
  }

  /**
   * Sends a response without a fault, each part when the client has taken the one before. The request is
   * in the log before the last part, so that a client that has the response finds it there.
   *
   * @param rest the parts of the body after its start.
   */
  async #sendRight(
    { status, headers, body }: SentResponse & { readonly status: number },
    rest: AsyncIterator<Uint8Array> | undefined,
  ): Promise<void> {
    const response = this.#response;
    response.sendDate = false;
    response.removeHeader("Connection");
    response.writeHead(status, headers.flat());
    const bytes = body.subarray(0, startBytesMax);
    let length = 0;
    for (let part: Uint8Array = body; !this.#isClosed; ) {
      length += part.length;
      this.#sent = { status, headers, body: { bytes, length } };
      const next = await rest?.next();
      if (next === undefined || next.done) {
        this.#file("complete");
        response.end(part);
        break;
      }
      if (!response.write(part))
        await Promise.race([new Promise((resolve) => response.once("drain", resolve)), this.closed]);
      part = next.value;
    }
    this.#skipBody();
  }

  async #sendFault(response: SentResponse, { drop, reset, body, bytesPerSecond }: Fault): Promise<void> {
    if (drop !== undefined) {
      this.#file("dropped");
      if (reset) this.socket.resetAndDestroy();
      else this.socket.destroy();
      return;
    }
    const { bytes, sent, ended } = changeBody(response, body);
    this.#sent = { ...sent, body: wholeBody(sent.body) };
    const start = performance.now();
    for (let from = 0; !this.#isClosed; ) {
      const due = ((performance.now() - start) / 1_000) * (bytesPerSecond ?? Number.POSITIVE_INFINITY);
      const end = bytesPerSecond === undefined ? bytes.length : Math.min(bytes.length, Math.floor(due));
      if (end === bytes.length) this.#file(ended);
      this.socket.write(bytes.subarray(from, end));
      if (end === bytes.length) break;
      from = end;
      await sleep(Math.max(slowStepMsMin, 1_000 / (bytesPerSecond ?? 1)), undefined, { ref: false });
    }
    this.socket.end();
    setTimeout(() => this.socket.destroy(), lingerMsMax).unref();
  }

  /** The body as it arrives. */
  #readBody(): ReadableStream<Uint8Array> {
    const message = this.#message;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          message.on("data", (chunk: Buffer) => {
            if (this.#isBodySkipped) return void this.#keep(chunk);
            if (!this.#keep(chunk)) return this.#refuse(controller);
            controller.enqueue(chunk);
            if ((controller.desiredSize ?? 0) <= 0) message.pause();
          });
          message.once("end", () => {
            this.#bodyRead.resolve();
            if (!this.#isBodySkipped) controller.close();
          });
          message.once("error", (error) => {
            if (!this.#isBodySkipped) controller.error(error);
          });
        },
        pull: () => void message.resume(),
        cancel: () => this.#skipBody(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: bodyBytesMax }),
    );
  }

  /** Reads the rest of a body that nobody wants, so that the connection can be used again. */
  #skipBody(): void {
    this.#isBodySkipped = true;
    this.#message.resume();
  }

  /** Keeps a chunk for the log and the rules; false if there is no memory for it. */
  #keep(chunk: Buffer): boolean {
    this.#bodyBytes += chunk.length;
    const kept = chunk.subarray(0, bodyBytesMax - this.#keptBytes);
    if (!this.#isLogged && kept.length > 0) {
      if (!this.#reserve(this.#keptBytes + kept.length)) return false;
      this.#kept.push(kept);
    }
    this.#keptBytes += kept.length;
    if (this.#bodyBytes >= bodyBytesMax) this.#bodyRead.resolve();
    return true;
  }

  /** Acquires the memory for so many bytes of the body: at once for those that it says it has. */
  #reserve(bytes: number): boolean {
    const length = Number(this.#message.headers["content-length"] ?? 0);
    const wanted = Math.max(bytes, Math.min(length, bodyBytesMax)) - this.#heldBytes;
    if (wanted <= 0) return true;
    if (!this.#memory.acquire(this.#client, wanted)) return false;
    this.#heldBytes += wanted;
    return true;
  }

  #file(ended: Ending): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    const { method = null, url: target = null, httpVersion, rawHeaders } = this.#message;
    const version = httpVersion === "1.0" ? "HTTP/1.0" : "HTTP/1.1";
    const body = { bytes: Buffer.concat(this.#kept), length: this.#bodyBytes };
    this.#log.add({
      connection: this.#connection,
      startedAt: this.#startedAt,
      durationMs: performance.now() - this.#start,
      request: { method, target, version, headers: toFields(rawHeaders), body },
      response: this.#sent,
      forced: this.forced,
      ended,
    });
  }
}

/** Reads a body until it ends, or has more bytes. */
async function readStart(
  body: AsyncIterator<Uint8Array> | undefined,
  bytesMax: number,
): Promise<{ readonly start: Buffer; readonly isWhole: boolean }> {
  const parts: Uint8Array[] = [];
  for (let length = 0; length <= bytesMax; ) {
    const next = await body?.next();
    if (next === undefined || next.done) return { start: Buffer.concat(parts), isWhole: true };
    parts.push(next.value);
    length += next.value.length;
  }
  const [first] = parts;
  // Without a copy of what all responses share.
  const isOne = first !== undefined && parts.length === 1;
  const start = isOne ? Buffer.from(first.buffer, first.byteOffset, first.length) : Buffer.concat(parts);
  return { start, isWhole: false };
}

/** Node has names and values in one list. */
function toFields(rawHeaders: readonly string[]): Fields {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, index) => [rawHeaders[2 * index] ?? "", rawHeaders[2 * index + 1] ?? ""] as const,
  );
}
