// Control of a sandbox: the routes below /sandbox/ of the admin listener. Every request passes
// these checks in this order: host, origin, password, route.

import { checkHost, checkOrigin } from "../console/request-origin.ts";
import { AdminError, RequestBodies } from "../core/admin/request-bodies.ts";
import { respond, respondError } from "../core/admin/responses.ts";
import type { AdminRoutes } from "../core/admin/server.ts";
import { toExactJson } from "../core/contract/exact-json.ts";
import type { CorsOrigins } from "../core/http/cors.ts";
import document from "./openapi-control.yaml";

interface ControlRequest {
  /** The parameter in the path, decoded; "" without one. */
  readonly parameter: string;
  readonly query: URLSearchParams;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The body with exact integers. Throws an AdminError unless it is a JSON object. */
  readonly json: () => Promise<Readonly<Record<string, unknown>>>;
}

/** Throws an AdminError for a request that it rejects. */
type ControlHandler = (request: ControlRequest) => Response | Promise<Response>;

/** The handlers by their operations in openapi-control.yaml, such as `GET /sandbox/plants/{id}`. */
export type ControlRoutes = Readonly<Record<string, ControlHandler>>;

export interface SandboxPart {
  readonly routes: ControlRoutes;
  /** Brings the part to the state of the start. A promise delays the response to the reset. */
  reset?(): void | Promise<void>;
  /** The fields of the part in GET /sandbox. */
  describe?(): Readonly<Record<string, unknown>>;
}

export interface ControlAccess {
  /** Host names accepted in addition to addresses and localhost. */
  readonly names: readonly string[];
  readonly cors: CorsOrigins;
  /** Rejects with an AdminError for a client that may not use control. */
  readonly authenticate: (request: Request, peer: string) => Promise<void>;
}

/** The largest is the list of rules. */
const bodyLimits = { bodyBytesMax: 2 ** 20, inFlightBytesMax: 32 * 2 ** 20, arrivalMsMax: 20_000 };

/** The second one is for the page of the console, whose cookie is sent to no other path. */
const basePaths = ["/sandbox", "/console/api/sandbox"];

interface DescribedOperation {
  readonly parameters?: readonly {
    readonly $ref?: string;
    readonly name?: string;
    readonly in?: string;
  }[];
}

const describedPaths = document.paths as Readonly<
  Record<string, Readonly<Record<string, DescribedOperation>>>
>;
const describedParameters: Readonly<Record<string, { readonly name: string; readonly in: string }>> =
  document.components.parameters;

/** The names of the query parameters of an operation in openapi-control.yaml. */
function queryNames(method: string, path: string): string[] {
  const { parameters = [] } = describedPaths[path]?.[method.toLowerCase()] ?? {};
  return parameters
    .map((parameter) => describedParameters[parameter.$ref?.split("/").at(-1) ?? ""] ?? parameter)
    .flatMap((parameter) => (parameter.in === "query" ? (parameter.name ?? []) : []));
}

export class Control implements AdminRoutes {
  /** A test suite calls control between any two of its tests. */
  readonly isPaced = false;
  readonly routes: ControlRoutes;
  readonly #patterns: readonly {
    readonly method: string;
    readonly pattern: RegExp;
    readonly queryNames: readonly string[];
    readonly handle: ControlHandler;
  }[];
  readonly #access: ControlAccess;
  readonly #bodies = new RequestBodies(bodyLimits);

  constructor(routes: ControlRoutes, access: ControlAccess) {
    this.routes = { "GET /sandbox/openapi.json": () => respondControl(document), ...routes };
    this.#patterns = Object.entries(this.routes).map(([operation, handle]) => {
      const [method = "", path = ""] = operation.split(" ");
      const pattern = path.replaceAll(".", "\\.").replace(/\{\w+\}/, "([^/]+)");
      return {
        method,
        pattern: new RegExp(`^${pattern}$`),
        queryNames: queryNames(method, path),
        handle,
      };
    });
    this.#access = access;
  }

  matches(path: string): boolean {
    return basePaths.some((base) => path === base || path.startsWith(`${base}/`));
  }

  async handle(request: Request, url: URL, peer: string): Promise<Response> {
    checkHost(request, this.#access.names);
    const { headers } = request;
    const origin = headers.get("origin");
    const isOwn = origin === null || URL.parse(origin)?.host === headers.get("host");
    if (isOwn || !this.#allows(origin)) {
      checkOrigin(request);
      return this.#respond(request, url, peer);
    }
    // The page of an allowed origin; a preflight has no credentials.
    const isPreflight = request.method === "OPTIONS" && headers.has("access-control-request-method");
    const response = isPreflight
      ? preflightResponse(request)
      : await this.#respond(withoutCookie(request), url, peer).catch(toErrorResponse);
    response.headers.set("Access-Control-Allow-Origin", origin);
    response.headers.append("Vary", "Origin");
    return response;
  }

  /** `*` allows the pages of this machine: control, unlike the interface, needs no token. */
  #allows(origin: string): boolean {
    const { cors } = this.#access;
    if (cors === "*") return /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(origin);
    return cors !== "off" && cors.includes(origin);
  }

  async #respond(request: Request, url: URL, peer: string): Promise<Response> {
    await this.#access.authenticate(request, peer);
    return this.#route(request, url, peer);
  }

  async #route(request: Request, url: URL, peer: string): Promise<Response> {
    const path = url.pathname.replace(/^\/console\/api/, "");
    const found = this.#patterns.filter(({ pattern }) => pattern.test(path));
    if (found.length === 0)
      throw new AdminError(
        404,
        `There is nothing at ${url.pathname}; GET /sandbox/openapi.json lists what there is.`,
      );
    const one = found.find(({ method }) => method === request.method);
    if (one === undefined) {
      const methods = found.map(({ method }) => method).join(", ");
      throw new AdminError(405, `${request.method} is not offered at ${url.pathname}; it has ${methods}.`, {
        Allow: methods,
      });
    }
    const unknown = [...url.searchParams.keys()].find((name) => !one.queryNames.includes(name));
    if (unknown !== undefined) {
      const known = one.queryNames.length === 0 ? "none" : one.queryNames.join(", ");
      throw new AdminError(
        400,
        `${JSON.stringify(unknown)} is not a parameter of ${request.method} ${url.pathname}; it has ${known}.`,
      );
    }
    return one.handle({
      parameter: decodeParameter(one.pattern.exec(path)?.[1] ?? ""),
      query: url.searchParams,
      signal: request.signal,
      json: () => this.#bodies.json(request, peer),
    });
  }
}

function preflightResponse({ headers }: Request): Response {
  return respond(null, 204, {
    "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
    "Access-Control-Allow-Headers": headers.get("access-control-request-headers") ?? "Content-Type",
  });
}

/** A session of the console is for its own page only. */
function withoutCookie(request: Request): Request {
  const copy = new Request(request);
  copy.headers.delete("Cookie");
  return copy;
}

function toErrorResponse(error: unknown): Response {
  if (error instanceof AdminError) return respondError(error.status, error.message, error.headers);
  throw error;
}

/** A response of control with a JSON body, in which a bigint is a number with all of its digits. */
export function respondControl(value: unknown, status = 200): Response {
  return respond(toExactJson(value), status, { "Content-Type": "application/json" });
}

/** 204: done, and there is nothing to say. */
export function respondDone(): Response {
  return respond(null, 204, {});
}

function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AdminError(400, `${JSON.stringify(text)} in the path is not percent-encoded UTF-8.`);
  }
}

/** A number of the query. Throws an AdminError if it is out of its range. */
export function parseNumber(
  query: URLSearchParams,
  name: string,
  range: { readonly least: number; readonly most?: number; readonly default: number },
): number {
  const text = query.get(name);
  if (text === null) return range.default;
  const { least, most = Number.MAX_SAFE_INTEGER } = range;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  const limits = range.most === undefined ? `from ${least} on` : `from ${least} to ${most}`;
  throw new AdminError(400, `${name} must be a whole number ${limits}, but is ${JSON.stringify(text)}.`);
}
