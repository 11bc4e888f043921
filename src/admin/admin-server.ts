// Serves liveness, readiness, the metrics and the routes of extras to operators, on a listener of
// their own.

import { CoalescedWork } from "../base/coalesced-work.ts";
import { isLoopback, isOwnHost } from "../base/loopback.ts";
import { errorMessage } from "../base/operator-error.ts";
import { withinTime } from "../base/time-limit.ts";
import { type ListeningServer, serveOptions } from "../http/listener.ts";
import type { Metrics } from "./metrics.ts";
import { prometheusContentType } from "./prometheus-text.ts";

/** Further routes of the listener. */
export interface AdminRoutes {
  /** As the `routes` of Bun.serve have them: `/own`, or `/own/*` for all paths below. */
  readonly paths: readonly string[];
  /** @param peer the address at the other end of the connection. */
  handle(request: Request, peer: string): Response | Promise<Response>;
}

export interface AdminOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Host names that requests may have besides addresses and localhost, if the host is loopback. */
  readonly names: readonly string[];
  /** See CreateQueue. */
  readonly assertReady: () => Promise<readonly string[]>;
  readonly metrics: Pick<Metrics, "text">;
  readonly routes: readonly AdminRoutes[];
  /** Called with an exception of a route: otherwise Bun prints it and the process exits with 1. */
  readonly onInternalError: (error: unknown) => void;
}

/**
 * A search in a large store may take some seconds. After this time Bun also ends a response that
 * its client does not read, and cancels the stream of its body.
 */
const idleSecondsMax = 60;

/** Longer than a database takes to respond, shorter than probes wait. */
const readinessMsMax = 5_000;

/** Opens the admin listener. Throws what Bun.serve throws if the address cannot be bound. */
export function startAdminServer({
  host,
  port,
  names,
  assertReady,
  metrics,
  routes,
  onInternalError,
}: AdminOptions): ListeningServer {
  const metricsText = new CoalescedWork(() => metrics.text());
  // Each is a commit: probes that ask at the same time share one.
  const readiness = new CoalescedWork(assertReady);
  const livez = () => respond(200, "live\n");
  const readyz = () =>
    withinTime(readiness.run(), readinessMsMax, "the store").then(
      (failures) => respond(200, ["ready", ...failures, ""].join("\n")),
      (reason) => respond(503, `not ready: ${errorMessage(reason)}\n`),
    );
  const renderMetrics = async () => respond(200, await metricsText.run(), prometheusContentType);
  const handlerOf = (extra: AdminRoutes) => (request: Request, server: Bun.Server<undefined>) =>
    extra.handle(request, server.requestIP(request)?.address ?? "");
  // Otherwise pages of other sites could read these, by DNS rebinding. Extras check their own.
  const own = (handle: () => Response | Promise<Response>) => (request: Request) =>
    !isLoopback(host) || isOwnHost(request, names)
      ? handle()
      : respond(421, "unknown host; add it to --admin-names to allow it\n");
  const notFound = () => respond(404, "not found; there are GET /livez, GET /readyz and GET /metrics\n");
  return Bun.serve({
    ...serveOptions,
    hostname: host,
    port,
    idleTimeout: idleSecondsMax,
    routes: {
      ...Object.fromEntries(
        routes.flatMap((extra) => extra.paths.map((path) => [path, handlerOf(extra)] as const)),
      ),
      "/livez": { GET: own(livez) },
      "/readyz": { GET: own(readyz) },
      "/metrics": { GET: own(renderMetrics) },
    },
    fetch: notFound,
    error(error) {
      onInternalError(error);
      return Response.json({ message: "Internal error; see the server's log." }, { status: 500 });
    },
  });
}

function respond(status: number, text: string, type = "text/plain; charset=utf-8"): Response {
  return new Response(text, { status, headers: { "Content-Type": type, "Cache-Control": "no-store" } });
}
