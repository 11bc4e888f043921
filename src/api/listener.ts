// A listener of HTTP, or of HTTPS with a certificate that can be exchanged.

import type { Certificate } from "./certificate.ts";

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** HTTPS, if there is one. */
  readonly certificate: Certificate | undefined;
  /** A connection is closed when nothing was sent on it for so long. */
  readonly idleSecondsMax: number;
  /** @param isLast whether the connection is closed after the answer, which must say so. */
  readonly handle: (request: Request, isLast: () => boolean) => Promise<Response>;
}

export class Listener {
  readonly #options: ListenerOptions;
  #current: Bun.Server<undefined>;
  /** Those of former certificates, until their last request is answered. */
  readonly #retiring = new Map<Bun.Server<undefined>, Promise<void>>();
  #isStopping = false;

  /** Throws what Bun.serve throws if the address cannot be taken. */
  constructor(options: ListenerOptions) {
    this.#options = options;
    if (options.certificate !== undefined) assertFree(options);
    this.#current = this.#open(options.port, options.certificate);
  }

  /** Such as https://plants.example:8443, without a path. */
  get origin(): string {
    return this.#current.url.origin;
  }

  /** The host and port of the address. */
  get address(): string {
    return this.#current.url.host;
  }

  get port(): number {
    return this.#current.port ?? this.#options.port;
  }

  /**
   * New connections get a new certificate, and requests on the old ones are answered. Bun has no way to exchange it:
   * a second listener is opened on the same port, and the first one closed.
   */
  exchange(certificate: Certificate): void {
    const former = this.#current;
    this.#current = this.#open(former.port ?? this.#options.port, certificate);
    const retired = former.stop().finally(() => this.#retiring.delete(former));
    this.#retiring.set(former, retired);
  }

  /** Closes the connections that have had an answer and wait for a next request. */
  closeIdleConnections(): void {
    this.#current.closeIdleConnections();
  }

  /** Accepts no new connection, and resolves when what was accepted is answered or the time is over. */
  async stop(drainMsMax: number): Promise<void> {
    this.#isStopping = true;
    const servers = [this.#current, ...this.#retiring.keys()];
    const deadline = setTimeout(() => {
      for (const server of servers) void server.stop(true);
    }, drainMsMax);
    await Promise.all([this.#current.stop(), ...this.#retiring.values()]);
    clearTimeout(deadline);
  }

  #open(port: number, certificate: Certificate | undefined): Bun.Server<undefined> {
    const { host, idleSecondsMax, handle } = this.#options;
    const isLast = () => this.#isStopping || server !== this.#current;
    const server = Bun.serve({
      hostname: host,
      port,
      idleTimeout: idleSecondsMax,
      // Bun refuses what is over its own limit with a bare 413: keep it out of the way of ours, which explains itself.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) => handle(request, isLast),
      ...(certificate === undefined
        ? {}
        : { reusePort: true, tls: { cert: certificate.cert, key: certificate.key } }),
    });
    return server;
  }
}

/** A port that is opened for sharing would be shared with any other process that does the same. */
function assertFree({ host, port }: ListenerOptions): void {
  if (port !== 0) void Bun.serve({ hostname: host, port, fetch: () => new Response() }).stop(true);
}
