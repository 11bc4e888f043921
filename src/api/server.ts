// The public listener: its paths and their methods, and what happens where the interface has nothing.

import { ApiError } from "../contract/errors.ts";
import { description } from "../contract/new-plant-schema.ts";
import type { Clock, Emit } from "../observability/server-event.ts";
import { authenticateRequest } from "./bearer.ts";
import type { Certificate } from "./certificate.ts";
import type { ConnectionShedder } from "./connection-shedder.ts";
import { allowOrigin, answerPreflight, type CorsOrigins, isPreflight } from "./cors.ts";
import { type CreatePlantDependencies, createPlant } from "./create-plant.ts";
import { DocumentationPage } from "./documentation-page.ts";
import { Listener, type ListenerOptions } from "./listener.ts";
import { type PublicRequestRecord, RequestRecorder } from "./request-record.ts";
import { Responses } from "./responses.ts";
import { TickBudget } from "./tick-budget.ts";

/** RFC 9112, section 3.2: a host with a port or without. Bun lets anything pass, and two Hosts as one with a comma. */
const wellFormedHost = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

export interface ServerOptions extends CreatePlantDependencies, Omit<ListenerOptions, "handle"> {
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The base address that clients use, if it is not the one that they reach the listener by. */
  readonly publicUrl: string | undefined;
  readonly corsOrigins: CorsOrigins;
  /** Whether there is a documentation page. */
  readonly docs: boolean;
  /** Counts those of every listener. */
  readonly connections: ConnectionShedder;
  /** Connections that may be open; past it idle ones are closed, and others after their answer. */
  readonly connectionsMax: number;
  /** In front of the ids of requests: tells those of this server from those of any other. */
  readonly requestIdPrefix: string;
  readonly now: Clock;
  readonly observe: Emit;
}

/** A public listener that accepts requests. */
export interface PublicServer {
  /** The base address, such as http://127.0.0.1:8080/v1. */
  readonly url: string;
  /** Answers POST {base}/plants with these headers and this body, as if they had come over the network. */
  create(headers: Headers, body: string): Promise<Response>;
  /** How many connections there are, or nearly so. */
  connectionsOpen(): number;
  /** New connections get this certificate. */
  reloadCertificate(certificate: Certificate): void;
  /** Accepts no new connection, and resolves when what was accepted is answered or the time is over. */
  stop(drainMsMax: number): Promise<void>;
}

/** Opens the public listener. Throws what Bun.serve throws if the address cannot be taken. */
export function startServer(options: ServerOptions): PublicServer {
  const { credentials, basePath, corsOrigins, now, observe } = options;
  const answers = new Responses(corsOrigins, options.rateLimit?.policy);
  const turn = new TickBudget(setImmediate);
  const exchanges = new RequestRecorder(now, options.requestIdPrefix);
  const plantsPath = `${basePath}/plants`;
  const descriptionPath = `${basePath}/openapi.json`;
  /** The description as it was last served: one text in memory for all that read it. */
  let served = { url: "", text: new Blob() };
  const documentationPage = options.docs ? new DocumentationPage(options) : undefined;

  async function handle(request: Request, isLast: () => boolean): Promise<Response> {
    const exchange = exchanges.startRequest(request, pathOf(request.url));
    let response: Response;
    try {
      response = await answer(request, exchange);
    } catch (error) {
      response = answers.error(fault(), exchange);
      // A body that its client broke off: there is nobody to answer.
      if (request.signal.aborted) exchange.result = "clientAborted";
      else observe({ kind: "internalError", requestId: exchange.requestId, error });
    }
    const scheduleWithSetImmediate = wasCommitted(exchange) ? undefined : turn.answer();
    if (scheduleWithSetImmediate !== undefined) await scheduleWithSetImmediate;
    exchange.endedAt = now();
    observe({ kind: "requestCompleted", request: exchange });
    // RFC 9112, section 9.6: else the client would send its next request on a connection that is being closed.
    if (isLast() || connections.isOverLimit) response.headers.set("Connection", "close");
    return allowOrigin(corsOrigins, request, response);
  }

  function answer(request: Request, exchange: PublicRequestRecord): Response | Promise<Response> {
    const { path, method } = exchange;
    if (path === plantsPath && method === "POST") return create(request, exchange);
    if (isPreflight(request)) return answerPreflight(corsOrigins, request, exchange);
    if (path === descriptionPath || documentationPage?.has(path)) return serveOpenApi(request, exchange);
    return rejectUnknownRoute(request, exchange).then((refusal) => answers.error(refusal, exchange));
  }

  function create(request: Request, exchange: PublicRequestRecord): Promise<Response> {
    return createPlant(request, exchange, options).then((created) =>
      created instanceof ApiError ? answers.error(created, exchange) : answers.plant(created, exchange),
    );
  }

  async function rejectUnknownRoute(request: Request, exchange: PublicRequestRecord): Promise<ApiError> {
    const caller = await authenticateRequest(request.headers, credentials);
    if (caller instanceof ApiError) return caller;
    exchange.caller = caller.name;
    return exchange.path === plantsPath ? notOffered(exchange.method) : notFound(exchange.path);
  }

  /** The description and its page are for everybody. */
  function serveOpenApi(request: Request, exchange: PublicRequestRecord): Response | Promise<Response> {
    const { path, method } = exchange;
    if (method !== "GET" && method !== "HEAD") {
      const message = `${method} is not offered at ${path}; GET it.`;
      return answers.error(new ApiError("methodNotAllowed", message, { allow: "GET, HEAD" }), exchange);
    }
    if (path === descriptionPath || documentationPage === undefined)
      return answerDescription(request, exchange);
    const answered = documentationPage.answer(path, request);
    return answered instanceof Response ? answers.served(answered, exchange) : answerFile(answered, exchange);
  }

  async function answerFile(
    answered: Promise<Response | ApiError>,
    exchange: PublicRequestRecord,
  ): Promise<Response> {
    const file = await answered;
    return file instanceof Response ? answers.served(file, exchange) : answers.error(file, exchange);
  }

  function answerDescription(request: Request, exchange: PublicRequestRecord): Response {
    const scheme = options.certificate === undefined ? "http" : "https";
    const host = request.headers.get("host") ?? "";
    const reached = wellFormedHost.test(host) ? host : listener.address;
    const url = options.publicUrl ?? `${scheme}://${reached}${basePath}`;
    if (served.url !== url) {
      const servers = [{ url, description: "This server." }];
      served = { url, text: new Blob([JSON.stringify({ ...description, servers })]) };
    }
    return answers.json(served.text, exchange);
  }

  function notOffered(method: string): ApiError {
    const message =
      `${method} is not offered at ${plantsPath}: this interface only creates plants. ` +
      `Send POST ${plantsPath} with Content-Type: application/json and a body such as ` +
      `{"id": 1, "name": "Monstera deliciosa", "tag": "tropical"}.`;
    return new ApiError("methodNotAllowed", message, { allow: "POST" });
  }

  function notFound(path: string): ApiError {
    const message = `There is nothing at ${path}; this interface has one operation, POST ${plantsPath}.`;
    return new ApiError("notFound", message);
  }

  const listener = new Listener({ ...options, handle });
  const connections = options.connections.watch({
    port: () => listener.port,
    connectionsMax: options.connectionsMax,
    isStrict: false,
    closeIdle: () => listener.closeIdleConnections(),
    observeShedding: (open) => observe({ kind: "connectionsShed", listener: "public", open }),
  });
  return {
    url: `${listener.origin}${basePath}`,
    create: (headers, body) =>
      handle(new Request(`${listener.origin}${plantsPath}`, { method: "POST", headers, body }), () => false),
    connectionsOpen: () => connections.open,
    reloadCertificate(certificate) {
      listener.exchange(certificate);
      connections.reopened();
    },
    stop(drainMsMax) {
      connections.stop();
      return listener.stop(drainMsMax);
    },
  };
}

function fault(): ApiError {
  return new ApiError(
    "fault",
    "The service failed on this request, and its log says why; sending the request again is safe.",
  );
}

function wasCommitted({ result }: PublicRequestRecord): boolean {
  return result === "created" || result === "unchanged";
}

/** The path of a request target, which Bun gives as an absolute URL, or as it came if there was no Host. */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return "/";
  const end = url.indexOf("?", start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
