// Passes each request of the public listener to its operation, and rejects all others.

import { normalizePercent } from "../json/percent-encoding.ts";
import { Exchange, type ExchangeDependencies } from "./exchange.ts";
import { type Operation, type OperationServices, rejectAuthenticated } from "./operation.ts";
import { type Route, routerOf } from "./router.ts";
import { TickBudget } from "./tick-budget.ts";

export interface HandlerDependencies
  extends OperationServices,
    Omit<ExchangeDependencies, "tickBudget" | "addressOf"> {
  readonly operations: readonly Operation[];
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The base URL that clients use, where a proxy changes it, without a slash at its end. */
  readonly publicUrl?: string | undefined;
}

/** Responds to a request. Never rejects. */
export type Handler = (request: Request, context: RequestContext) => Promise<Response>;

/** How requests come in. One object serves all requests of a route of a listener. */
export interface RequestContext {
  /** The listener's address, such as https://plants.example:8443, without a path. */
  readonly origin: string;
  /**
   * The route that the listener has found; undefined if it has found none. Asking the listener saves
   * a look at request.url, which Bun makes when it is asked for. A handler that passes on a request with
   * another method or path makes it undefined.
   */
  readonly route: Route | undefined;
  /** Whether connections are closed after their next response. */
  shouldClose(): boolean;
}

/** The context of a request that came through no listener. */
export const inProcess: RequestContext = {
  origin: "http://localhost",
  route: undefined,
  shouldClose: () => false,
};

export function createHandler(dependencies: HandlerDependencies): Handler {
  const findRoute = routerOf(dependencies.operations, dependencies.basePath, dependencies.contract);
  const tickBudget = new TickBudget();
  const shared: ExchangeDependencies = {
    ...dependencies,
    addressOf: publicAddresses(dependencies),
    tickBudget,
  };

  return (request, context) =>
    new Promise((resolve) => {
      const route = context.route ?? findRoute(request.method, pathOf(request.url));
      const exchange = new Exchange(request, route, shared, context.shouldClose, resolve);
      if (route.operation !== undefined) void route.operation.run(exchange, dependencies, route.segments);
      else void rejectAuthenticated(exchange, dependencies, route.error);
    });
}

/**
 * Puts a handler before that of the service, and paces its responses. The service paces its own, by
 * another budget: a request that is passed on later, or as another one, is counted by both.
 *
 * @param wrap returns the handler: its response is paced unless it passes on the request itself at once.
 */
export function withTickBudget(service: Handler, wrap: (next: Handler) => Handler): Handler {
  const budget = new TickBudget();
  let passedOn: Request | undefined;
  const handle = wrap((request, context) => {
    passedOn = request;
    return service(request, context);
  });
  return (request, context) => {
    passedOn = undefined;
    const responding = handle(request, context);
    if (passedOn === request) return responding;
    return responding.then((response) => {
      const endOfTick = budget.countResponse();
      return endOfTick === undefined ? response : endOfTick.then(() => response);
    });
  };
}

/** The path of a request target, which Bun returns as a URL, or as it was sent without a Host. */
export function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return "/";
  const end = url.indexOf("?", start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}

/** Returns the address that a client has sent a request to, by the one that the server got. */
function publicAddresses({ basePath, publicUrl }: HandlerDependencies): (url: string) => string {
  // A request without Host (HTTP/1.0) names no origin.
  if (publicUrl === undefined) return (url) => (url.startsWith("/") ? inProcess.origin + url : url);
  const { length } = normalizePercent(basePath);
  return (url) => {
    const { pathname, search } = new URL(url, publicUrl);
    return publicUrl + normalizePercent(pathname).slice(length) + search;
  };
}
