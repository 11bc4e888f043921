// The public listener: HTTP, or HTTPS with a certificate that is reloaded without a restart.

import type { Certificate } from "./certificate.ts";
import type { ConnectionLimit } from "./connection-limit.ts";
import type { Connection, Handler } from "./handler.ts";
import type { Operation } from "./operation.ts";
import { hasFixedPath, type Route } from "./router.ts";

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
  #current: Bun.Server<undefined>;
  /** The servers with earlier certificates, until their last response. */
  readonly #retiring = new Map<Bun.Server<undefined>, Promise<void>>();
  #isStopping = false;

  /** Opens the listener. Throws the error of Bun.serve if the address cannot be bound. */
  constructor(handle: Handler, options: ListenerOptions) {
    this.#handle = handle;
    this.#options = options;
    if (options.certificate !== undefined) assertPortIsFree(options);
    this.#current = this.#serve(options.port, options.certificate);
  }

  /** Such as http://127.0.0.1:8080. */
  get origin(): string {
    return this.#current.url.origin;
  }

  /**
   * New connections get the new certificate; old ones still get their responses. Bun cannot change
   * the certificate of a server, so a second one opens on the same port, and the first one stops.
   */
  reloadCertificate(certificate: Certificate): void {
    const former = this.#current;
    this.#current = this.#serve(former.port ?? this.#options.port, certificate);
    const retired = former.stop().finally(() => this.#retiring.delete(former));
    this.#retiring.set(former, retired);
  }

  /** Closes the connections that wait for their next request. */
  closeIdle(): void {
    this.#current.closeIdleConnections();
  }

  /** Stops accepting connections; resolves after the last response, or after `drainMsMax`. */
  async stop(drainMsMax: number): Promise<void> {
    this.#isStopping = true;
    const servers = [this.#current, ...this.#retiring.keys()];
    const deadline = setTimeout(() => {
      for (const server of servers) void server.stop(true);
    }, drainMsMax);
    await Promise.all([this.#current.stop(), ...this.#retiring.values()]);
    clearTimeout(deadline);
  }

  #serve(port: number, certificate: Certificate | undefined): Bun.Server<undefined> {
    const handle = this.#handle;
    const { host, idleSecondsMax, connectionLimit, onException } = this.#options;
    const connectionOf = (route: Route | undefined): Connection => ({
      get origin() {
        return server.url.origin;
      },
      route,
      shouldClose: () => this.#isStopping || server !== this.#current || connectionLimit.isExceeded,
    });
    const server: Bun.Server<undefined> = Bun.serve({
      hostname: host,
      port,
      // In development mode Bun sends the stack of an exception to the client.
      development: false,
      // Outside of it Bun would share the port with any other process that does the same.
      reusePort: certificate !== undefined,
      idleTimeout: idleSecondsMax,
      // Bun rejects a body over its own limit with a bare 413; the body reader's has an Error body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      routes: this.#fixedRoutes(connectionOf),
      fetch: (request) => handle(request, unrouted),
      error: onException,
      ...(certificate === undefined
        ? {}
        : { tls: { cert: certificate.cert, key: certificate.key, ciphers: tls12Ciphers } }),
    });
    const unrouted = connectionOf(undefined);
    return server;
  }

  /**
   * The operations whose paths have no parameters, routed by the listener. GET also serves HEAD, so
   * the handler routes it.
   */
  #fixedRoutes(connectionOf: (route: Route) => Connection) {
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
      const connection = connectionOf({ method, path, operation, segments: {} });
      routes[path] = { ...routes[path], [method]: (request: Request) => handle(request, connection) };
    }
    return routes;
  }
}

/** A port that is opened for sharing would be shared with any other process that does the same. */
function assertPortIsFree({ host, port }: ListenerOptions): void {
  if (port !== 0) void Bun.serve({ hostname: host, port, fetch: () => new Response() }).stop(true);
}
