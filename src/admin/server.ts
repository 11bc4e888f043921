// The admin listener: whether the process lives, and whether its store can commit now.

export interface AdminOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Rejects with the reason if the store could not commit now. */
  readonly assertReady: () => Promise<void>;
}

/** An admin listener that answers. */
export interface AdminServer {
  readonly url: string;
  /** Closes it at once. */
  stop(): Promise<void>;
}

/** Opens the admin listener. Throws what Bun.serve throws if the address cannot be taken. */
export function startAdminServer({ host, port, assertReady }: AdminOptions): AdminServer {
  const listener = Bun.serve({
    hostname: host,
    port,
    routes: {
      "/livez": { GET: () => report(200, "live") },
      "/readyz": {
        GET: () =>
          assertReady().then(
            () => report(200, "ready"),
            (reason) => report(503, `not ready: ${reason instanceof Error ? reason.message : reason}`),
          ),
      },
    },
    fetch: () => report(404, "there is GET /livez and GET /readyz"),
  });
  return { url: listener.url.origin, stop: () => listener.stop(true) };
}

function report(status: number, text: string): Response {
  const headers = { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" };
  return new Response(`${text}\n`, { status, headers });
}
