// The console: a page for operators and its API. Every request passes these checks in this order:
// host, origin, session.

import type { TrustedProxies } from "../client-address.ts";
import { AdminError, RequestBodies } from "../core/admin/request-bodies.ts";
import { respond, securityHeaders } from "../core/admin/responses.ts";
import type { AdminRoutes } from "../core/admin/server.ts";
import { fields } from "../core/contract/fields.ts";
import { OperatorError } from "../core/operator-error.ts";
import { StaticFiles } from "../static-files.ts";
import type { Backups } from "./backups.ts";
import type { BulkEdits } from "./bulk-edits.ts";
import type { Edits } from "./edits.ts";
import type { Exports } from "./exports.ts";
import type { Imports } from "./imports.ts";
import type { Indexes } from "./indexes.ts";
import type { Inventory } from "./inventory.ts";
import type { NewPlants } from "./new-plant.ts";
import { type Plants, parseSearch } from "./plants.ts";
import type { RecentSamples } from "./recent-samples.ts";
import { countedFields, minuteMs, minutesMax, sampleMs, samplesMax } from "./recent-samples.ts";
import { checkHost, checkSameOrigin } from "./request-origin.ts";
import type { Requests } from "./requests.ts";
import { BadRequestError, respondError, respondJson } from "./responses.ts";
import type { Sessions } from "./sessions.ts";
import type { Tokens } from "./tokens.ts";

export interface ConsoleDependencies {
  /** Host names that the admin listener is reached by, in addition to addresses and localhost. */
  readonly names: readonly string[];
  /** Their headers give the address of a client that logs in. */
  readonly trustedProxies: TrustedProxies;
  readonly sessions: Sessions;
  readonly plants: Plants;
  readonly edits: Edits;
  readonly bulkEdits: BulkEdits;
  readonly inventory: Inventory;
  readonly newPlants: NewPlants;
  readonly imports: Imports;
  readonly exports: Exports;
  /** Undefined if the engine has its own tools. */
  readonly backups: Backups | undefined;
  readonly requests: Requests;
  readonly tokens: Tokens;
  readonly indexes: Indexes;
  readonly history: RecentSamples;
  readonly now: () => number;
  /** Shown on the page. `run` is unique for each start of a server. */
  readonly about: { readonly version: string; readonly engine: string; readonly run: string };
  /** Called with an exception that nothing else handles. */
  readonly onInternalError: (error: unknown) => void;
}

/**
 * The path on this listener. Links and redirects are relative to it, as a proxy may add a prefix.
 */
const basePath = "/console/";
const apiPath = `${basePath}api/`;

/** Matches the page's files that only a sandbox has. */
const sandboxPrefix = "sandbox";

/** Time for a body to arrive. */
const arrivalMsMax = 20_000;

/**
 * Limits before the log-in. The total is unlimited, because clients without a password could use up
 * a shared limit.
 */
const passwordLimits = { bodyBytesMax: 4_096, inFlightBytesMax: Number.MAX_SAFE_INTEGER, arrivalMsMax };

/** A part of an imported file. At a kilobyte a second it still arrives. */
const partLimits = { bodyBytesMax: 2 ** 20, inFlightBytesMax: 16 * 2 ** 20, arrivalMsMax: 600_000 };

/** Limits after the log-in. The largest body is a plant, as a JSON string that contains JSON. */
const bodyLimits = { bodyBytesMax: 16 * 2 ** 20, inFlightBytesMax: 32 * 2 ** 20, arrivalMsMax };

type Body = Readonly<Record<string, unknown>>;

/** Calls by name. A plain object would also have members such as "constructor". */
type Calls<Input> = ReadonlyMap<string, Call<Input>>;
/** @param client the address of the operator's browser. */
type Call<Input> = (input: Input, client: string) => Response | Promise<Response>;

export class OperatorConsole implements AdminRoutes {
  readonly isPaced = true;
  readonly #dependencies: ConsoleDependencies;
  /** Created when the page is first requested. */
  #pageFiles: StaticFiles | undefined;
  readonly #passwords = new RequestBodies(passwordLimits);
  readonly #bodies = new RequestBodies(bodyLimits);
  readonly #parts = new RequestBodies(partLimits);
  readonly #reads: Calls<URLSearchParams>;
  readonly #writes: Calls<Body>;

  constructor(dependencies: ConsoleDependencies) {
    const {
      plants,
      edits,
      bulkEdits,
      inventory,
      newPlants,
      imports,
      exports,
      backups,
      requests,
      tokens,
      indexes,
    } = dependencies;
    this.#dependencies = dependencies;
    this.#reads = new Map<string, Call<URLSearchParams>>([
      ["history", (parameters) => this.#history(parameters)],
      ["plants", (parameters) => plants.list(parameters)],
      ["plants/export", (parameters) => plants.export(parameters)],
      ["plant", (parameters) => plants.get(parameters)],
      ["plants/ids", (parameters) => bulkEdits.find(parameters)],
      ["edits", (parameters) => edits.list(parameters)],
      ["export", (parameters) => exports.start(parameters, parseSearch(parameters))],
      ["export/progress", (parameters) => exports.progress(parameters)],
      ["import", () => imports.status()],
      ["import/rejected", (parameters) => imports.rejected(parameters)],
      ["backup", () => backups?.status() ?? noBackups()],
      ["backup/download", () => backups?.download() ?? noBackups()],
      ["requests", (parameters) => requests.list(parameters)],
      ["inventory", () => inventory.figures()],
      ["tokens", () => tokens.list()],
      ["index", () => indexes.state()],
    ]);
    this.#writes = new Map<string, Call<Body>>([
      ["plants", (body, client) => newPlants.create(pickStrings(body, "token", "body"), client)],
      [
        "import",
        (body, client) =>
          imports.start(
            pickStrings({ update: "off", ...body }, "format", "delimiter", "columns", "update"),
            client,
          ),
      ],
      ["import/end", (body) => imports.end(pickStrings(body, "import", "bytes"))],
      ["import/cancel", (body) => imports.cancel(pickStrings(body, "import"))],
      ["backup", () => backups?.start() ?? noBackups()],
      ["backup/cancel", () => backups?.cancel() ?? noBackups()],
      ["plant/change", (body, client) => plants.change(pickStrings(body, "expected", "replacement"), client)],
      ["plants/edit", (body, client) => bulkEdits.edit(pickStrings(body, "ids", "change", "tag"), client)],
      ["edits/undo", (body, client) => edits.undo(pickStrings(body, "run", "id"), client)],
      ["plant/delete", (body, client) => plants.delete(pickStrings(body, "expected"), client)],
      ["tokens", (body) => tokens.issue(pickStrings(body, "name", "expires"))],
      ["tokens/rotate", (body) => tokens.rotate(pickStrings(body, "name", "overlap", "expires"))],
      ["tokens/revoke", (body) => tokens.revoke(pickStrings(body, "name"))],
      ["index", (body) => indexes.change(pickStrings(body, "change"))],
    ]);
  }

  matches(path: string): boolean {
    return path === "/" || path === basePath.slice(0, -1) || path.startsWith(basePath);
  }

  /** @param peer the address at the other end of the connection. */
  async handle(request: Request, { pathname, searchParams }: URL, peer: string): Promise<Response> {
    const unknownHost = checkHost(request, this.#dependencies.names);
    if (unknownHost !== undefined) return respondError(unknownHost.status, unknownHost.message);
    if (!pathname.startsWith(basePath)) return respond(null, 302, { Location: basePath.slice(1) });
    const isPage = !pathname.startsWith(apiPath);
    const crossOrigin = isPage ? undefined : checkSameOrigin(request);
    if (crossOrigin !== undefined) return respondError(crossOrigin.status, crossOrigin.message);
    try {
      if (isPage) return await this.#pageFile(request, pathname.slice(basePath.length));
      return await this.#api(request, pathname.slice(apiPath.length), searchParams, peer);
    } catch (error) {
      if (error instanceof AdminError) return respondError(error.status, error.message, error.headers);
      if (error instanceof OperatorError) return respondError(503, error.message);
      this.#dependencies.onInternalError(error);
      return respondError(500, "Internal error; see the server's log.");
    }
  }

  async #pageFile(request: Request, path: string): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD")
      return respondError(405, "The method is not allowed here; use GET.");
    this.#pageFiles ??= new StaticFiles({
      files: (await import("./page-files.js")).pageFiles,
      caching: "revalidate",
      headers: securityHeaders,
    });
    if (path === "fields.js") return respondFields(request);
    const isElsewhere = path.startsWith(sandboxPrefix) && this.#dependencies.about.engine !== "memory";
    if (isElsewhere || !this.#pageFiles.has(path)) return respondError(404, "There is no such file.");
    const file = await this.#pageFiles.respond(path, request);
    return new Response(file.body, file);
  }

  async #api(request: Request, name: string, parameters: URLSearchParams, peer: string): Promise<Response> {
    if (name.startsWith("session")) return this.#session(request, name, peer);
    if (!this.#dependencies.sessions.isAuthenticated(request)) return respondError(401, "Log in first.");
    const client = this.#dependencies.trustedProxies.clientAddress(request, peer);
    if (request.method === "GET") return (await this.#reads.get(name)?.(parameters, client)) ?? notFound();
    // The calls whose body is a part of a file.
    const { imports } = this.#dependencies;
    const receive = () => this.#parts.bytes(request, peer);
    if (request.method === "POST" && name === "import/part") return imports.add(parameters, receive);
    if (request.method === "POST" && name === "import/preview")
      return imports.preview(parameters, await receive());
    if (request.method === "POST")
      return (await this.#writes.get(name)?.(await this.#bodies.json(request, peer), client)) ?? notFound();
    return respondError(405, "The method is not allowed here; use GET or POST.");
  }

  async #session(request: Request, name: string, peer: string): Promise<Response> {
    const { sessions, trustedProxies } = this.#dependencies;
    const { requiresPassword } = sessions;
    if (name === "session" && request.method === "GET")
      return respondJson({ requiresPassword, isAuthenticated: sessions.isAuthenticated(request) });
    if (name === "session-end" && request.method === "POST")
      return respondJson({}, 200, { "Set-Cookie": sessions.logOut(request) });
    if (name !== "session" || request.method !== "POST" || !requiresPassword) return notFound();
    const { password } = pickStrings(await this.#passwords.json(request, peer), "password");
    // Trusts the browser's view: TLS may end at a proxy.
    const isSecure = request.headers.get("origin")?.startsWith("https:") ?? false;
    const result = await sessions.logIn(password, trustedProxies.clientAddress(request, peer), isSecure);
    if (result === "tooMany") return respondError(429, "Too many attempts; try again in a minute.");
    if (result === "wrong") return respondError(403, "Wrong password.");
    return respondJson({}, 200, { "Set-Cookie": result.cookie });
  }

  #history(parameters: URLSearchParams): Response {
    const { history, now, about } = this.#dependencies;
    const since = Number(parameters.get("since") ?? 0);
    if (!Number.isSafeInteger(since) || since < 0)
      throw new BadRequestError("since must be the number of a sample.");
    const isMinutes = parameters.get("length") === "minute";
    const { first, samples } = history.since(isMinutes ? minuteMs : sampleMs, since, now());
    return respondJson({
      first,
      samples: samples.map((sample) => sample && countedFields(sample)),
      ...(isMinutes ? { sampleMs: minuteMs, samplesMax: minutesMax } : { sampleMs, samplesMax }),
      about,
    });
  }
}

/** The table of the fields of a plant as a module of the page. */
function respondFields(request: Request): Response {
  const script = `export const fields = ${JSON.stringify(fields)};\n`;
  const etag = `"${Bun.hash(script)}"`;
  const isKnown = request.headers.get("if-none-match") === etag;
  const headers = {
    ...securityHeaders,
    "Content-Type": "text/javascript; charset=utf-8",
    "Cache-Control": "no-cache",
    ETag: etag,
  };
  return new Response(isKnown ? null : script, { status: isKnown ? 304 : 200, headers });
}

function noBackups(): Response {
  return respondError(
    404,
    "This store has no backup here: for PostgreSQL use pg_dump, or pg_basebackup for the whole cluster; a store in memory is not kept.",
  );
}

function notFound(): Response {
  return respondError(404, "There is no such call.");
}

/** Throws a BadRequestError if one of the fields is not a string. */
function pickStrings<Name extends string>(body: Body, ...names: readonly Name[]): Record<Name, string> {
  const wrong = names.find((name) => typeof body[name] !== "string");
  if (wrong !== undefined) throw new BadRequestError(`"${wrong}" must be a string.`);
  return body as Record<Name, string>;
}
