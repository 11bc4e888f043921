// Holds a request that came over the network, and its response, until both are in the log.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
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
const bodyBytesMax = 4 * 2 ** 20;

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
  readonly #startedAt = Date.now();
  readonly #start = performance.now();
  readonly #aborting = new AbortController();
  readonly #body: ReadableStream<Uint8Array>;
  readonly #kept: Buffer[] = [];
  /** Resolves when the body has ended, or is longer than what is kept of it. */
  readonly #bodyRead = Promise.withResolvers<void>();
  #keptBytes = 0;
  #bodyBytes = 0;
  #isBodySkipped = false;
  /** Null before it is being sent. */
  #sent: LoggedRequest["response"] = null;
  #isClosed = false;
  #isLogged = false;

  /** @param connection its number. */
  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    connection: number,
    log: Pick<RequestLog, "add">,
  ) {
    this.#message = message;
    this.#response = response;
    this.#connection = connection;
    this.#log = log;
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
  async send({ status, headers }: Response, content: Buffer): Promise<void> {
    if (this.#isClosed) return;
    const body = this.#message.method === "HEAD" ? Buffer.alloc(0) : content;
    const hasLength = ![204, 304].includes(status);
    const response: SentResponse = {
      status,
      headers: [
        ...headers,
        ["date", new Date().toUTCString()],
        ...(hasLength ? [["content-length", String(content.length)] as const] : []),
      ],
      body,
    };
    if (this.fault === undefined) {
      this.#sent = { ...response, body: wholeBody(body) };
      // Filed first, so that a client that has the response finds the request in the log.
      this.#file("complete");
      this.#response.sendDate = false;
      this.#response.removeHeader("Connection");
      this.#response.writeHead(status, response.headers.flat());
      this.#response.end(body);
      this.#skipBody();
    } else await this.#sendFault(response, this.fault);
    await this.closed;
  }

  /** Closes the connection, and logs nothing. */
  discard(): void {
    this.#isClosed = true;
    this.#isLogged = true;
    this.socket.destroy();
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
            this.#keep(chunk);
            if (this.#isBodySkipped) return;
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

  #keep(chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    const kept = chunk.subarray(0, bodyBytesMax - this.#keptBytes);
    this.#keptBytes += kept.length;
    if (!this.#isLogged && kept.length > 0) this.#kept.push(kept);
    if (this.#bodyBytes >= bodyBytesMax) this.#bodyRead.resolve();
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

/** Node has names and values in one list. */
function toFields(rawHeaders: readonly string[]): Fields {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, index) => [rawHeaders[2 * index] ?? "", rawHeaders[2 * index + 1] ?? ""] as const,
  );
}
