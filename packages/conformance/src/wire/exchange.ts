// Sends a request to the server under test, and reads its response.

import { Agent as HttpAgent, type IncomingHttpHeaders, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

/** A request as a rule gives it: what differs from a create with a token and a body of JSON. */
export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** Replaces the default fields of the same names; null leaves a field out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string | Uint8Array;
}

export interface SentRequest {
  readonly method: string;
  /** The path below the origin of the server, with its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** Why there is no response. */
export interface ResponseProblem {
  readonly problem: string;
}

/** The address of a server under test. */
export interface Address {
  /** The base URL: http or https, without a query. */
  readonly url: URL;
  /** Certificates in PEM to trust instead of the system's. */
  readonly ca: string | undefined;
}

export interface ConnectionLimits {
  /** Time to connect, and to receive the response, in milliseconds. */
  readonly timeoutMs: number;
  /** A longer body of a response is a problem. */
  readonly responseBytesMax: number;
}

interface ExchangeOptions {
  /** A connection that several requests share; each has its own by default. */
  readonly agent?: HttpAgent | undefined;
  /** Called before the last byte of the body, with what sends it. */
  readonly hold?: ((sendLast: () => void) => void) | undefined;
}

/** The connection of requests that are sent one after the other, as far as the server keeps it open. */
export function sharedConnection({ url }: Address): HttpAgent {
  return new (url.protocol === "https:" ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
}

/** Never rejects because of what the server does. */
export function exchange(
  { method, target, headers, body }: SentRequest,
  { url, ca }: Address,
  { timeoutMs, responseBytesMax }: ConnectionLimits,
  { agent, hold }: ExchangeOptions = {},
): Promise<HttpResponse | ResponseProblem> {
  const isTls = url.protocol === "https:";
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve) => {
    let stage: "connect" | "wait" | "read" = "connect";
    const fail = ({ message, code }: NodeJS.ErrnoException) => {
      const late = { connect: "no connection", wait: "no response", read: "no end of the response" }[stage];
      const reason = signal.aborted ? `${late} in ${timeoutMs} ms` : message || code;
      const isClosed = code === "ECONNRESET" && !signal.aborted;
      if (stage === "connect") resolve({ problem: `cannot connect to ${url.host}: ${reason}` });
      else if (isClosed)
        resolve({
          problem: `the connection was closed ${stage === "wait" ? "without" : "within"} a response`,
        });
      else resolve({ problem: String(reason) });
    };
    const send = isTls ? requestHttps : requestHttp;
    const options = { method, path: target, headers, agent: agent ?? false, signal, ...(ca && { ca }) };
    const request = send(url, options, (response) => {
      stage = "read";
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > responseBytesMax)
          request.destroy(new Error(`the response has more than ${responseBytesMax} bytes`));
        chunks.push(chunk);
      });
      response.on("error", fail);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on("socket", (socket) => {
      if (!socket.connecting) stage = "wait";
      socket.once(isTls ? "secureConnect" : "connect", () => {
        stage = "wait";
      });
    });
    request.on("error", fail);
    if (hold === undefined) request.end(body);
    else {
      request.setHeader("Content-Length", body.length);
      request.write(body.subarray(0, -1), () => hold(() => request.end(body.subarray(-1))));
    }
  });
}
