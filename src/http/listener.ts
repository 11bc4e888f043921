// Opens the public listener: HTTP, or HTTPS with a certificate.

import type { Handler, RequestContext } from "./handler.ts";
import type { Operation } from "./operation.ts";
import { isFixedPath, type Route } from "./router.ts";

export interface Certificate {
  /** In PEM, followed by the certificates of intermediate authorities. */
  readonly cert: string;
  /** In PEM, without a passphrase. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The handlers that a listener passes requests to. */
export interface ListenerService {
  readonly handle: Handler;
  readonly operations: readonly Operation[];
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
}

/** The part of Bun's server that is used: the types of the package need none of Bun. */
export interface ListeningServer {
  readonly url: URL;
  closeIdleConnections(): void;
  stop(closesConnections?: boolean): Promise<void>;
}

export interface PublicListener {
  readonly server: ListeningServer;
  /** Passes every later request to another service. */
  exchange(service: ListenerService): void;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  /** Undefined for HTTP. */
  readonly certificate: Certificate | undefined;
  /** A connection without traffic is closed after this time. */
  readonly idleSecondsMax: number;
  /** Whether connections are closed after their next response. */
  readonly shouldClose: () => boolean;
  /** Responds to a request whose handler has failed with an exception. */
  readonly onException: (error: unknown) => Response;
}

/**
 * The cipher suites of TLS 1.2: with forward secrecy and authenticated encryption, so without
 * static RSA and CBC (RFC 9325, section 4.2). Those of TLS 1.3 all are.
 */
const tls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

/** Options of Bun.serve that both listeners have. */
export const serveOptions = {
  // In development mode Bun sends the stack of an exception to the client.
  development: false,
  // Outside of it Bun would share the port with any other process that does the same.
  reusePort: false,
  // Bodies are limited where they are read: Bun rejects one over its own limit with a bare 413.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
} as const;

/** The TLS options of Bun.serve: none without a certificate. */
export function tlsOptions(certificate: Certificate | undefined) {
  if (certificate === undefined) return {};
  return { tls: { cert: certificate.cert, key: certificate.key, ciphers: tls12Ciphers } };
}

/** Opens the public listener. Throws the error of Bun.serve if the address cannot be bound. */
export function startPublicListener(service: ListenerService, options: ListenerOptions): PublicListener {
  const { host, port, certificate, idleSecondsMax, shouldClose, onException } = options;
  const contextOf = (route: Route | undefined): RequestContext => ({
    get origin() {
      return server.url.origin;
    },
    route,
    shouldClose,
  });
  const unrouted = contextOf(undefined);
  const handlersOf = (served: ListenerService) => ({
    routes: fixedRoutes(served, contextOf),
    fetch: (request: Request) => served.handle(request, unrouted),
    error: onException,
  });
  const server: Bun.Server<undefined> = Bun.serve({
    ...serveOptions,
    hostname: host,
    port,
    idleTimeout: idleSecondsMax,
    ...handlersOf(service),
    ...tlsOptions(certificate),
  });
  return { server, exchange: (other) => void server.reload({ ...serveOptions, ...handlersOf(other) }) };
}

/** Stops accepting connections; resolves after the last response, or after `drainMsMax`. */
export async function stopListener(server: ListeningServer, drainMsMax: number): Promise<void> {
  const deadline = setTimeout(() => void server.stop(true), drainMsMax);
  await server.stop();
  clearTimeout(deadline);
}

type Routes = Record<string, Partial<Record<Operation["method"], (request: Request) => Promise<Response>>>>;

/** The methods that the listener routes: GET also serves HEAD, so the handler routes it. */
const routedMethods: readonly string[] = ["POST", "PUT", "PATCH", "DELETE"];

/** The operations whose paths have no parameters, routed by the listener. */
function fixedRoutes(
  { handle, operations, basePath }: ListenerService,
  contextOf: (route: Route) => RequestContext,
): Routes {
  const routes: Routes = {};
  for (const operation of operations) {
    const { method } = operation;
    const path = basePath + operation.path;
    if (!isFixedPath(path) || !routedMethods.includes(method)) continue;
    const context = contextOf({ method, path, operation, segments: {} });
    routes[path] = { [method]: (request: Request) => handle(request, context), ...routes[path] };
  }
  return routes;
}
