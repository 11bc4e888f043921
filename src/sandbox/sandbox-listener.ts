// Opens the public listener of a sandbox. It is one of node:http, which gives the fields as they
// were written and the socket, on which faults are done.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ListenError } from "../service/server.ts";
import { SharedBudget } from "../store/fair-share.ts";
import { formatHead } from "./faults.ts";
import { bodyBytesMax, ReceivedRequest } from "./received-request.ts";
import { type RequestLog, wholeBody } from "./request-log.ts";

export interface SandboxListenerOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  readonly log: Pick<RequestLog, "add">;
  /** Connections, and requests whose response is not decided; further ones are closed. */
  readonly connectionsMax: number;
  /** Bytes of the bodies of those requests; a body beyond it gets 503. */
  readonly inFlightBytesMax: number;
  /** Responds to a request. Only the path of its URL counts. */
  readonly respond: (request: Request) => Promise<Response>;
}

/** As that of Bun's listener; the parser rejects larger heads with 431. */
const headBytesMax = 16_384;

/** A connection that waits for its next request is closed after this time. */
const idleMsMax = 60_000;

/** A connection with more requests that wait for the response before theirs is closed. */
const pipelinedMax = 1_000;

interface Connection {
  readonly number: number;
  /** Requests without a response. */
  waiting: number;
  /** Settles when the last request on it has its response. */
  last: Promise<void>;
}

export class SandboxListener {
  /** Such as http://127.0.0.1:8080. */
  readonly origin: string;
  readonly #options: SandboxListenerOptions;
  readonly #server: Server;
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #memory: SharedBudget;
  #connectionCount = 0;
  #open = 0;
  /** Requests that are handled, also for clients that have left. */
  #handled = 0;
  readonly #unfinished = new Set<ReceivedRequest>();
  readonly #byRequest = new WeakMap<Request, ReceivedRequest>();
  #isStopping = false;

  private constructor(server: Server, options: SandboxListenerOptions) {
    const { host, inFlightBytesMax, connectionsMax } = options;
    const { port } = server.address() as AddressInfo;
    this.origin = new URL(`http://${host.includes(":") ? `[${host}]` : host}:${port}`).origin;
    this.#options = options;
    this.#server = server;
    this.#memory = new SharedBudget(() => Math.max(inFlightBytesMax, 2 * bodyBytesMax));
    server.on("connection", (socket: Socket) => {
      this.#open++;
      socket.once("close", () => this.#open--);
      if (this.#open > connectionsMax) socket.destroy();
    });
    server.on("request", (message, response) => this.#receive(message, response));
    // Another expectation than 100-continue is ignored, as by Bun's listener.
    server.on("checkExpectation", (message, response) => this.#receive(message, response));
    server.on("clientError", (error, socket) => this.#reject(error, socket as Socket));
  }

  /** Opens the port. Rejects with a ListenError if the address cannot be bound. */
  static async open(options: SandboxListenerOptions): Promise<SandboxListener> {
    const { host, port } = options;
    const server = createServer({
      maxHeaderSize: headBytesMax,
      keepAliveTimeout: idleMsMax,
      // The service has a time limit of its own for bodies.
      requestTimeout: 0,
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", ({ code = "" }: NodeJS.ErrnoException) =>
      reject(new ListenError("public", { host, port }, code)),
    );
    server.listen(port, host, resolve);
    await promise;
    return new SandboxListener(server, options);
  }

  /** Finds a request that came in here. */
  find(request: Request): ReceivedRequest | undefined {
    return this.#byRequest.get(request);
  }

  /** Closes the connections of all requests without a response, and logs nothing of them. */
  discardUnfinished(): void {
    for (const received of this.#unfinished) received.discard();
  }

  /** Stops accepting connections; resolves after the last response, or after `drainMsMax`. */
  async stop(drainMsMax: number): Promise<void> {
    this.#isStopping = true;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    const deadline = setTimeout(() => this.#server.closeAllConnections(), drainMsMax);
    await Promise.all(Array.from(this.#unfinished, ({ closed }) => closed));
    clearTimeout(deadline);
    this.#server.closeAllConnections();
    await closed;
  }

  #receive(message: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connectionOf(message.socket);
    if (++connection.waiting > pipelinedMax || this.#handled >= this.#options.connectionsMax) {
      message.socket.destroy();
      return;
    }
    const parts = { log: this.#options.log, memory: this.#memory };
    const received = new ReceivedRequest(message, response, connection.number, parts);
    this.#handled++;
    this.#unfinished.add(received);
    void received.closed.then(() => {
      this.#unfinished.delete(received);
      connection.waiting--;
    });
    // One after another: a fault must not overtake the response before it.
    connection.last = connection.last
      .then(() => this.#respond(received))
      .finally(() => {
        this.#handled--;
        received.release();
      });
  }

  async #respond(received: ReceivedRequest): Promise<void> {
    if (received.isClosed) return;
    const request = received.toRequest(this.origin);
    this.#byRequest.set(request, received);
    const response = await this.#options.respond(request);
    // The body of a request that is rejected without it arrives in the next turn.
    await nextTurn();
    if (this.#isStopping) response.headers.set("Connection", "close");
    await received.send(response);
  }

  /** Answers what the parser rejects, as Bun's listener does. */
  #reject(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket): void {
    const { code, rawPacket } = error;
    const isInRequest = Array.from(this.#unfinished).some((received) => received.socket === socket);
    if (isInRequest || !socket.writable || rawPacket === undefined || rawPacket.length === 0) {
      socket.destroy();
      return;
    }
    const status = code === "HPE_HEADER_OVERFLOW" ? 431 : code === "HPE_INVALID_VERSION" ? 505 : 400;
    const response = { status, headers: [["connection", "close"]] as const, body: Buffer.alloc(0) };
    this.#options.log.add({
      connection: this.#connectionOf(socket).number,
      startedAt: Date.now(),
      durationMs: 0,
      request: { method: null, target: null, version: null, headers: [], body: wholeBody(rawPacket) },
      response: { ...response, body: wholeBody(response.body) },
      forced: undefined,
      ended: "notHttp",
    });
    socket.end(formatHead(response));
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection = { number: ++this.#connectionCount, waiting: 0, last: Promise.resolve() };
    this.#connections.set(socket, connection);
    return connection;
  }
}
