// Connects to the server under test: raw bytes over TCP or TLS, with a time limit for every wait.

import { once } from "node:events";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type HttpResponse, parseResponse, type ResponseProblem } from "./response-parser.ts";

/** The address of a server under test. */
export interface Address {
  /** The base URL: http or https, without a query and without a slash at its end. */
  readonly url: URL;
  /** Certificates in PEM to trust instead of the system's. */
  readonly ca: string | undefined;
}

export interface ConnectionLimits {
  /** Time to connect, and for each response from its request to its end, in milliseconds. */
  readonly timeoutMs: number;
  /** A longer body of a response is a problem. */
  readonly responseBytesMax: number;
}

export class Connection {
  readonly #socket: Socket;
  readonly #limits: ConnectionLimits;
  #received = Buffer.alloc(0);
  /** The index after the last response that was read. */
  #at = 0;
  readonly #sent: Uint8Array[] = [];
  /** The last response that was read. */
  response: HttpResponse | undefined;
  /** Whether nothing was sent that an HTTP parser may reject. */
  isRegular = true;
  #isEnded = false;
  #problem: string | undefined;
  /** Ends the present wait, if there is one. */
  #wake: () => void = () => undefined;

  private constructor(socket: Socket, limits: ConnectionLimits) {
    this.#socket = socket;
    this.#limits = limits;
    socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on("end", () => this.#end());
    socket.on("error", (error) => {
      this.#problem = error.message;
      this.#end();
    });
    socket.on("close", () => this.#end());
  }

  /** Connects. The problem, if there is one, contains the system's reason. */
  static async open({ url, ca }: Address, limits: ConnectionLimits): Promise<Connection | ResponseProblem> {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const isTls = url.protocol === "https:";
    const port = Number(url.port === "" ? (isTls ? 443 : 80) : url.port);
    const socket = isTls
      ? connectTls({
          host,
          port,
          ALPNProtocols: ["http/1.1"],
          ...(isIP(host) === 0 ? { servername: host } : {}),
          ...(ca === undefined ? {} : { ca }),
        })
      : connectTcp({ host, port });
    socket.setNoDelay(true);
    const signal = AbortSignal.timeout(limits.timeoutMs);
    try {
      await once(socket, isTls ? "secureConnect" : "connect", { signal });
      return new Connection(socket, limits);
    } catch (error) {
      socket.on("error", () => undefined).destroy();
      const reason = signal.aborted ? `no connection in ${limits.timeoutMs} ms` : describeConnectError(error);
      return { problem: `cannot connect to ${url.host}: ${reason}` };
    }
  }

  get sent(): Uint8Array {
    return Buffer.concat(this.#sent);
  }

  /** Whether bytes were received after the last response that was read. */
  get hasRest(): boolean {
    return this.#at < this.#received.length;
  }

  /** Sends bytes. If the server has closed the connection, its response shows that. */
  write(bytes: Uint8Array): void {
    this.#sent.push(bytes);
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  end(): void {
    this.#socket.end();
  }

  /** Whether the system takes what was written within the time limit, or the connection ends. */
  async flush(): Promise<boolean> {
    let isFlushed = !this.#socket.writable;
    if (!isFlushed)
      this.#socket.write("", () => {
        isFlushed = true;
        this.#wake();
      });
    return (await this.#until(() => isFlushed || this.#isEnded || undefined)) ?? false;
  }

  /** The next final response, or why there is none. */
  async nextResponse(method: string): Promise<HttpResponse | ResponseProblem> {
    const bodyBytesMax = this.#limits.responseBytesMax;
    const parsed = await this.#until(() =>
      parseResponse(this.#received.subarray(this.#at), { method, isEnded: this.#isEnded, bodyBytesMax }),
    );
    if (parsed === undefined) return { problem: this.#timeoutProblem() };
    if ("problem" in parsed)
      return this.#problem === undefined ? parsed : { problem: `${parsed.problem} (${this.#problem})` };
    this.#at += parsed.end;
    this.response = parsed.part;
    return parsed.part;
  }

  /** Whether any byte arrives within milliseconds, before the server closes the connection. */
  async receivesWithin(ms: number): Promise<boolean> {
    const before = this.#received.length;
    await this.#until(() => (this.#received.length > before || this.#isEnded ? true : undefined), ms);
    return this.#received.length > before;
  }

  /** Whether the server closes the connection within a time, in milliseconds. */
  async closesWithin(ms: number): Promise<boolean> {
    return (await this.#until(() => (this.#isEnded ? true : undefined), ms)) ?? false;
  }

  close(): void {
    this.#socket.destroy();
  }

  #timeoutProblem(): string {
    const { timeoutMs } = this.#limits;
    return this.hasRest
      ? `the response had not ended after ${timeoutMs} ms`
      : `no response in ${timeoutMs} ms`;
  }

  /** Waits until `find` returns a value; undefined after the time. */
  async #until<T>(find: () => T | undefined, ms = this.#limits.timeoutMs): Promise<T | undefined> {
    const deadline = performance.now() + ms;
    for (;;) {
      const found = find();
      const left = deadline - performance.now();
      if (found !== undefined || left <= 0) return found;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  #end(): void {
    this.#isEnded = true;
    this.#wake();
  }
}

/** The error of a host with several addresses has an empty message, and an error for each. */
function describeConnectError(error: unknown): string {
  const { message, code = "no connection" } = error as Error & { code?: string };
  return message === "" ? code : message;
}
