// The recorder: owns the public port, forwards each connection to the public listener, and records what passes in both
// directions, byte for byte. It changes nothing but what a forced outcome says: a request for which one may be forced gets
// a field by which the handler finds it, and a response may be delayed, cut, slowed down or left out.

import type { Socket } from "bun";
import { type RequestHead, RequestReader, ResponseReader } from "./http-framing.ts";
import type { Ending, ForcedBy, RequestLog } from "./request-log.ts";
import { InFlightBytes, StoredBytes } from "./stored-bytes.ts";

/** How a response is changed on its way to the client. */
export interface ResponseEffects {
  /** Time for which the response is held. */
  readonly delayMs?: number;
  /** Whether the connection is closed without the response. */
  readonly isDropped?: boolean;
  readonly body?: "truncated" | "wrongLength";
  readonly bytesPerSecond?: number;
}

/** A request on which an outcome may be forced: the handler decides about it, and the recorder carries out the effects. */
export interface MarkedRequest {
  /** The field by which the handler finds it, with CR LF. */
  readonly field: string;
  /** Set before the handler returns its response. */
  effects: ResponseEffects | undefined;
  forced: ForcedBy | undefined;
  /** Called when the request has ended. */
  forget(): void;
}

export interface RecorderOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  /** Of the public listener, on 127.0.0.1. */
  readonly serverPort: number;
  readonly log: Pick<RequestLog, "add">;
  /** Marks a request on which an outcome may be forced. */
  readonly mark: (head: RequestHead) => MarkedRequest | undefined;
}

/** An open recorder. */
export interface Recorder {
  /** Such as http://127.0.0.1:8080. */
  readonly origin: string;
  readonly stopAccepting: () => void;
  /** Closes it, and all connections that do not close by themselves within a second. */
  readonly stop: () => Promise<void>;
}

/** Requests of a connection without a response. Further ones are not read; the server accepts one. */
const pipelinedMax = 64;

/** The time within which a client must read the rest of a response after the server has closed the connection. */
const unreadMsMax = 30_000;

/** The time for which a client may take to close its side after the server has; see Connection.#endClient. */
const lingerMsMax = 1_000;

/** Throws the error of Bun.listen if the address cannot be bound. */
export function startRecorder(options: RecorderOptions): Recorder {
  const shared: Shared = {
    options,
    inFlight: new InFlightBytes(),
    connections: new Set(),
    onClosed: () => undefined,
  };
  let connections = 0;
  const listener = Bun.listen<Connection>({
    hostname: options.host,
    port: options.port,
    allowHalfOpen: true,
    socket: {
      open(client) {
        client.data = new Connection(++connections, client, shared);
        client.data.connect();
      },
      data: ({ data }, chunk) => data.readClient(chunk),
      drain: ({ data }) => data.drainClient(),
      end: ({ data }) => data.endOfClient(),
      close: ({ data }) => data.closeOfClient(),
      // A close follows.
      error: () => undefined,
    },
  });
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    origin: new URL(`http://${host}:${listener.port}`).origin,
    stopAccepting: () => listener.stop(false),
    async stop() {
      listener.stop(false);
      const { promise, resolve } = Promise.withResolvers<void>();
      shared.onClosed = resolve;
      const timer = setTimeout(resolve, lingerMsMax);
      if (shared.connections.size > 0) await promise;
      clearTimeout(timer);
      for (const connection of shared.connections) connection.close();
    },
  };
}

interface Shared {
  readonly options: RecorderOptions;
  readonly inFlight: InFlightBytes;
  readonly connections: Set<Connection>;
  /** Called when the last connection was closed. */
  onClosed: () => void;
}

/** A request that has not ended, and its response. */
class Recording {
  readonly startedAt = Date.now();
  readonly #start = performance.now();
  readonly request: StoredBytes;
  readonly response: StoredBytes;
  readonly requestReader = new RequestReader();
  /** Of the response that is expected or being read. */
  responseReader: ResponseReader | undefined;
  /** The bytes of a response that has effects, until it is complete. */
  held: Buffer[] | undefined;
  mark: MarkedRequest | undefined;
  /** Whether its response is complete. */
  isAnswered = false;
  isFinished = false;

  constructor(inFlight: InFlightBytes) {
    this.request = new StoredBytes(inFlight);
    this.response = new StoredBytes(inFlight);
  }

  get durationMs(): number {
    return performance.now() - this.#start;
  }

  get hasRequest(): boolean {
    return this.requestReader.position === "complete";
  }
}

/** Writes to a socket what it takes, and the rest later. */
class Outlet {
  socket: Socket<Connection> | undefined;
  readonly #onChange: () => void;
  /** What the socket has not taken: less than what was read at once from the other side, which is paused then. */
  #waiting: Buffer[] = [];
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
    if (bytes.length === 0 || this.#isEnding) return;
    const written = this.isFlushed ? Math.max(0, this.socket?.write(bytes) ?? 0) : 0;
    if (written === bytes.length) return;
    this.#waiting.push(Buffer.from(bytes.subarray(written)));
    this.#onChange();
  }

  /** Writes what is waiting. */
  flush(): void {
    if (this.socket === undefined) return;
    while (this.#waiting.length > 0) {
      const [first = Buffer.alloc(0)] = this.#waiting;
      const written = Math.max(0, this.socket.write(first));
      if (written < first.length) {
        this.#waiting[0] = first.subarray(written);
        return;
      }
      this.#waiting.shift();
    }
    this.#onChange();
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

class Connection {
  readonly #number: number;
  readonly #shared: Shared;
  readonly #client: Socket<Connection>;
  #server: Socket<Connection> | undefined;
  readonly #toClient = new Outlet(() => this.#pauseOrResume());
  readonly #toServer = new Outlet(() => this.#pauseOrResume());
  #clientIsPaused = false;
  #serverIsPaused = false;
  /** The request that is being read. */
  #incoming: Recording | undefined;
  /** The requests whose heads are complete and whose responses are not, in their order. */
  readonly #unanswered: Recording[] = [];
  /** Whether the CR before the last byte of a head is withheld: a field is added before it. */
  #withholdsByte = false;
  /** What the client has sent behind so many unanswered requests; it is read when they are answered. */
  #pipelined: Buffer[] = [];
  /** Whether a response is being held or slowed down; what the server sends after it waits. */
  #isDelivering = false;
  #afterDelivery: Buffer[] = [];
  #serverHasEnded = false;
  #clientHasEnded = false;
  #isClosed = false;
  /** Does not keep the process running. */
  #timer: Timer | undefined;

  constructor(number: number, client: Socket<Connection>, shared: Shared) {
    this.#number = number;
    this.#client = client;
    this.#shared = shared;
    shared.connections.add(this);
    this.#toClient.socket = client;
  }

  /** Connects to the public listener; the client is read when that is done. */
  connect(): void {
    this.#pauseOrResume();
    Bun.connect<Connection>({
      hostname: "127.0.0.1",
      port: this.#shared.options.serverPort,
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
    this.#toServer.socket = server;
    this.#toServer.flush();
  }

  /** A side is read only while what it sends can be passed on. */
  #pauseOrResume(): void {
    if (this.#isClosed) return;
    const pausesClient = !this.#toServer.isFlushed || this.#pipelined.length > 0;
    if (pausesClient !== this.#clientIsPaused) {
      this.#clientIsPaused = pausesClient;
      if (pausesClient) this.#client.pause();
      else this.#client.resume();
    }
    const pausesServer = !this.#toClient.isFlushed || this.#isDelivering;
    if (pausesServer !== this.#serverIsPaused) {
      this.#serverIsPaused = pausesServer;
      if (pausesServer) this.#server?.pause();
      else this.#server?.resume();
    }
  }

  readClient(chunk: Buffer): void {
    let start = 0;
    let forwarded = 0;
    // The response is the last one: what follows is not read by the server.
    if (this.#serverHasEnded) return;
    if (this.#pipelined.length > 0) {
      this.#pipelined.push(Buffer.from(chunk));
      return;
    }
    if (this.#withholdsByte) {
      this.#withholdsByte = false;
      // The field that may be added goes before it.
      chunk = Buffer.concat([carriageReturn, chunk]);
      start = 1;
    }
    while (start < chunk.length && this.#unanswered.length < pipelinedMax) {
      this.#incoming ??= new Recording(this.#shared.inFlight);
      const recording = this.#incoming;
      const reader = recording.requestReader;
      const hadHead = reader.head !== undefined;
      const end = reader.read(chunk, start);
      recording.request.append(chunk.subarray(start, end));
      start = end;
      if (!hadHead && reader.head !== undefined) {
        this.#unanswered.push(recording);
        const field = this.#mark(recording, reader.head);
        if (field !== undefined) {
          // Before the empty line.
          this.#toServer.write(Buffer.concat([chunk.subarray(forwarded, end - 2), field]));
          forwarded = end - 2;
        }
      }
      if (recording.hasRequest) {
        this.#incoming = undefined;
        if (recording.isAnswered) this.#finish(recording, "complete");
      }
    }
    this.#withholdsByte = this.#incoming?.requestReader.isBeforeLastByteOfHead ?? false;
    this.#toServer.write(chunk.subarray(forwarded, start - (this.#withholdsByte ? 1 : 0)));
    if (start === chunk.length) return;
    this.#pipelined.push(Buffer.from(chunk.subarray(start)));
    this.#pauseOrResume();
  }

  /** Reads what has waited for responses. */
  #readPipelined(): void {
    if (this.#pipelined.length === 0 || this.#unanswered.length > pipelinedMax / 2) return;
    const chunk = Buffer.concat(this.#pipelined);
    this.#pipelined = [];
    this.readClient(chunk);
    this.#pauseOrResume();
    if (this.#clientHasEnded) this.endOfClient();
  }

  #mark(recording: Recording, head: RequestHead): Buffer | undefined {
    const mark = this.#shared.options.mark(head);
    if (mark === undefined) return undefined;
    recording.mark = mark;
    return Buffer.from(mark.field, "latin1");
  }

  drainClient(): void {
    this.#toClient.flush();
  }

  /** The client sends nothing more; it may still read. */
  endOfClient(): void {
    this.#clientHasEnded = true;
    if (this.#pipelined.length > 0 && !this.#serverHasEnded && !this.#isDelivering) return;
    if (this.#withholdsByte) this.#toServer.write(carriageReturn);
    this.#withholdsByte = false;
    // As the server does: a client that ends its side before its response is one that has gone.
    if (this.#serverHasEnded || this.#isDelivering) this.close();
    else this.#toServer.end(() => this.#server?.shutdown());
  }

  /** The client has closed or reset the connection. */
  closeOfClient(): void {
    if (this.#isClosed) return;
    this.#clientHasEnded = true;
    this.#finishAll();
    this.close();
  }

  readServer(chunk: Buffer): void {
    if (this.#isDelivering) {
      this.#afterDelivery.push(Buffer.from(chunk));
      return;
    }
    let start = 0;
    let forwarded = 0;
    while (start < chunk.length) {
      const recording = this.#awaited();
      recording.responseReader ??= new ResponseReader(recording.requestReader.head?.method ?? "");
      const reader = recording.responseReader;
      if (recording.held === undefined && recording.mark?.effects !== undefined && reader.isUnread)
        recording.held = [];
      const end = reader.read(chunk, start);
      const piece = chunk.subarray(start, end);
      start = end;
      if (recording.held === undefined) recording.response.append(piece);
      else {
        this.#toClient.write(chunk.subarray(forwarded, end - piece.length));
        forwarded = end;
        recording.held.push(Buffer.from(piece));
      }
      if (reader.position !== "complete") continue;
      recording.responseReader = undefined;
      if (reader.isInterim) this.#forwardHeld(recording);
      else if (recording.held === undefined) this.#answered(recording);
      else {
        this.#deliver(recording, chunk.subarray(end));
        return;
      }
    }
    this.#toClient.write(chunk.subarray(forwarded));
    this.#readPipelined();
  }

  /** The recording that the next byte of the server belongs to. */
  #awaited(): Recording {
    const [first] = this.#unanswered;
    if (first !== undefined) return first;
    // The server answers before the head is complete, or without a request.
    this.#incoming ??= new Recording(this.#shared.inFlight);
    return this.#incoming;
  }

  #forwardHeld(recording: Recording): void {
    for (const piece of recording.held ?? []) {
      recording.response.append(piece);
      this.#toClient.write(piece);
    }
    recording.held = undefined;
  }

  #answered(recording: Recording): void {
    recording.isAnswered = true;
    if (this.#unanswered[0] === recording) this.#unanswered.shift();
    if (recording.hasRequest) this.#finish(recording, "complete");
  }

  /** Sends a response that has effects. The connection is not read meanwhile, and continues with the rest of a chunk. */
  #deliver(recording: Recording, rest: Buffer): void {
    const bytes = Buffer.concat(recording.held ?? []);
    recording.held = undefined;
    const { delayMs = 0, isDropped = false, body, bytesPerSecond } = recording.mark?.effects ?? {};
    this.#isDelivering = true;
    if (rest.length > 0) this.#afterDelivery.push(Buffer.from(rest));
    this.#pauseOrResume();
    this.#after(delayMs, () => {
      if (isDropped) {
        this.#finish(recording, "dropped");
        this.close();
        return;
      }
      const changed = body === undefined ? undefined : changeBody(bytes, body);
      this.#send(recording, changed ?? bytes, bytesPerSecond, () => {
        if (changed === undefined) this.#answered(recording);
        else this.#finish(recording, body === "truncated" ? "truncated" : "complete");
        return changed !== undefined;
      });
    });
  }

  /** @param finish called before the last bytes are sent, so that a client that has them finds the request in the log; returns whether the connection is closed. */
  #send(
    recording: Recording,
    bytes: Buffer,
    bytesPerSecond: number | undefined,
    finish: () => boolean,
  ): void {
    const startedAt = performance.now();
    let sent = 0;
    const sendMore = () => {
      const due = ((performance.now() - startedAt) / 1_000) * (bytesPerSecond ?? Number.POSITIVE_INFINITY);
      const end = Math.min(bytes.length, Math.max(sent, Math.floor(due)));
      const piece = bytes.subarray(sent, bytesPerSecond === undefined ? bytes.length : end);
      sent += piece.length;
      recording.response.append(piece);
      const isLast = sent === bytes.length;
      const shouldClose = isLast && finish();
      this.#toClient.write(piece);
      if (!isLast) this.#after(Math.max(slowStepMsMin, 1_000 / (bytesPerSecond ?? 1)), sendMore);
      else if (shouldClose) this.#toClient.end(() => this.close());
      else this.#continue();
    };
    sendMore();
  }

  /** Continues to read the server after a response that had effects. */
  #continue(): void {
    this.#isDelivering = false;
    for (let next = this.#afterDelivery.shift(); next !== undefined; next = this.#afterDelivery.shift()) {
      this.readServer(next);
      if (this.#isDelivering) return;
    }
    this.#pauseOrResume();
    if (this.#serverHasEnded) this.#endClient();
    else this.#readPipelined();
  }

  #after(ms: number, callback: () => void): void {
    if (ms > 0) this.#timer = setTimeout(callback, ms).unref();
    else callback();
  }

  #endOfServer(): void {
    if (this.#serverHasEnded || this.#isClosed) return;
    this.#serverHasEnded = true;
    if (!this.#isDelivering) this.#endClient();
  }

  /** Ends the client's connection after what the server has sent. */
  #endClient(): void {
    this.#finishAll();
    this.#timer = setTimeout(() => this.close(), unreadMsMax).unref();
    this.#toClient.end(() => {
      clearTimeout(this.#timer);
      if (this.#clientHasEnded) return this.close();
      // A close with unread bytes of the client would reset the connection, and the client might lose the response.
      this.#client.shutdown();
      this.#timer = setTimeout(() => this.close(), lingerMsMax).unref();
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#finishAll();
    this.#shared.connections.delete(this);
    if (this.#shared.connections.size === 0) this.#shared.onClosed();
    this.#client.end();
    if (this.#clientHasEnded && this.#serverHasEnded) this.#server?.end();
    else this.#server?.terminate();
  }

  #finishAll(): void {
    const all = new Set(this.#unanswered);
    if (this.#incoming !== undefined) all.add(this.#incoming);
    for (const recording of all) this.#finish(recording, this.#endingOf(recording));
  }

  #endingOf({ requestReader, responseReader, response, isAnswered }: Recording): Ending {
    if (requestReader.head === undefined && (requestReader.position === "opaque" || response.length > 0))
      return "notHttp";
    if (isAnswered || (this.#serverHasEnded && responseReader?.endsWithConnection === true))
      return "complete";
    if (this.#clientHasEnded) return "clientAborted";
    return response.length > 0 ? "truncated" : "dropped";
  }

  /** Adds a request to the log. */
  #finish(recording: Recording, ended: Ending): void {
    if (recording.isFinished) return;
    recording.isFinished = true;
    if (this.#incoming === recording) this.#incoming = undefined;
    const index = this.#unanswered.indexOf(recording);
    if (index !== -1) this.#unanswered.splice(index, 1);
    recording.mark?.forget();
    this.#shared.options.log.add({
      connection: this.#number,
      startedAt: recording.startedAt,
      durationMs: recording.durationMs,
      request: recording.request.finish(),
      response: recording.response.finish(),
      forced: recording.mark?.forced,
      ended,
    });
  }
}

const carriageReturn = Buffer.from("\r");

/** The interval of pieces that are sent slowly. */
const slowStepMsMin = 10;

/**
 * A response whose body ends in its middle, or whose Content-Length is one less than its body has; undefined if it has no
 * body of which that could be said.
 */
function changeBody(response: Buffer, change: "truncated" | "wrongLength"): Buffer | undefined {
  const bodyStart = response.indexOf("\r\n\r\n") + 4;
  const bodyLength = response.length - bodyStart;
  if (bodyLength === 0) return undefined;
  if (change === "truncated") return response.subarray(0, bodyStart + Math.floor(bodyLength / 2));
  const head = response.toString("latin1", 0, bodyStart);
  const changed = head.replace(/(?<=\r\nContent-Length: )\d+/i, String(bodyLength - 1));
  return changed === head
    ? undefined
    : Buffer.concat([Buffer.from(changed, "latin1"), response.subarray(bodyStart)]);
}
