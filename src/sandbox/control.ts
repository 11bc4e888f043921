// Control of a sandbox: the routes below /sandbox/ of the admin listener. Every request passes
// these checks in this order: host, origin, password, route.

import { checkHost, checkOrigin } from "../console/request-origin.ts";
import { AdminError, RequestBodies } from "../core/admin/request-bodies.ts";
import { respond } from "../core/admin/responses.ts";
import type { AdminRoutes } from "../core/admin/server.ts";

declare global {
  interface JSON {
    // https://github.com/tc39/proposal-json-parse-with-source
    /** A value that JSON.stringify writes as this text. */
    rawJSON(text: string): object;
  }
}

/** A request to a route. */
interface ControlRequest {
  /** The parameters in the path: `{id}` is the property id, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Header fields, and the signal that is aborted when the client disconnects. */
  readonly request: Request;
  /** The body with exact integers. Throws a AdminError unless it is a JSON object. */
  readonly json: () => Promise<Readonly<Record<string, unknown>>>;
}

export interface ControlRoute {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Below /sandbox, such as /plants/{id}; "" for /sandbox itself. */
  readonly path: string;
  /** Throws a AdminError for a request that it rejects. */
  handle(request: ControlRequest): Response | Promise<Response>;
}

/** A part of a sandbox that control serves. */
export interface SandboxPart {
  readonly routes: readonly ControlRoute[];
  /** Brings the part to the state of the start. A promise delays the response to the reset. */
  reset?(): void | Promise<void>;
  /** The fields of the part in GET /sandbox. */
  describe?(): Readonly<Record<string, unknown>>;
}

/** Decides who may use control. */
export interface ControlAccess {
  /** Host names accepted in addition to addresses and localhost. */
  readonly names: readonly string[];
  /** Whether a request is from a client that may use control; a AdminError says what it lacks. */
  readonly authenticate: (request: Request, peer: string) => Promise<AdminError | undefined>;
  /** Called with an exception that nothing else handles. */
  readonly onInternalError: (error: unknown) => void;
}

/** The largest is the list of rules. */
const bodyLimits = { bodyBytesMax: 2 ** 20, inFlightBytesMax: 32 * 2 ** 20, arrivalMsMax: 20_000 };

/** The second one is for the page of the console, whose cookie is sent to no other path. */
const basePaths = ["/sandbox", "/console/api/sandbox"];

export class Control implements AdminRoutes {
  /** A test suite calls control between any two of its tests. */
  readonly isPaced = false;
  readonly routes: readonly ControlRoute[];
  readonly #patterns: readonly { readonly route: ControlRoute; readonly pattern: RegExp }[];
  readonly #access: ControlAccess;
  readonly #bodies = new RequestBodies(bodyLimits);

  constructor(routes: readonly ControlRoute[], access: ControlAccess) {
    this.routes = [{ method: "GET", path: "/openapi.json", handle: describeControl }, ...routes];
    this.#patterns = this.routes.map((route) => ({ route, pattern: toPattern(route.path) }));
    this.#access = access;
  }

  matches(path: string): boolean {
    return basePaths.some((base) => path === base || path.startsWith(`${base}/`));
  }

  async handle(request: Request, url: URL, peer: string): Promise<Response> {
    const rejection = checkHost(request, this.#access.names) ?? checkOrigin(request);
    if (rejection !== undefined)
      return respondControlError(new AdminError(rejection.status, rejection.message));
    try {
      const unauthenticated = await this.#access.authenticate(request, peer);
      if (unauthenticated !== undefined) return respondControlError(unauthenticated);
      return await this.#route(request, url, peer);
    } catch (error) {
      if (error instanceof AdminError) return respondControlError(error);
      this.#access.onInternalError(error);
      return respondControlError(new AdminError(500, "Internal error; see the log of the sandbox."));
    }
  }

  async #route(request: Request, url: URL, peer: string): Promise<Response> {
    const base = basePaths.find((each) => url.pathname.startsWith(each)) ?? "";
    const path = url.pathname.slice(base.length);
    const found = this.#patterns.filter(({ pattern }) => pattern.test(path));
    if (found.length === 0)
      throw new AdminError(
        404,
        `There is nothing at ${url.pathname}; GET /sandbox/openapi.json lists what there is.`,
      );
    const one = found.find(({ route }) => route.method === request.method);
    if (one === undefined) {
      const methods = found.map(({ route }) => route.method).join(", ");
      throw new AdminError(405, `${request.method} is not offered at ${url.pathname}; it has ${methods}.`, {
        Allow: methods,
      });
    }
    return one.route.handle({
      parameters: decodeParameters(one.pattern.exec(path)?.groups ?? {}),
      query: url.searchParams,
      request,
      json: () => this.#bodies.json(request, peer),
    });
  }
}

/** Imported when it is first requested: to parse it takes some milliseconds. */
async function describeControl(): Promise<Response> {
  return respondControl((await import("./openapi-control.yaml")).default);
}

/** A response of control with a JSON body, in which a bigint is a number with all of its digits. */
export function respondControl(value: unknown, status = 200): Response {
  const text = JSON.stringify(value, (_, field) =>
    typeof field === "bigint" ? JSON.rawJSON(String(field)) : field,
  );
  return respond(text, status, { "Content-Type": "application/json" });
}

/** 204: done, and there is nothing to say. */
export function respondDone(): Response {
  return respond(null, 204, {});
}

function respondControlError({ status, message, headers }: AdminError): Response {
  return respond(JSON.stringify({ message }), status, { "Content-Type": "application/json", ...headers });
}

function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
}

function decodeParameters(groups: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decodeParameter(text)]));
}

function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AdminError(400, `${JSON.stringify(text)} in the path is not percent-encoded UTF-8.`);
  }
}
