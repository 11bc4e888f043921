// A server with a known bug: HTTP of its own in front of the handler of a real service. It alters
// what the handler receives, what it returns, or how connections are handled. Without a bug every
// rule holds.

import { type AddressInfo, createServer, type Socket } from "node:net";

/** A request or response; its characters are bytes. */
export interface Message {
  /** The first line. */
  start: string;
  headers: [name: string, value: string][];
  /** Without the framing of its chunks. */
  body: string;
}

/** State that a bug may keep. */
interface BugState {
  readonly token: string;
  readonly seen: Map<string, string>;
  count: number;
}

/** State that a bug may keep for a connection. */
interface ConnectionState {
  isAccepted: boolean;
}

/** A response instead of that of the service; or no response at all. */
type Instead = Response | "hang";

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
  /** Answers what has not arrived completely when the client sends no more. */
  readonly readsIncomplete?: boolean;
  /** Closes every connection after so many responses, and does not say so. */
  readonly closesSilentlyAfter?: number;
  readonly connectionsMax?: number;
  /** Reads the body before it sends 100 Continue. */
  readonly ignoresExpect?: (value: string) => boolean;
}

type Handle = (request: Request) => Promise<Response>;

export async function startBuggyServer(
  handle: Handle,
  token: string,
  bug: Bug,
): Promise<Disposable & { readonly url: string }> {
  const { connectionsMax = Number.POSITIVE_INFINITY, closesSilentlyAfter } = bug;
  const state: BugState = { token, seen: new Map(), count: 0 };
  const sockets = new Set<Socket>();

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    if (sockets.size >= connectionsMax) return void socket.destroy();
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    let received = Buffer.alloc(0);
    let isBusy = false;
    let isEnded = false;
    let responses = 0;
    const connection = { isAccepted: false };

    const next = async () => {
      if (isBusy || !socket.writable) return;
      const request = takeRequest(received, isEnded, bug);
      if (request === "malformed") return void socket.end(serialize(await toMessage(badRequest())), "latin1");
      if (request === "continue") return void socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      if (request === undefined) return isEnded ? void socket.end() : undefined;
      isBusy = true;
      received = received.subarray(request.end);
      const isLast = await exchange(request.message, socket, connection);
      isBusy = false;
      if (isLast || ++responses === closesSilentlyAfter) socket.end();
      void next();
    };
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      void next();
    });
    socket.on("end", () => {
      isEnded = true;
      void next();
    });
  });

  /** Responds to a request. Returns whether the connection must be closed. */
  async function exchange(request: Message, socket: Socket, connection: ConnectionState): Promise<boolean> {
    const asSent = structuredClone(request);
    if (bug.lost !== undefined && (await endsSoon(socket))) bug.lost(request, state);
    const instead = await bug.request?.(request, state, connection);
    if (instead === "hang") return new Promise(() => undefined);
    const isValid = isWellFramed(request);
    const response = await toMessage(instead ?? (isValid ? await handle(toRequest(request)) : badRequest()));
    if (request.start.startsWith("HEAD ")) response.body = "";
    bug.response?.(response, asSent, state, connection);
    socket.write(serialize(response), "latin1");
    const [option] = headerValues(request, "connection");
    return !isValid || option === "close" || (option === undefined && request.start.endsWith("/1.0"));
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const badRequest = () => new Response(null, { status: 400 });

function toRequest({ start, headers, body }: Message): Request {
  // Bun makes an unknown method GET, which is 405 as well.
  const [method = "", target = ""] = start.split(" ");
  return new Request(new URL(target, "http://localhost").href, {
    method,
    headers: headers.filter(([name]) => !/^(?:content-length|transfer-encoding)$/i.test(name)),
    body: method === "GET" || method === "HEAD" ? null : Buffer.from(body, "latin1"),
  });
}

async function toMessage(response: Response): Promise<Message> {
  const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
  const length = String(body.length);
  const date = new Date().toUTCString();
  return {
    start: `HTTP/1.1 ${response.status} Status`,
    headers: [...response.headers, ["Content-Length", length], ["Date", date]],
    body,
  };
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

/** Checks a complete head as every server must (RFC 9112, sections 3.2, 5.1 and 6.3). */
function isWellFramed(request: Message): boolean {
  const { start, headers } = request;
  const lengths = headerValues(request, "content-length");
  const codings = headerValues(request, "transfer-encoding");
  return (
    /^[A-Z]+ \S+ HTTP\/1\.[01]$/.test(start) &&
    headers.every(([name]) => !/\s/.test(name)) &&
    headerValues(request, "host").length === 1 &&
    lengths.length + codings.length < 2
  );
}

/** The first request of some bytes, and its end; undefined while it is incomplete. */
function takeRequest(
  bytes: Buffer,
  isEnded: boolean,
  { readsIncomplete = false, ignoresExpect = () => false }: Bug,
): { readonly message: Message; readonly end: number } | "continue" | "malformed" | undefined {
  const isTaken = bytes.length > 0 && readsIncomplete && isEnded;
  // Empty lines may precede a request (RFC 9112, section 2.2).
  const [head] = /^(?:\r\n)*.*?\r\n\r\n/s.exec(bytes.toString("latin1")) ?? [];
  const headEnd = head?.length ?? (isTaken ? bytes.length : undefined);
  if (headEnd === undefined) return undefined;
  const message = parseHead(bytes.toString("latin1", 0, headEnd));
  const isChunked = headerValues(message, "transfer-encoding").length > 0;
  const length = Number(headerValues(message, "content-length").at(-1) ?? 0);
  const start = bytes.toString("latin1", headEnd, headEnd + 1);
  if (isChunked ? /[^\da-f]/i.test(start) : !(length >= 0)) return "malformed";
  const rest = bytes.toString("latin1", headEnd);
  const whole = { content: rest.slice(0, length), length, isComplete: length <= rest.length };
  const body = isChunked ? readChunks(rest) : whole;
  const end = headEnd + body.length;
  if (isTaken || body.isComplete) {
    message.body = body.content;
    return { message, end };
  }
  const [expect = ""] = headerValues(message, "expect");
  const waits = expect !== "" && start === "" && !ignoresExpect(expect);
  return waits ? "continue" : undefined;
}

/** Reads a chunked body (RFC 9112, section 7.1) from the beginning of a text. */
function readChunks(text: string): {
  readonly content: string;
  readonly length: number;
  readonly isComplete: boolean;
} {
  const content: string[] = [];
  const line = /[^\n]*\n/y;
  for (let size = 1, isInTrailers = false; ; ) {
    const [found] = line.exec(text) ?? [];
    if (found === undefined) return { content: content.join(""), length: text.length, isComplete: false };
    if (isInTrailers && /^\r?\n$/.test(found))
      return { content: content.join(""), length: line.lastIndex, isComplete: true };
    if (isInTrailers) continue;
    size = Number.parseInt(found, 16);
    isInTrailers = size === 0;
    if (!(size > 0)) continue;
    content.push(text.slice(line.lastIndex, line.lastIndex + size));
    line.lastIndex += size + 2;
  }
}

function parseHead(head: string): Message {
  const [start = "", ...lines] = head.trimEnd().split("\r\n");
  return {
    start,
    headers: lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    }),
    body: "",
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
