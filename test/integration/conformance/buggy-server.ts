// A server with a known bug: a proxy in front of a real one that alters what it receives, what it
// returns, or how it handles connections. Without a bug every rule holds through it.

import { connect, createServer, type Server, type Socket } from "node:net";
import { findInterimEnd, findResponseEnd } from "../../../src/sandbox/message.ts";

/** A request or response; its characters are bytes. */
export interface Message {
  /** The first line. */
  start: string;
  headers: [name: string, value: string][];
  body: string;
  /** The lines of the trailer fields, which are not passed on. */
  trailers?: string;
}

/** What a bug may remember. */
export interface BugState {
  readonly token: string;
  readonly seen: Map<string, string>;
  readonly inFlight: Set<string>;
  count: number;
}

/** What a bug may remember of a connection. */
export interface ConnectionState {
  isAccepted: boolean;
  readonly id: string;
}

/** A response instead of that of the server; or no response at all. */
type Instead = Message | "hang" | "close";

export interface Bug {
  /** The rules that must not hold, by their ids. */
  readonly breaks: readonly string[];
  /** Alters a request in place, or answers it. */
  readonly request?: (
    request: Message,
    state: BugState,
    connection: ConnectionState,
    // biome-ignore lint/suspicious/noConfusingVoidType: most only alter the request.
  ) => Instead | undefined | void | Promise<Instead | undefined | void>;
  /** Alters a response in place. */
  readonly response?: (
    response: Message,
    request: Message,
    state: BugState,
    connection: ConnectionState,
  ) => void;
  /** Called if the client closes the connection before it gets the response. */
  readonly lost?: (request: Message, state: BugState) => void;
  /**
   * Answers what has not arrived completely: after the first packet, or when the client sends no
   * more.
   */
  readonly incomplete?: "firstPacket" | "end";
  /** Closes every connection after so many responses, and does not say so. */
  readonly closesSilentlyAfter?: number;
  /** Closes a connection with the first response if a further request has arrived. */
  readonly dropsPipelined?: boolean;
  readonly connectionsMax?: number;
  /** Reads the body before it sends 100 Continue. */
  readonly ignoresExpect?: boolean;
}

const headEnd = "\r\n\r\n";
/** With trailer fields, which the server does not read. */
const lastChunk = /(^|\r\n)0+\r\n((?:[\w-]+:[^\r\n]*\r\n)*)\r\n$/;

export class BuggyServer implements Disposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #bug: Bug;
  /** The connections to the server whose end ends that of the client. */
  readonly #followed = new WeakSet<Socket>();
  readonly #target: URL;
  readonly #state: BugState;

  private constructor(target: URL, token: string, bug: Bug) {
    this.#target = target;
    this.#bug = bug;
    this.#state = { token, seen: new Map(), inFlight: new Set(), count: 0 };
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  static async start(url: string, token: string, bug: Bug): Promise<BuggyServer> {
    const server = new BuggyServer(new URL(url), token, bug);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on("error", () => undefined).on("close", () => this.#sockets.delete(socket));
  }

  #accept(socket: Socket): void {
    this.#track(socket);
    const { connectionsMax, incomplete, ignoresExpect = false } = this.#bug;
    // Each has two sockets.
    if (connectionsMax !== undefined && this.#sockets.size > 2 * connectionsMax) {
      socket.destroy();
      return;
    }
    const upstream = this.#track(connect(Number(this.#target.port), this.#target.hostname));
    let received = "";
    let isBusy = false;
    let isRaw = false;
    let isEnded = false;
    let responses = 0;
    const connection = { isAccepted: false, id: crypto.randomUUID() };

    const next = async () => {
      if (isBusy || isRaw) return;
      const completes = isEnded || incomplete === "firstPacket" ? incomplete : undefined;
      const request = takeRequest(received, completes, ignoresExpect);
      if (request === "raw" || (request === undefined && isEnded && received !== "")) {
        // Bytes of no well-formed request, or the end of the stream: the server decides.
        isRaw = true;
        upstream.on("data", (chunk) => socket.write(chunk)).on("end", () => socket.end());
        upstream.write(received, "latin1");
        if (isEnded) upstream.end();
        return;
      }
      if (request === undefined) {
        if (isEnded) {
          socket.end();
          upstream.end();
        }
        return;
      }
      isBusy = true;
      received = received.slice(request.length);
      await this.#exchange(request.message, socket, upstream, connection);
      isBusy = false;
      responses++;
      const { closesSilentlyAfter, dropsPipelined = false } = this.#bug;
      if (responses === closesSilentlyAfter || (dropsPipelined && received !== "")) socket.end();
      if (!socket.destroyed) void next();
    };
    socket.on("data", (chunk: Buffer) => {
      if (isRaw) upstream.write(chunk);
      else received += chunk.toString("latin1");
      void next();
    });
    socket.on("end", () => {
      isEnded = true;
      if (isRaw) upstream.end();
      else void next();
    });
    socket.on("close", () => upstream.destroy());
  }

  /** Passes one request to the server, and its response back. */
  async #exchange(
    request: Message,
    socket: Socket,
    upstream: Socket,
    connection: ConnectionState,
  ): Promise<void> {
    const { request: alter, response: alterResponse, lost, ignoresExpect } = this.#bug;
    const asSent = structuredClone(request);
    if (lost !== undefined && (await endsSoon(socket))) lost(request, this.#state);
    const instead = await alter?.(request, this.#state, connection);
    if (instead === "hang") return new Promise(() => undefined);
    if (instead === "close") return void socket.destroy();
    const respond = (response: Message) => {
      alterResponse?.(response, asSent, this.#state, connection);
      socket.write(serialize(response), "latin1");
    };
    if (instead !== undefined) {
      respond(instead);
      socket.end();
      return;
    }
    upstream.write(serialize(request), "latin1");
    const method = request.start.split(" ")[0] ?? "";
    const raw = await readResponse(upstream, method, (interim) => {
      if (!ignoresExpect) socket.write(interim);
    });
    if (raw === undefined) return void socket.destroy();
    respond(parseMessage(raw));
    if (upstream.readableEnded || !raw.toLowerCase().includes("content-length")) socket.end();
    else if (!this.#followed.has(upstream)) {
      this.#followed.add(upstream);
      upstream.once("end", () => socket.end());
    }
  }
}

/** Whether the client closes the connection within some milliseconds. */
function endsSoon(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), 100);
    for (const event of ["end", "close"])
      socket.once(event, () => {
        clearTimeout(timer);
        resolve(true);
      });
  });
}

/**
 * The bytes of the next final response; undefined if the server closes the connection before it.
 */
function readResponse(
  upstream: Socket,
  method: string,
  onInterim: (bytes: Buffer) => void,
): Promise<string | undefined> {
  let received: Buffer = Buffer.alloc(0);
  return new Promise((resolve) => {
    const finish = (response?: string) => {
      upstream.off("data", onData).off("end", onEnd).off("close", onEnd);
      resolve(response);
    };
    const onData = (chunk: Buffer) => {
      const all = Buffer.concat([received, chunk]);
      const interimEnd = findInterimEnd(all);
      if (interimEnd > 0) onInterim(all.subarray(0, interimEnd));
      received = all.subarray(interimEnd);
      const end = findResponseEnd(received, method);
      if (end !== undefined && end <= received.length) finish(received.toString("latin1"));
    };
    const onEnd = () => finish();
    upstream.on("data", onData).on("end", onEnd).on("close", onEnd);
    if (upstream.destroyed) onEnd();
  });
}

/** The first request of some bytes; "raw" if it is malformed, undefined if it is incomplete. */
function takeRequest(
  bytes: string,
  incomplete: Bug["incomplete"],
  ignoresExpect: boolean,
): { message: Message; length: number } | "raw" | undefined {
  const end = bytes.indexOf(headEnd);
  if (bytes !== "" && !/^[A-Z]{1,20}(?: |$)/.test(bytes.slice(0, 21))) return "raw";
  if (end === -1) {
    return incomplete === "firstPacket" && bytes !== ""
      ? { message: parseMessage(bytes + headEnd), length: bytes.length }
      : undefined;
  }
  const head = bytes.slice(0, end + headEnd.length);
  const rest = bytes.slice(head.length);
  const message = parseMessage(head);
  // The client waits for the response to the head.
  if (headerValues(message, "expect").length > 0 && rest === "" && !ignoresExpect) return "raw";
  const length = headerValues(message, "content-length").at(-1);
  const isChunked = headerValues(message, "transfer-encoding").length > 0;
  const bodyEnd = isChunked ? (lastChunk.test(rest) ? rest.length : undefined) : Number(length ?? 0);
  if (bodyEnd === undefined || rest.length < bodyEnd) {
    if (incomplete === undefined) return isChunked && /^[^\da-f]/i.test(rest) ? "raw" : undefined;
    message.body = rest;
    setHeader(message, "Content-Length", String(rest.length));
    return { message, length: bytes.length };
  }
  if (Number.isNaN(bodyEnd) || bodyEnd < 0) return "raw";
  message.trailers = (isChunked && lastChunk.exec(rest)?.[2]) || "";
  message.body = isChunked ? rest.replace(lastChunk, "$10\r\n\r\n") : rest.slice(0, bodyEnd);
  return { message, length: head.length + bodyEnd };
}

function parseMessage(bytes: string): Message {
  const end = bytes.indexOf(headEnd);
  const [start = "", ...lines] = bytes.slice(0, end).split("\r\n");
  return {
    start,
    headers: lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    }),
    body: bytes.slice(end + headEnd.length),
  };
}

function serialize({ start, headers, body }: Message): string {
  return `${start}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
}

/** The values of the fields with a name, given in lower case, without white space at their ends. */
export function headerValues({ headers }: Message, name: string): string[] {
  return headers.filter(([each]) => each.trim().toLowerCase() === name).map(([, value]) => value.trim());
}

/** Replaces the fields with a name by one, or by none. */
export function setHeader(message: Message, name: string, value?: string): void {
  message.headers = message.headers.filter(([each]) => each.toLowerCase() !== name.toLowerCase());
  if (value !== undefined) message.headers.push([name, value]);
}

/** The body as text. */
export function textOf({ body }: Message): string {
  return Buffer.from(body, "latin1").toString("utf8");
}

/** Replaces the body by a text, and the Content-Length, if there is one, by that of the text. */
export function setText(message: Message, text: string): void {
  const before = message.body;
  message.body = Buffer.from(text, "utf8").toString("latin1");
  if (message.body !== before && headerValues(message, "content-length").length > 0)
    setHeader(message, "Content-Length", String(message.body.length));
}
