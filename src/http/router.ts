// Finds the operation of a request, or the error for a path or method without one.

import { ApiError } from "../base/errors.ts";
import type { Contract } from "../contract/contract.ts";
import { withArticle } from "../contract/words.ts";
import { decodePercent, normalizePercent } from "../json/percent-encoding.ts";
import type { RequestRoute } from "./exchange.ts";
import type { Operation, OperationRow } from "./operation.ts";

/** Where a request goes: to an operation, or to an error, which only authenticated callers see. */
export type Route<Row extends OperationRow = Operation> = RequestRoute & {
  /** The texts of the path's parameters by name, without percent-encoding. */
  readonly segments: Readonly<Record<string, string>>;
} & ({ readonly operation: Row } | { readonly operation: undefined; readonly error: ApiError });

/** Whether a path of an operation, after the base path, has no parameters, here or for Bun. */
export function isFixedPath(path: string): boolean {
  return !/[{:*]/.test(path);
}

/** Finds the route of a method and a path. */
export function routerOf<Row extends OperationRow>(
  operations: readonly Row[],
  basePath: string,
  contract: Contract,
): (method: string, path: string) => Route<Row> {
  const base = RegExp.escape(normalizePercent(basePath));
  const rows = operations.map((operation) => {
    const names: string[] = [];
    const pattern = normalizePercent(operation.path)
      .split("/")
      .map((segment) => {
        const name = /^\{([^{}]+)\}$/.exec(segment)?.[1];
        if (name !== undefined) names.push(name);
        // Several parameters in a segment, as no operation here has them, would take more than linear time.
        return name !== undefined ? "([^/]+)" : segment.includes("{") ? "[^/]+" : RegExp.escape(segment);
      });
    return { operation, names, pattern: new RegExp(`^${base}${pattern.join("/")}$`) };
  });

  // A path without parameters goes before one whose parameter could be its end.
  rows.sort((one, other) => one.names.length - other.names.length);
  return (method, path) => {
    const normal = normalizePercent(path);
    const offered = rows.filter(({ pattern }) => pattern.test(normal));
    // RFC 9110, section 9.3.2: HEAD is GET without the content, which Bun leaves out.
    const wanted = method === "HEAD" ? "GET" : method;
    const found = offered.find(({ operation }) => operation.method === wanted);
    if (found !== undefined) {
      const values = found.pattern.exec(normal)?.slice(1) ?? [];
      const segments = Object.fromEntries(
        found.names.map((name, index) => [name, decodePercent(values[index] ?? "")]),
      );
      return { method, path, operation: found.operation, segments };
    }
    const served = offered.map(({ operation }) => operation).filter(({ advice }) => advice !== undefined);
    const error =
      served.length === 0 ? notFound(path, basePath, contract) : methodNotAllowed(method, path, served);
    return { method, path, operation: undefined, error, segments: {} };
  };
}

/** A longer path is cut in a message, which repeats it, and which the log has, too. */
const pathCharactersMax = 200;

function shortened(path: string): string {
  return path.length > pathCharactersMax ? `${path.slice(0, pathCharactersMax)}…` : path;
}

function methodNotAllowed(method: string, sent: string, offered: readonly OperationRow[]): ApiError {
  const path = shortened(sent);
  const advice = offered.map((operation) => `${operation.method} ${path}${operation.advice}`);
  const allow = offered.flatMap((operation) =>
    operation.method === "GET" ? ["GET", "HEAD"] : operation.method,
  );
  const message = `${method} is not offered at ${path}. Send ${advice.join(" or ")}.`;
  return new ApiError("methodNotAllowed", message, { allow: allow.join(", ") });
}

function notFound(path: string, basePath: string, { collections }: Contract): ApiError {
  const [first, ...others] = collections.map(
    ({ path: own, words }) => `POST ${basePath}${own} creates ${withArticle(words.one)}`,
  );
  const own = first === undefined ? "" : `; ${first}`;
  const more = others.length === 0 ? "" : `, and ${others.length} other paths are described`;
  return new ApiError("notFound", `There is nothing at ${shortened(path)}${own}${more}.`);
}
