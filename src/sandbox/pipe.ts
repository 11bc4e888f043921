// The pipe in front of the public listener. It passes bytes on in both directions as they are, and
// keeps those of each connection: the handler begins an exchange, and when the response to it has
// passed, the pipe files the bytes of both messages, whose ends it finds by their lengths or chunks.
// For the handler it also cuts, changes or slows down a response, and closes or resets a connection
// without one. The sockets are not of node:net: with those a write that fails (EPIPE) discards a
// response that the server has sent, such as a bare 431.

import type { Socket } from "bun";
import { KeptBytes, type KeptBytesBudget, type StoredMessage } from "./kept-bytes.ts";
import {
  ChunkReader,
  type Framing,
  findHeadEnd,
  findResponseEnd,
  framingOf,
  parseRequestHead,
} from "./message.ts";
import type { Ending, ForcedBy, RecordedRequest, RequestLog } from "./request-log.ts";
import { changeBody, type WireEffect } from "./wire-effects.ts";

export interface PipeOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  /** The port of the public listener, on 127.0.0.1. */
  readonly serverPort: number;
  readonly log: Pick<RequestLog, "add">;
}

/** Time for a client to read the rest of a response after the server closed the connection. */
const unreadMsMax = 30_000;

/** Time for a client to close its side after the server; see Connection.#endClient. */
const lingerMsMax = 1_000;

/** The interval of pieces that are sent slowly. */
const slowStepMsMin = 10;

export class Pipe {
  /** Such as http://127.0.0.1:8080. */
  readonly origin: string;
  readonly log: Pick<RequestLog, "add">;
  readonly serverPort: number;
  readonly budget: KeptBytesBudget = { used: 0 };
  readonly connections = new Set<Connection>();
  /** The connections by the ports of this process to the public listener. */
  readonly byServerPort = new Map<number, Connection>();
  readonly #listener: Bun.TCPSocketListener<Connection>;

  /** Throws the error of Bun.listen if the address cannot be bound. */
  constructor({ host, port, serverPort, log }: PipeOptions) {
    this.log = log;
    this.serverPort = serverPort;
    let opened = 0;
    this.#listener = Bun.listen<Connection>({
      hostname: host,
      port,
      allowHalfOpen: true,
      socket: {
        open: (client) => {
          client.data = new Connection(++opened, client, this);
          client.data.connect();
        },
        data: ({ data }, chunk) => data.readClient(chunk),
        drain: ({ data }) => data.toClient.flush(),
        end: ({ data }) => data.endOfClient(),
        close: ({ data }) => data.closeOfClient(),
        // A close follows.
        error: () => undefined,
      },
    });
    this.origin = new URL(`http://${host.includes(":") ? `[${host}]` : host}:${this.#listener.port}`).origin;
  }

  /**
   * Begins the exchange of a request; undefined if its connection is gone. Call it in the handler
   * before anything that waits.
   *
   * @param clientPort of the connection, as the server sees it.
   */
  begin({ method, headers }: Request, clientPort: number | undefined): Exchange | undefined {
    if (clientPort === undefined) return undefined;
    return this.byServerPort.get(clientPort)?.begin(method, framingOf(headers));
  }

  /** Closes every connection with a request that is not in the log yet, and keeps nothing of it. */
  discardUnfinished(): void {
    for (const connection of this.connections) connection.discardUnfinished();
  }

  stopAccepting(): void {
    this.#listener.stop(false);
  }

  /** Closes the listener, and all connections that do not close by themselves within a second. */
  async stop(): Promise<void> {
    this.#listener.stop(false);
    const deadline = performance.now() + lingerMsMax;
    while (this.connections.size > 0 && performance.now() < deadline) await Bun.sleep(1);
    for (const connection of this.connections) connection.close();
  }
}

/** Writes to a socket what it takes, and the rest later. */
class Outlet {
  socket: Socket<Connection> | undefined;
  readonly #onChange: () => void;
  /** Bytes that the socket has not taken; until it has, the other side is paused. */
  #waiting: Buffer = Buffer.alloc(0);
  #isEnding = false;
  #onFlushed: (() => void) | undefined;

  /** @param onChange called when bytes wait, and when none do any more. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Whether the socket is open and has taken everything. */
  get isFlushed(): boolean {
    return this.socket !== undefined && this.#waiting.length === 0;
  }

  write(bytes: Buffer): void {
    if (this.#isEnding) return;
    const isBlocked = this.#waiting.length > 0;
    this.#waiting = isBlocked ? Buffer.concat([this.#waiting, bytes]) : bytes;
    if (!isBlocked) this.flush();
  }

  flush(): void {
    if (this.socket === undefined) return;
    if (this.#waiting.length > 0)
      this.#waiting = this.#waiting.subarray(Math.max(0, this.socket.write(this.#waiting)));
    this.#onChange();
    if (this.#waiting.length > 0) return;
    this.#onFlushed?.();
    this.#onFlushed = undefined;
  }

  /** Calls back once everything is written, and takes no more bytes. */
  end(onFlushed: () => void): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (this.isFlushed) onFlushed();
    else this.#onFlushed = onFlushed;
  }
}

/** A request that the handler has, until its bytes are in the log. */
export class Exchange {
  forced: ForcedBy | undefined;
  /** Set it before the response is returned. */
  effect: WireEffect | undefined;
  /** Whether the connection is closed. */
  isClosed = false;
  readonly method: string;
  readonly #framing: Framing;
  readonly #chunks = new ChunkReader();
  /** Undefined where the bytes could not be kept. */
  #headEnd: number | undefined;
  /** Whether its response has passed. */
  isAnswered = false;
  response: StoredMessage = { bytes: Buffer.alloc(0), length: 0 };
  ended: Ending = "complete";

  constructor(method: string, framing: Framing) {
    this.method = method;
    this.#framing = framing;
  }

  /** Finds its head in the bytes of its client, which begin with those of the request. */
  start({ stored, length }: KeptBytes): void {
    const headEnd = findHeadEnd(stored);
    if (headEnd === undefined || (this.#framing === "chunked" && stored.length < length)) return;
    this.#headEnd = headEnd;
    this.read(stored.subarray(headEnd));
  }

  /** Reads bytes that arrive later: a body is followed to its end, also where it is not kept. */
  read(bytes: Buffer): void {
    if (this.#framing === "chunked") this.#chunks.read(bytes);
  }

  /**
   * The length of the request in the bytes of its client; undefined if the rest is still to arrive.
   */
  requestLength(received: number): number | undefined {
    if (this.#headEnd === undefined) return received;
    if (this.#framing === "chunked")
      return this.#chunks.isComplete ? this.#headEnd + this.#chunks.length : undefined;
    const end = this.#headEnd + this.#framing;
    return end <= received ? end : undefined;
  }
}

class Connection {
  readonly #number: number;
  readonly #pipe: Pipe;
  readonly #client: Socket<Connection>;
  #server: Socket<Connection> | undefined;
  readonly toClient = new Outlet(() => this.#pauseOrResume());
  readonly #toServer = new Outlet(() => this.#pauseOrResume());
  #clientIsPaused = false;
  #serverIsPaused = false;
  /** The bytes from and to the client since the last request that is in the log. */
  readonly #received: KeptBytes;
  readonly #sent: KeptBytes;
  /** The requests that the handler has and the log has not, in their order. */
  #exchanges: Exchange[] = [];
  /** When the first byte in #received arrived. */
  #startedAt = 0;
  #start = 0;
  /** The end of the response in #sent, once its head is there. */
  #responseEnd: number | undefined;
  /** The bytes of a response that is changed or slowed down, until it is complete. */
  #held: Buffer = Buffer.alloc(0);
  /** Whether such a response is being sent; what the server sends after it is held. */
  #isDelivering = false;
  #serverHasEnded = false;
  #clientHasEnded = false;
  #isClosed = false;
  /** Does not keep the process running. */
  #timer: Timer | undefined;

  constructor(number: number, client: Socket<Connection>, pipe: Pipe) {
    this.#number = number;
    this.#client = client;
    this.#pipe = pipe;
    this.#received = new KeptBytes(pipe.budget);
    this.#sent = new KeptBytes(pipe.budget);
    pipe.connections.add(this);
    this.toClient.socket = client;
  }

  /** Connects to the public listener; the client is read when that is done. */
  connect(): void {
    this.#pauseOrResume();
    Bun.connect<Connection>({
      hostname: "127.0.0.1",
      port: this.#pipe.serverPort,
      data: this,
      allowHalfOpen: true,
      socket: {
        open: (server) => this.#connected(server),
        data: (_, chunk) => this.readServer(chunk),
        drain: () => this.#toServer.flush(),
        end: () => this.#endOfServer(),
        close: () => this.#endOfServer(),
        error: () => undefined,
      },
      // The server is stopping.
    }).catch(() => this.close());
  }

  #connected(server: Socket<Connection>): void {
    if (this.#isClosed) {
      server.terminate();
      return;
    }
    this.#server = server;
    this.#pipe.byServerPort.set(server.localPort, this);
    this.#toServer.socket = server;
    this.#toServer.flush();
  }

  /** A side is read only while what it sends can be passed on. */
  #pauseOrResume(): void {
    if (this.#isClosed) return;
    const pausesClient = !this.#toServer.isFlushed;
    if (pausesClient !== this.#clientIsPaused) {
      this.#clientIsPaused = pausesClient;
      if (pausesClient) this.#client.pause();
      else this.#client.resume();
    }
    const pausesServer = !this.toClient.isFlushed || this.#isDelivering;
    if (pausesServer !== this.#serverIsPaused) {
      this.#serverIsPaused = pausesServer;
      if (pausesServer) this.#server?.pause();
      else this.#server?.resume();
    }
  }

  begin(method: string, framing: Framing): Exchange {
    const exchange = new Exchange(method, framing);
    if (this.#exchanges.push(exchange) === 1) exchange.start(this.#received);
    return exchange;
  }

  readClient(chunk: Buffer): void {
    // The response is the last one: what follows is not read by the server.
    if (this.#serverHasEnded) return;
    if (this.#received.length === 0) this.#startClock();
    this.#received.append(chunk);
    this.#exchanges[0]?.read(chunk);
    this.#toServer.write(chunk);
    // The rest of a request that had its response before it had arrived.
    if (this.#exchanges[0]?.isAnswered) this.#fileAnswered();
  }

  #startClock(): void {
    this.#startedAt = Date.now();
    this.#start = performance.now();
  }

  /** The client sends nothing more; it may still read. */
  endOfClient(): void {
    this.#clientHasEnded = true;
    // As on the server, a client that ends its side before its response counts as gone.
    if (this.#serverHasEnded || this.#isDelivering) this.close();
    else this.#toServer.end(() => this.#server?.shutdown());
  }

  /** The client has closed or reset the connection. */
  closeOfClient(): void {
    this.#clientHasEnded = true;
    this.close();
  }

  readServer(chunk: Buffer): void {
    if (this.#isDelivering) {
      this.#held = Buffer.concat([this.#held, chunk]);
      return;
    }
    for (let rest = chunk; rest.length > 0; ) {
      // Without an exchange the parser rejects what is not a request, and ends the connection.
      const exchange = this.#exchanges.find(({ isAnswered }) => !isAnswered);
      if (exchange?.effect !== undefined) {
        this.#hold(exchange, exchange.effect, rest);
        return;
      }
      const before = this.#sent.length;
      this.#sent.append(rest);
      if (exchange !== undefined)
        this.#responseEnd ??= findResponseEnd(before === 0 ? rest : this.#sent.stored, exchange.method);
      const end = this.#responseEnd ?? Number.POSITIVE_INFINITY;
      const own = rest.subarray(0, end - before);
      if (exchange !== undefined && end <= this.#sent.length) {
        this.#responseEnd = undefined;
        exchange.response = this.#sent.take(end);
        this.#sent.take();
        exchange.isAnswered = true;
        // Filed first, so that a client that has the response finds the request in the log.
        this.#fileAnswered();
      }
      this.toClient.write(own);
      rest = rest.subarray(own.length);
    }
  }

  /** Drops a response, or keeps it until all of it is there. */
  #hold(exchange: Exchange, effect: WireEffect, bytes: Buffer): void {
    if (effect.drop !== undefined) {
      exchange.response = this.#sent.take();
      exchange.ended = "dropped";
      this.#file(exchange);
      this.close(effect.reset ? "reset" : "close");
      return;
    }
    this.#held = Buffer.concat([this.#held, bytes]);
    const end = findResponseEnd(this.#held, exchange.method);
    if (end === undefined || end > this.#held.length) return;
    const response = this.#held.subarray(0, end);
    this.#held = this.#held.subarray(end);
    this.#deliver(exchange, effect, response);
  }

  #fileAnswered(): void {
    for (let [first] = this.#exchanges; first?.isAnswered; [first] = this.#exchanges) {
      const length = first.requestLength(this.#received.length);
      if (length === undefined) return;
      this.#file(first, length);
    }
  }

  /** @param length of the request; all bytes if its rest will not arrive. */
  #file(exchange: Exchange, length = exchange.requestLength(this.#received.length)): void {
    const { response, forced, ended } = exchange;
    this.#exchanges.shift();
    this.#add({ request: this.#received.take(length), response, forced, ended });
    // A pipelined request.
    if (this.#received.length > 0) this.#startClock();
    this.#exchanges[0]?.start(this.#received);
  }

  #add(request: Pick<RecordedRequest, "request" | "response" | "forced" | "ended">): void {
    this.#pipe.log.add({
      connection: this.#number,
      startedAt: this.#startedAt,
      durationMs: performance.now() - this.#start,
      ...request,
    });
  }

  /** Files what is left when the connection ends. */
  #fileRest(): void {
    const unanswered: Ending = this.#clientHasEnded ? "clientAborted" : "dropped";
    for (let [first] = this.#exchanges; first !== undefined; [first] = this.#exchanges) {
      if (!first.isAnswered) {
        first.response = this.#sent.take();
        first.ended = unanswered === "dropped" && first.response.length > 0 ? "truncated" : unanswered;
      }
      this.#file(first);
    }
    if (this.#received.length === 0 && this.#sent.length === 0) return;
    const [request, response] = [this.#received.take(), this.#sent.take()];
    // The server answers what is not a request, and requests with a head that is too large.
    const isHttp = parseRequestHead(request.bytes.subarray(0, findHeadEnd(request.bytes) ?? 0)) !== undefined;
    const ended = response.length === 0 ? unanswered : isHttp ? "complete" : "notHttp";
    this.#add({ request, response, forced: undefined, ended });
  }

  /** Sends a response changed or slowed down. The server is paused until it is sent. */
  #deliver(exchange: Exchange, { body, bytesPerSecond }: WireEffect, response: Buffer): void {
    this.#isDelivering = true;
    this.#pauseOrResume();
    const { bytes, ended, closes } = changeBody(response, body);
    const rate = bytesPerSecond ?? Number.POSITIVE_INFINITY;
    const startedAt = performance.now();
    let sent = 0;
    const sendMore = () => {
      const due =
        bytesPerSecond === undefined ? bytes.length : ((performance.now() - startedAt) / 1_000) * rate;
      const piece = bytes.subarray(sent, Math.max(sent, Math.floor(due)));
      sent += piece.length;
      this.#sent.append(piece);
      if (sent < bytes.length) {
        this.toClient.write(piece);
        this.#timer = setTimeout(sendMore, Math.max(slowStepMsMin, 1_000 / rate)).unref();
        return;
      }
      exchange.response = this.#sent.take();
      exchange.isAnswered = true;
      exchange.ended = ended;
      if (closes) this.#file(exchange);
      else this.#fileAnswered();
      this.toClient.write(piece);
      if (closes) this.toClient.end(() => this.close());
      else this.#continue();
    };
    sendMore();
  }

  /** Continues to read the server after a response that was changed or slowed down. */
  #continue(): void {
    this.#isDelivering = false;
    const after = this.#held;
    this.#held = Buffer.alloc(0);
    this.readServer(after);
    if (this.#isDelivering) return;
    this.#pauseOrResume();
    if (this.#serverHasEnded) this.#endClient();
  }

  #endOfServer(): void {
    if (this.#serverHasEnded || this.#isClosed) return;
    this.#serverHasEnded = true;
    if (!this.#isDelivering) this.#endClient();
  }

  /** Ends the client's connection after what the server has sent. */
  #endClient(): void {
    this.#fileRest();
    this.#timer = setTimeout(() => this.close(), unreadMsMax).unref();
    this.toClient.end(() => {
      clearTimeout(this.#timer);
      if (this.#clientHasEnded) return this.close();
      // A close with unread bytes of the client would reset the connection, and the client might
      // lose the response.
      this.#client.shutdown();
      this.#timer = setTimeout(() => this.close(), lingerMsMax).unref();
    });
  }

  discardUnfinished(): void {
    if (this.#exchanges.length === 0 && this.#received.length === 0) return;
    const discarded = this.#exchanges;
    this.#exchanges = [];
    this.#received.take();
    this.#sent.take();
    this.close();
    for (const exchange of discarded) exchange.isClosed = true;
  }

  close(end: "close" | "reset" = "close"): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const exchange of this.#exchanges) exchange.isClosed = true;
    this.#fileRest();
    this.#pipe.connections.delete(this);
    if (this.#server !== undefined) this.#pipe.byServerPort.delete(this.#server.localPort);
    if (end === "reset") this.#client.terminate();
    else this.#client.end();
    if (this.#clientHasEnded && this.#serverHasEnded) this.#server?.end();
    else this.#server?.terminate();
  }
}
