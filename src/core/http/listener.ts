// The public listener: HTTP, or HTTPS with a certificate.

import type { ConnectionLimit } from "./connection-limit.ts";
import type { Handler, RequestContext } from "./handler.ts";
import type { Operation } from "./operation.ts";
import { hasFixedPath, type Route } from "./router.ts";

export interface Certificate {
  /** In PEM, followed by the certificates of intermediate authorities. */
  readonly cert: string;
  /** In PEM, without a passphrase. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface ListenerOptions {
  readonly operations: readonly Operation[];
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  /** Undefined for HTTP. */
  readonly certificate: Certificate | undefined;
  /** A connection without traffic is closed after this time. */
  readonly idleSecondsMax: number;
  readonly connectionLimit: ConnectionLimit;
  /** Responds to a request whose handler has failed with an exception. */
  readonly onException: (error: unknown) => Response;
}

/**
 * The cipher suites of TLS 1.2: with forward secrecy and authenticated encryption, so without
 * static RSA and CBC (RFC 9325, section 4.2). Those of TLS 1.3 all are.
 */
const tls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

export class PublicListener {
  readonly #handle: Handler;
  readonly #options: ListenerOptions;
  readonly #server: Bun.Server<undefined>;
  #isStopping = false;

  /** Opens the listener. Throws the error of Bun.serve if the address cannot be bound. */
  constructor(handle: Handler, options: ListenerOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#server = this.#serve();
  }

  /** Such as http://127.0.0.1:8080. */
  get origin(): string {
    return this.#server.url.origin;
  }

  /** Closes the connections that wait for their next request. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  /** Stops accepting connections; resolves after the last response, or after `drainMsMax`. */
  async stop(drainMsMax: number): Promise<void> {
    this.#isStopping = true;
    const deadline = setTimeout(() => void this.#server.stop(true), drainMsMax);
    await this.#server.stop();
    clearTimeout(deadline);
  }

  #serve(): Bun.Server<undefined> {
    const handle = this.#handle;
    const { host, port, certificate, idleSecondsMax, connectionLimit, onException } = this.#options;
    const contextOf = (route: Route | undefined): RequestContext => ({
      get origin() {
        return server.url.origin;
      },
      route,
      shouldClose: () => this.#isStopping || connectionLimit.isExceeded,
    });
    const server: Bun.Server<undefined> = Bun.serve({
      hostname: host,
      port,
      // In development mode Bun sends the stack of an exception to the client.
      development: false,
      // Outside of it Bun would share the port with any other process that does the same.
      reusePort: false,
      idleTimeout: idleSecondsMax,
      // Bun rejects a body over its own limit with a bare 413; the body reader's has an Error body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      routes: this.#fixedRoutes(contextOf),
      fetch: (request) => handle(request, unrouted),
      error: onException,
      ...(certificate === undefined
        ? {}
        : { tls: { cert: certificate.cert, key: certificate.key, ciphers: tls12Ciphers } }),
    });
    const unrouted = contextOf(undefined);
    return server;
  }

  /**
   * The operations whose paths have no parameters, routed by the listener. GET also serves HEAD, so
   * the handler routes it.
   */
  #fixedRoutes(contextOf: (route: Route) => RequestContext) {
    const handle = this.#handle;
    const { operations, basePath } = this.#options;
    const routes: Record<
      string,
      Partial<Record<Operation["method"], (request: Request) => Promise<Response>>>
    > = {};
    for (const operation of operations) {
      const { method } = operation;
      if (!hasFixedPath(operation) || method === "GET") continue;
      const path = basePath + operation.path;
      const context = contextOf({ method, path, operation, segments: {} });
      routes[path] = { ...routes[path], [method]: (request: Request) => handle(request, context) };
    }
    return routes;
  }
}
