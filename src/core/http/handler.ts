// The handler of the public listener: passes a request to its operation, and rejects all others.

import { ApiError } from "../contract/errors.ts";
import { createPlant } from "./create-plant.ts";
import { Exchange, type ExchangeDependencies } from "./exchange.ts";
import { type OperationDependencies, routerOf } from "./operations.ts";
import { TickBudget } from "./tick-budget.ts";

export interface HandlerDependencies extends OperationDependencies, Omit<ExchangeDependencies, "tickBudget"> {
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
}

/** Responds to a request. Never rejects. */
export type Handler = (request: Request, connection: Connection) => Promise<Response>;

/** How the requests of a listener come in. One object serves all of them. */
export interface Connection {
  /** The listener's address, such as https://plants.example:8443, without a path. */
  readonly origin: string;
  /** Whether the router has found a request to be POST {base}/plants: request.url takes 0.5 µs. */
  isCreate(request: Request): boolean;
  /** Whether connections are closed after their next response. */
  shouldClose(): boolean;
  /** Bun's server, which knows the connection; undefined if the request came through no listener. */
  readonly server?: Bun.Server<undefined>;
}

/** The connection of a request that came through no listener. */
export const inProcess: Connection = {
  origin: "http://localhost",
  isCreate: () => false,
  shouldClose: () => false,
};

export function createHandler(dependencies: HandlerDependencies): Handler {
  const { authenticator, basePath, makeRequestId, now, emit } = dependencies;
  const findRoute = routerOf(basePath);
  const plantsPath = `${basePath}/plants`;
  const shared: ExchangeDependencies = {
    makeRequestId,
    tickBudget: new TickBudget(),
    now,
    emit,
  };

  const create: Handler = (request, { shouldClose }) =>
    new Promise((resolve) => {
      void createPlant(new Exchange(request, "POST", plantsPath, shared, shouldClose, resolve), dependencies);
    });

  return (request, connection) => {
    if (connection.isCreate(request)) return create(request, connection);
    const { method } = request;
    const path = pathOf(request.url);
    return new Promise((resolve) => {
      const exchange = new Exchange(request, method, path, shared, connection.shouldClose, resolve);
      const route = findRoute(method, path);
      const handled =
        route instanceof ApiError
          ? rejectRoute(exchange, route)
          : route.operation.handle(exchange, dependencies, route.parameters);
      handled.catch((error) => exchange.fail(error));
    });
  };

  /** Responds with the error of a path or method to callers with credentials only. */
  async function rejectRoute(exchange: Exchange, error: ApiError): Promise<void> {
    const caller = await authenticator.authenticate(exchange.request.headers);
    if (caller instanceof ApiError) return exchange.reject(caller);
    exchange.caller = caller;
    exchange.reject(error);
  }
}

/**
 * Paces the responses of handlers before the service, which paces its own errors. A create passes
 * without the promise that this takes.
 */
export function withTickBudget(next: Handler): Handler {
  const budget = new TickBudget();
  return (request, connection) => {
    if (connection.isCreate(request)) return next(request, connection);
    return next(request, connection).then((response) => {
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
