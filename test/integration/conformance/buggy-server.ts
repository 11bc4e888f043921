// A server with a known bug in front of the handler of a real service. It alters what the handler
// receives, or what it returns. Without a bug every rule holds.

/** A request or response; its characters are bytes. */
export interface Message {
  /** The first line. */
  start: string;
  headers: [name: string, value: string][];
  body: string;
  /** The address of the client. */
  readonly client?: string;
}

/** State that a bug may keep. */
interface BugState {
  readonly token: string;
  readonly seen: Map<string, string>;
  count: number;
}

export interface Bug {
  /** The rules that must not hold, by their ids. */
  readonly breaks: readonly string[];
  /** Alters a request in place, or answers it. */
  readonly request?: (
    request: Message,
    state: BugState,
    // biome-ignore lint/suspicious/noConfusingVoidType: most only alter the request.
  ) => Response | undefined | void | Promise<Response | undefined | void>;
  /** Alters a response in place. */
  readonly response?: (response: Message, request: Message, state: BugState) => void;
}

type Handle = (request: Request) => Promise<Response>;

export async function startBuggyServer(
  handle: Handle,
  token: string,
  bug: Bug,
): Promise<Disposable & { readonly url: string }> {
  const state: BugState = { token, seen: new Map(), count: 0 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(sent, server) {
      const { pathname, search } = new URL(sent.url);
      const body = Buffer.from(await sent.arrayBuffer()).toString("latin1");
      const client = `${server.requestIP(sent)?.port}`;
      const request = {
        start: `${sent.method} ${pathname}${search} HTTP/1.1`,
        headers: [...sent.headers],
        body,
        client,
      };
      const asSent = structuredClone(request);
      const instead = await bug.request?.(request, state);
      const response = await toMessage(instead ?? (await handle(toRequest(request))));
      bug.response?.(response, asSent, state);
      const [, status] = response.start.split(" ");
      const bytes = Buffer.from(response.body, "latin1");
      const headers = response.headers.filter(([name]) => name !== "content-length");
      return new Response(status === "204" ? null : bytes, { status: Number(status), headers });
    },
  });
  return { url: server.url.origin, [Symbol.dispose]: () => void server.stop(true) };
}

function toRequest({ start, headers, body }: Message): Request {
  const [method = "", target = ""] = start.split(" ");
  return new Request(new URL(target, "http://localhost").href, {
    method,
    headers: headers.filter(([name]) => name !== "content-length"),
    body: method === "GET" || method === "HEAD" ? null : Buffer.from(body, "latin1"),
  });
}

async function toMessage(response: Response): Promise<Message> {
  const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
  return { start: `HTTP/1.1 ${response.status} Status`, headers: [...response.headers], body };
}

/** The values of the fields with a name, given in lower case. */
export function headerValues({ headers }: Message, name: string): string[] {
  return headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
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

export function setText(message: Message, text: string): void {
  message.body = Buffer.from(text, "utf8").toString("latin1");
}
