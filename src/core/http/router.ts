// Finds the operation of a request, or the error for a path or method without one.

import { ApiError } from "../contract/errors.ts";
import type { RequestRoute } from "./exchange.ts";
import type { Operation } from "./operation.ts";

/** Where a request goes: to an operation, or to the error for callers with credentials. */
export type Route = RequestRoute & {
  /** The texts of the path's parameters by name, as they were sent. */
  readonly segments: Readonly<Record<string, string>>;
} & ({ readonly operation: Operation } | { readonly operation: undefined; readonly error: ApiError });

/** Whether every request for an operation has the same path. */
export function hasFixedPath({ path }: Operation): boolean {
  return !path.includes("{");
}

/** Finds the route of a method and a path. */
export function routerOf(
  operations: readonly Operation[],
  basePath: string,
): (method: string, path: string) => Route {
  const rows = operations.map((operation) => {
    // A group of a regular expression for each parameter, such as (?<id>[^/]+).
    const pattern = operation.path
      .split(/\{(\w+)\}/)
      .map((part, index) => (index % 2 === 0 ? RegExp.escape(part) : `(?<${part}>[^/]+)`));
    return { operation, pattern: new RegExp(`^${RegExp.escape(basePath)}${pattern.join("")}$`) };
  });

  return (method, path) => {
    const offered = rows.filter(({ pattern }) => pattern.test(path));
    // RFC 9110, section 9.3.2: HEAD is GET without the content, which Bun leaves out.
    const wanted = method === "HEAD" ? "GET" : method;
    const found = offered.find(({ operation }) => operation.method === wanted);
    if (found !== undefined)
      return { method, path, operation: found.operation, segments: found.pattern.exec(path)?.groups ?? {} };
    const error =
      offered.length === 0
        ? notFound(path, basePath)
        : methodNotAllowed(
            method,
            path,
            offered.map(({ operation }) => operation),
          );
    return { method, path, operation: undefined, error, segments: {} };
  };
}

function methodNotAllowed(method: string, path: string, offered: readonly Operation[]): ApiError {
  const advice = offered.map((operation) => `${operation.method} ${path}${operation.advice}`);
  const allow = offered.flatMap((operation) =>
    operation.method === "GET" ? ["GET", "HEAD"] : operation.method,
  );
  const message = `${method} is not offered at ${path}. Send ${advice.join(" or ")}.`;
  return new ApiError("methodNotAllowed", message, { allow: allow.join(", ") });
}

function notFound(path: string, basePath: string): ApiError {
  return new ApiError("notFound", `There is nothing at ${path}; POST ${basePath}/plants creates a plant.`);
}
