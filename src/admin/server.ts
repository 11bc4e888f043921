// The admin listener: whether the process lives, whether its store can commit now, its metrics, and the console.

import type { ConnectionShedder } from "../api/connection-shedder.ts";
import type { Metrics } from "../observability/metrics.ts";
import { addressOf } from "./address.ts";
import type { OperatorConsole } from "./console/operator-console.ts";
import { RequestPacer } from "./request-pacer.ts";
import { SharedRun } from "./shared-work.ts";

export interface AdminOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Rejects with the reason if the store could not commit now. */
  readonly assertReady: () => Promise<void>;
  readonly metrics: Metrics;
  /** Undefined where there is none. */
  readonly operatorConsole: OperatorConsole | undefined;
  /** Counts those of every listener. */
  readonly connections: ConnectionShedder;
  readonly observeShedding: (open: number) => void;
}

/** An admin listener that answers. */
export interface AdminServer {
  readonly url: string;
  /** Closes it at once. */
  stop(): Promise<void>;
}

/** A search without an index, or a create of a slow store, may take some seconds. */
const idleSecondsMax = 60;

/** Browsers of some operators, a scraper and probes. Its clients are few, so that past it the most silent ones are cut off. */
const connectionsMax = 256;

/** A plant that the console adds, with its body as a text within another. */
const requestBytesMax = 16 * 2 ** 20;

/** Opens the admin listener. Throws what Bun.serve throws if the address cannot be taken. */
export function startAdminServer({
  host,
  port,
  assertReady,
  metrics,
  operatorConsole,
  connections,
  observeShedding,
}: AdminOptions): AdminServer {
  const pacer = new RequestPacer(setImmediate, () => performance.now());
  const metricsText = new SharedRun(() => metrics.text());
  const livez = () => respond(200, "live");
  const readyz = () =>
    assertReady().then(
      () => respond(200, "ready"),
      (reason) => respond(503, `not ready: ${reason instanceof Error ? reason.message : reason}`),
    );
  const renderMetrics = async () =>
    new Response(await metricsText.run(), { headers: headersOf(metrics.contentType) });
  const consoleOrNotFound = (request: Request, server: Bun.Server<undefined>) => {
    const { pathname } = addressOf(request);
    if (!operatorConsole?.owns(pathname))
      return respond(404, "there is GET /livez, GET /readyz and GET /metrics");
    return operatorConsole.handle(request, server.requestIP(request)?.address ?? "");
  };
  const listener = Bun.serve({
    hostname: host,
    port,
    // Else Bun shows the stack of a fault to whoever asked.
    development: false,
    idleTimeout: idleSecondsMax,
    maxRequestBodySize: requestBytesMax,
    routes: {
      "/livez": { GET: (request) => pacer.run(request, livez) },
      "/readyz": { GET: (request) => pacer.run(request, readyz) },
      "/metrics": { GET: (request) => pacer.run(request, renderMetrics) },
    },
    fetch: (request, server) => pacer.run(request, () => consoleOrNotFound(request, server)),
  });
  const shed = connections.watch({
    name: "admin",
    port: () => listener.port ?? port,
    connectionsMax,
    isStrict: true,
    closeIdle: () => listener.closeIdleConnections(),
    onShed: observeShedding,
  });
  return {
    url: listener.url.origin,
    stop() {
      shed.stop();
      return listener.stop(true);
    },
  };
}

function respond(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: headersOf("text/plain; charset=utf-8") });
}

function headersOf(contentType: string): Record<string, string> {
  return { "Content-Type": contentType, "Cache-Control": "no-store" };
}
