// Takes the traces of a server, and forgets them.

export interface Collector extends AsyncDisposable {
  /** What --otlp-endpoint is to be. */
  readonly url: string;
}

export function startCollector(): Collector {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      await request.bytes();
      return Response.json({});
    },
  });
  return { url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
}
