// TCP connections that send and receive raw bytes, and the responses in them.

import type { Target } from "./http.ts";

export class RawConnection {
  /** Resolves with all that has arrived, once the other side has closed or reset the connection. */
  readonly closed: Promise<string>;
  readonly #socket: Bun.Socket<RawConnection>;
  readonly #settle: (received: string) => void;
  readonly #received: Buffer[] = [];
  #unsent: Buffer = Buffer.alloc(0);
  #endsWhenSent = false;
  #isClosed = false;
  #news = Promise.withResolvers<void>();

  private constructor(socket: Bun.Socket<RawConnection>) {
    this.#socket = socket;
    const closed = Promise.withResolvers<string>();
    this.closed = closed.promise;
    this.#settle = closed.resolve;
  }

  /** Connects to the host and port of an address; over TLS with the certificate of an https one. */
  static async open(url: string, ca?: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    // Nothing comes before a request is sent, so the handlers find their connection.
    const socket = await Bun.connect<RawConnection>({
      hostname,
      port: Number(port),
      allowHalfOpen: true,
      ...(ca === undefined ? {} : { tls: { ca } }),
      socket: {
        data: ({ data }, chunk) => data.#take(chunk),
        drain: ({ data }) => data.#flush(),
        end: (socket) => void socket.end(),
        close: ({ data }) => data.#ended(),
        error: ({ data }) => data.#ended(),
      },
    });
    socket.data = new RawConnection(socket);
    return socket.data;
  }

  /** The bytes so far, one character each. */
  get received(): string {
    return Buffer.concat(this.#received).toString("latin1");
  }

  /** Sends text, a byte a character, or bytes, in parts if the system takes no more at once. */
  write(bytes: string | Uint8Array): void {
    const more =
      typeof bytes === "string"
        ? Buffer.from(bytes, "latin1")
        : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#unsent = this.#unsent.length === 0 ? more : Buffer.concat([this.#unsent, more]);
    this.#flush();
  }

  /** Sends nothing more after what was written: the other side reads the end of the stream. */
  end(): void {
    this.#endsWhenSent = true;
    this.#flush();
  }

  /** Stops reading, so that the responses stay with the other side. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads on after a pause. */
  resume(): void {
    this.#socket.resume();
  }

  /** Breaks the connection off. */
  terminate(): void {
    this.#socket.terminate();
  }

  /** The first result of `find` that is not undefined; undefined if the bytes end before that. */
  async until<T>(find: (received: string) => T | undefined): Promise<T | undefined> {
    for (;;) {
      const found = find(this.received);
      if (found !== undefined || this.#isClosed) return found;
      await this.#news.promise;
    }
  }

  #flush(): void {
    if (this.#unsent.length > 0) {
      const sent = this.#socket.write(this.#unsent);
      if (sent > 0) this.#unsent = this.#unsent.subarray(sent);
    }
    if (this.#unsent.length === 0 && this.#endsWhenSent) this.#socket.shutdown();
  }

  #take(chunk: Buffer): void {
    this.#received.push(Buffer.from(chunk));
    this.#tellNews();
  }

  #ended(): void {
    this.#isClosed = true;
    this.#settle(this.received);
    this.#tellNews();
  }

  #tellNews(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }
}

/** Sends bytes, and returns the response up to the close, which the bytes must ask for. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const connection = await RawConnection.open(url);
  connection.write(bytes);
  return connection.closed;
}

/**
 * Sends bytes until there is a complete response, and returns all that arrived up to the close.
 * Ends its side after the response, so that a server that reads the rest of a request does not wait
 * for it.
 */
export async function exchangeRaw(url: string, bytes: string, ca?: string): Promise<string> {
  const connection = await RawConnection.open(url, ca);
  connection.write(bytes);
  await connection.until((received) => (rawAnswers(received).answers.length > 0 ? true : undefined));
  connection.end();
  return connection.closed;
}

/** A create's request line and headers, with the framing that is given. */
export function createHead({ token }: Pick<Target, "token">, framing: string): string {
  return (
    `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\n${framing}\r\n\r\n`
  );
}

/** A create of whose body only the beginning is sent. */
export async function stuckCreate(
  target: Target,
  framing: string,
  beginning: string,
): Promise<RawConnection> {
  const connection = await RawConnection.open(target.url);
  connection.write(createHead(target, framing) + beginning);
  return connection;
}

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** A character a byte. */
  readonly body: string;
}

export interface RawAnswers {
  /** Complete responses in their order, without interim ones (RFC 9110, section 15.2). */
  readonly answers: readonly RawAnswer[];
  /** The bytes after them: an incomplete response, invalid bytes, or nothing. */
  readonly rest: string;
}

/** Parses the responses of a server that was not asked for HEAD. */
export function rawAnswers(received: string): RawAnswers {
  const answers: RawAnswer[] = [];
  for (let rest = received; ; ) {
    const [head] = /^HTTP\/1\.[01] \d{3}.*?\r\n\r\n/s.exec(rest) ?? [];
    if (head === undefined) return { answers, rest };
    const status = Number(head.slice(9, 12));
    const headers = new Map(
      head
        .trimEnd()
        .split("\r\n")
        .slice(1)
        .map((line) => [line.replace(/:.*/, "").toLowerCase(), line.replace(/^[^:]*: */, "")] as const),
    );
    const after = rest.slice(head.length);
    const read = bodyOf(status, headers, after);
    if (read === undefined) return { answers, rest };
    if (status >= 200) answers.push({ status, headers, body: read.body });
    rest = after.slice(read.bytes);
  }
}

/** The body of a response, and the bytes that it takes; undefined if it is incomplete. */
function bodyOf(status: number, headers: RawAnswer["headers"], text: string) {
  if (status < 200 || status === 204 || status === 304) return { body: "", bytes: 0 };
  if (headers.has("transfer-encoding")) {
    let body = "";
    for (let at = 0; ; ) {
      const [line, size = ""] = /^([\da-f]+)\r\n/i.exec(text.slice(at, at + 16)) ?? [];
      if (line === undefined) return undefined;
      const start = at + line.length;
      at = start + Number.parseInt(size, 16) + 2;
      if (text.slice(at - 2, at) !== "\r\n") return undefined;
      if (at === start + 2) return { body, bytes: at };
      body += text.slice(start, at - 2);
    }
  }
  const bytes = Number(headers.get("content-length") ?? text.length);
  return bytes <= text.length ? { body: text.slice(0, bytes), bytes } : undefined;
}
