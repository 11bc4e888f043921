// Finds the operation of a request, or the error for a path or method without one.

import { ApiError } from "../base/errors.ts";
import type { Contract } from "../contract/contract.ts";
import { withArticle } from "../contract/words.ts";
import { decodePercent, normalizePercent, pathShape, tryDecodePercent } from "../json/percent-encoding.ts";

import type { RequestRoute } from "./exchange.ts";
import type { Method, Operation, OperationRow } from "./operation.ts";

/** Loaded on first use, as the listener routes most creates. */
const findMyWay = () => require("find-my-way") as typeof import("find-my-way");

/** Where a request goes: to an operation, or to an error, which only authenticated callers see. */
export type Route<Row extends OperationRow = Operation> = RequestRoute & {
  /** The texts of the path's parameters by name, without percent-encoding. */
  readonly segments: Readonly<Record<string, string>>;
} & ({ readonly operation: Row } | { readonly operation: undefined; readonly error: ApiError });

/** Whether a path of an operation, after the base path, has no parameters, here or for Bun. */
export function isFixedPath(path: string): boolean {
  return !/[{:*]/.test(path);
}

/**
 * Finds the route of a method and a path. Of two operations with the same method and the same path
 * but for the names of its parameters, the first one is found.
 */
export function routerOf<Row extends OperationRow>(
  operations: readonly Row[],
  basePath: string,
  contract: Contract,
): (method: string, path: string) => Route<Row> {
  // Registering compiles a function for each route, and some routers are never asked.
  let paths: Paths<Row> | undefined;
  return (method, path) => {
    paths ??= registerPaths(operations, basePath);
    // RFC 9110, section 9.3.2: HEAD is GET without the content, which Bun leaves out.
    const found = paths.find(method, path) ?? (method === "HEAD" ? paths.find("GET", path) : undefined);
    const shown = withoutTokens(path);
    const rejected = (error: ApiError) => ({
      method,
      path: shown,
      operation: undefined,
      error,
      segments: {},
    });
    if (found !== undefined) {
      const segments: Record<string, string> = {};
      for (const { key, name } of found.parameters) {
        const text = found.values[key] ?? "";
        const value = text.includes(" ") ? tryDecodePercent(text.replaceAll(" ", "%")) : text;
        if (value === undefined) return rejected(malformed(text.replaceAll(" ", "%")));
        segments[name] = value;
      }
      return { method, path: shown, operation: found.operation, segments };
    }
    const served = paths.methods
      .map((each) => paths?.find(each, path)?.operation)
      .filter((each): each is Row => each?.isServed === true);
    return rejected(
      served.length === 0 ? notFound(shown, basePath, contract) : methodNotAllowed(method, shown, served),
    );
  };
}

interface Found<Row> {
  readonly operation: Row;
  /** The path's parameters: their keys, p0, p1 and so on, and their names in the description. */
  readonly parameters: readonly { readonly key: string; readonly name: string }[];
  /** Their texts by their keys, with a space for each "%". */
  readonly values: Readonly<Record<string, string | undefined>>;
}

interface Paths<Row> {
  readonly methods: readonly Method[];
  find(method: string, path: string): Found<Row> | undefined;
}

function registerPaths<Row extends OperationRow>(operations: readonly Row[], basePath: string): Paths<Row> {
  const router = findMyWay()({
    maxParamLength: Number.POSITIVE_INFINITY,
    // The patterns below take linear time.
    allowUnsafeRegex: true,
    querystringParser: () => undefined,
  });
  const registered = new Set<string>();
  for (const operation of operations) {
    const path = basePath + operation.path;
    const key = `${operation.method} ${normalizePercent(pathShape(path))}`;
    if (registered.has(key)) continue;
    registered.add(key);
    const parameters = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""], index) => ({
      key: `p${index}`,
      name: decodePercent(name),
    }));
    router.on(operation.method, routePattern(path), () => undefined, { operation, parameters });
  }
  return {
    methods: [...new Set(operations.map(({ method }) => method))],
    find(method, path) {
      // "*" (RFC 9112, section 3.2.4) is no path.
      if (!path.startsWith("/")) return undefined;
      const found = router.find(method as Method, opaque(normalizePercent(path)));
      if (found === null) return undefined;
      const { operation, parameters } = found.store as Pick<Found<Row>, "operation" | "parameters">;
      const isEmpty = parameters.some(({ key }) => found.params[key] === "");
      return isEmpty ? undefined : { operation, parameters, values: found.params };
    },
  };
}

/**
 * Writes a path of a description as find-my-way has it: ":p0" for a parameter that is a segment, and
 * ":p0(regular expression)" for one that ends where the text after it first occurs, or, at the end of
 * its segment, last.
 */
function routePattern(path: string): string {
  const segments = normalizePercent(path).split("/");
  let count = 0;
  const patterns = segments.map((segment) => {
    const [first = "", ...others] = opaque(segment).split(/\{[^{}]*\}/);
    if (first === "" && others.length === 1 && others[0] === "") return `:p${count++}`;
    const parameters = others.map((text, index) => {
      const isLast = index === others.length - 1;
      // A lookahead is not tried again: several parameters take linear time.
      const shortest = `(?:(?=([^/]+?)${RegExp.escape(text)})\\${index + 1})`;
      return `:p${count++}${isLast ? "([^/]+)" : shortest}${literal(text)}`;
    });
    return literal(first) + parameters.join("");
  });
  return patterns.join("/");
}

/** Escapes a text of a pattern of find-my-way. */
function literal(text: string): string {
  return text.replaceAll(":", "::");
}

/**
 * Hides from find-my-way what it would decode, as an encoded character is not the same as the
 * character, and what it would take for a wildcard. A path of a request has no space.
 */
function opaque(path: string): string {
  return path.replaceAll("*", "%2A").replaceAll("%", " ");
}

/** A longer path is cut in a message, which repeats it, and which the log has, too. */
const pathCharactersMax = 200;

/** Cuts what looks like a token of the store, or a JWT, sent in a path by mistake: the log has paths. */
function withoutTokens(path: string): string {
  return path.replaceAll(
    /pst_[\w-]{20,}|eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g,
    (token) => `${token.slice(0, 4)}…`,
  );
}

function shortened(path: string): string {
  return path.length > pathCharactersMax ? `${path.slice(0, pathCharactersMax)}…` : path;
}

function malformed(segment: string): ApiError {
  const message = `The path has the malformed percent-encoding "${shortened(segment)}"; encode each byte of UTF-8 as % and two hexadecimal digits.`;
  return new ApiError("invalidParameter", message);
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

function notFound(path: string, basePath: string, { collections: [first, ...others] }: Contract): ApiError {
  const own =
    first === undefined ? "" : `; POST ${basePath}${first.path} creates ${withArticle(first.words.one)}`;
  const more = others.length === 0 ? "" : `, and ${others.length} other paths are described`;
  return new ApiError("notFound", `There is nothing at ${shortened(path)}${own}${more}.`);
}
