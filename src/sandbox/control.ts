// Serves control of a sandbox: the routes below /sandbox/ of the admin listener. Every request
// passes these checks in this order: host, origin, password, route.

import type { Context } from "hono";
import { cors as allowOrigins } from "hono/cors";
import { Hono } from "hono/tiny";
import type { AdminRoutes } from "../admin/admin-server.ts";
import { AdminError, respond, respondError } from "../admin-pages/admin-responses.ts";
import { RequestBodies } from "../admin-pages/request-bodies.ts";
import { checkHost, checkOrigin } from "../admin-pages/request-origin.ts";
import type { CorsOrigins } from "../http/cors.ts";
import { toExactJson } from "../json/exact-json.ts";
import { controlDocument } from "./control-document.ts";
import { describedJson } from "./described-json.ts";
import { type ControlParameter, parseQuery } from "./described-query.ts";

export interface ControlRequest {
  /** The parameters in the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Integers, with the defaults of openapi-control.yaml. */
  readonly query: Readonly<Record<string, bigint | string | undefined>>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Reads the body, with exact integers. Rejects with an AdminError unless it is as described. */
  readonly body: <Described>() => Promise<Described>;
}

/** Throws an AdminError for a request that it rejects. */
type ControlHandler = (request: ControlRequest) => Response | Promise<Response>;

/** The handlers by their operations in openapi-control.yaml, such as `GET /sandbox/{collection}/{id}`. */
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

/** An operation with what its requests have, as openapi-control.yaml describes it. */
interface ControlOperation {
  readonly parameters?: readonly ControlParameter[];
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: { readonly $ref: string } } };
  };
}

type ControlPaths = Readonly<Record<string, Readonly<Record<string, ControlOperation>>>>;

/** `peer` is the address at the other end of the connection. */
type Env = { Bindings: { readonly peer: string } };

export class Control implements AdminRoutes {
  readonly paths = basePaths.flatMap((path) => [path, `${path}/*`]);
  /** A test suite calls control between any two of its tests. */
  readonly routes: ControlRoutes;
  readonly #app = new Hono<Env>();
  readonly #bodies = new RequestBodies(bodyLimits);

  constructor(routes: ControlRoutes, { names, cors, authenticate }: ControlAccess) {
    this.routes = { "GET /sandbox/openapi.json": () => respondControl(controlDocument), ...routes };
    this.#app
      .onError(respondError)
      .use(({ req }, next) => {
        checkHost(req.raw, names);
        return next();
      })
      .use(async (c, next) => {
        if (isCrossOrigin(c, cors)) return await allowOtherOrigins(c, next);
        checkOrigin(c.req.raw);
        await next();
      })
      .use(async (c, next) => {
        const headers = new Headers(c.req.raw.headers);
        // A session of the console is for its own page only.
        if (isCrossOrigin(c, cors)) headers.delete("Cookie");
        await authenticate(new Request("http://localhost/", { headers }), c.env.peer);
        await next();
      });
    for (const base of basePaths) this.#addRoutes(base);
    this.#app.all("*", ({ req }) => {
      throw nothingAt(req.path);
    });
  }

  handle(request: Request, peer: string): Response | Promise<Response> {
    return this.#app.fetch(request, { peer });
  }

  #addRoutes(base: string): void {
    const parse = describedJson(controlDocument);
    const paths = controlDocument.paths as ControlPaths;
    const operations = Object.entries(this.routes).map(([operation, handle]) => {
      const [method = "", path = ""] = operation.split(" ");
      const pattern = path.replace("/sandbox", base).replaceAll(/\{(\w+)\}/g, ":$1");
      const { parameters = [], requestBody } = paths[path]?.[method.toLowerCase()] ?? {};
      const inQuery = parameters.filter((parameter) => parameter.in === "query");
      const schema = requestBody?.content["application/json"].schema.$ref;
      return { method, pattern, inQuery, schema, handle };
    });
    // The paths of collections match those of other parts, and come after them.
    const byPattern = [...Map.groupBy(operations, ({ pattern }) => pattern)].toSorted(
      ([one], [other]) => Number(one.includes(":collection")) - Number(other.includes(":collection")),
    );
    for (const [pattern, offered] of byPattern) {
      for (const { method, inQuery, schema, handle } of offered)
        this.#app.on(method, pattern, (c) =>
          handle({
            parameters: c.req.param(),
            query: parseQuery(c.req, inQuery),
            signal: c.req.raw.signal,
            body: async () => parse(await this.#bodies.json(c.req.raw, c.env.peer), schema),
          }),
        );
      this.#app.all(pattern, ({ req }) => {
        const methods = offered.map(({ method }) => method).join(", ");
        throw new AdminError(405, `${req.method} is not offered at ${req.path}; it has ${methods}.`, {
          Allow: methods,
        });
      });
    }
  }
}

export function nothingAt(path: string): AdminError {
  return new AdminError(404, `There is nothing at ${path}; GET /sandbox/openapi.json lists what there is.`);
}

/** Whether a request is from the page of another origin that may use control. */
function isCrossOrigin({ req }: Context, cors: CorsOrigins): boolean {
  const origin = req.header("origin");
  if (origin === undefined || URL.parse(origin)?.host === req.header("host")) return false;
  // `*` allows the pages of this machine: control, unlike the interface, needs no token.
  if (cors === "*") return /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(origin);
  return cors !== "off" && cors.includes(origin);
}

/** A preflight has no credentials, and gets no further. */
const allowOtherOrigins = allowOrigins({
  origin: (origin) => origin,
  allowMethods: ["GET", "POST", "PUT", "DELETE"],
});

/** A response of control with a JSON body, in which a bigint is a number with all of its digits. */
export function respondControl(value: unknown, status = 200): Response {
  return respond(toExactJson(value), status, { "Content-Type": "application/json" });
}

/** A response of control with JSON that is written already. */
export function respondControlJson(json: string, status = 200): Response {
  return respond(json, status, { "Content-Type": "application/json" });
}

/** 204: done, and there is nothing to say. */
export function respondDone(): Response {
  return respond(null, 204, {});
}
