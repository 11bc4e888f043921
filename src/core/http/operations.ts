// The table of the public listener's operations. Routes, CORS and the errors for other paths and
// methods derive from it. A test compares it with openapi.yaml.

import { ApiError } from "../contract/errors.ts";
import { type CreatePlantDependencies, createPlant } from "./create-plant.ts";
import type { Exchange } from "./exchange.ts";

/** The parts of the server that operations use. */
export interface OperationDependencies extends CreatePlantDependencies {}

export interface Operation {
  readonly method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT";
  /** The path below the base path, as in openapi.yaml: {id} stands for one segment. */
  readonly path: string;
  /** The text after "Send", the method and the path in the message of methodNotAllowed. */
  readonly advice: string;
  /**
   * Settles the exchange, after it has authenticated the caller.
   *
   * @param parameters the segments of the path that stand for its parameters, as they were sent.
   */
  readonly handle: (
    exchange: Exchange,
    dependencies: OperationDependencies,
    parameters: readonly string[],
  ) => Promise<void>;
}

export const operations: readonly Operation[] = [
  {
    method: "POST",
    path: "/plants",
    advice:
      " with Content-Type: application/json and a body such as " +
      '{"id": 1, "name": "Monstera deliciosa", "tag": "tropical"}',
    handle: createPlant,
  },
];

/** The methods of CORS: those of the operations, and GET for the interface description. */
export const offeredMethods = [...new Set(["GET", ...operations.map(({ method }) => method)])].join(", ");

/** An operation, with the parameters of a path. */
interface Route {
  readonly operation: Operation;
  readonly parameters: readonly string[];
}

/** Finds the operation of a method and a path; notFound or methodNotAllowed if there is none. */
export function routerOf(basePath: string): (method: string, path: string) => Route | ApiError {
  const routes = operations.map((operation) => {
    const segments = operation.path.split(/\{\w+\}/).map(RegExp.escape);
    return { operation, pattern: new RegExp(`^${RegExp.escape(basePath)}${segments.join("([^/]+)")}$`) };
  });

  return (method, path) => {
    const offered = routes.filter(({ pattern }) => pattern.test(path));
    if (offered.length === 0) return notFound(path, basePath);
    // RFC 9110, section 9.3.2: HEAD is GET without the content, which Bun leaves out.
    const wanted = method === "HEAD" ? "GET" : method;
    const found = offered.find(({ operation }) => operation.method === wanted);
    if (found === undefined)
      return methodNotAllowed(
        method,
        path,
        offered.map(({ operation }) => operation),
      );
    return { operation: found.operation, parameters: found.pattern.exec(path)?.slice(1) ?? [] };
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
