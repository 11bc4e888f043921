// The console: a page for operators and its API. Every request passes these checks in this order:
// host, origin, session.

import type { TrustedProxies } from "../client-address.ts";
import { AdminError, RequestBodies } from "../core/admin/request-bodies.ts";
import { respond } from "../core/admin/responses.ts";
import type { AdminRoutes } from "../core/admin/server.ts";
import { randomBytes } from "../core/auth/token.ts";
import type { Clock, ServerEvents } from "../core/observability/server-event.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { editSelected, findVersions } from "./bulk-edits.ts";
import type { ConsoleContext } from "./context.ts";
import { Edits } from "./edits.ts";
import { exportPlants } from "./exports.ts";
import { previewImport } from "./import-settings.ts";
import { Imports } from "./imports.ts";
import { Inventory } from "./inventory.ts";
import { createPlant, type PostPublicly } from "./new-plant.ts";
import { changePlant, deletePlant, getPlant, listPage } from "./plants.ts";
import { Reader } from "./reader.ts";
import { RecentRequests } from "./recent-requests.ts";
import { countedFields, RecentSamples } from "./recent-samples.ts";
import { checkHost, checkSameOrigin } from "./request-origin.ts";
import { BadRequestError, respondJson } from "./responses.ts";
import { Sessions } from "./sessions.ts";
import { Tokens } from "./tokens.ts";

export interface ConsoleOptions {
  readonly store: PlantStore;
  readonly events: ServerEvents;
  readonly now: Clock;
  /** Milliseconds since the epoch: the clock by which tokens expire. */
  readonly wallNow: () => number;
  /** Host names that the admin listener is reached by, in addition to addresses and localhost. */
  readonly names: readonly string[];
  /** Their headers give the address of a client that logs in. */
  readonly trustedProxies: TrustedProxies;
  readonly passwordHash: string | undefined;
  readonly bodyBytesMax: number;
  readonly post: PostPublicly;
  /** Shown on the page. */
  readonly version: string;
}

const recentRequestsMax = 1_000;

/**
 * The path on this listener. Links and redirects are relative to it, as a proxy may add a prefix.
 */
const basePath = "/console/";
const apiPath = `${basePath}api/`;

/** Time for a body to arrive. */
const arrivalMsMax = 20_000;

/**
 * Limits before the log-in. The total is unlimited, because clients without a password could use up
 * a shared limit.
 */
const passwordLimits = { bodyBytesMax: 4_096, inFlightBytesMax: Number.MAX_SAFE_INTEGER, arrivalMsMax };

/** Limits after the log-in. The largest body is a plant, as a JSON string that contains JSON. */
const bodyLimits = { bodyBytesMax: 16 * 2 ** 20, inFlightBytesMax: 32 * 2 ** 20, arrivalMsMax };

type Body = Readonly<Record<string, unknown>>;

/** Returns what becomes JSON, nothing for `{}`, or a whole response. Throws an AdminError. */
type Call<Input> = (input: Input, client: string) => unknown;

export class OperatorConsole implements AdminRoutes {
  readonly isPaced = true;
  /** The sessions of those who have given the console's password. */
  readonly sessions: Sessions;
  readonly #options: ConsoleOptions;
  readonly #history: RecentSamples;
  readonly #inventory: Inventory;
  readonly #imports: Imports;
  readonly #resources = new AsyncDisposableStack();
  readonly #passwords = new RequestBodies(passwordLimits);
  readonly #bodies = new RequestBodies(bodyLimits);
  /** Calls by name. A plain object would also have members such as "constructor". */
  readonly #reads: ReadonlyMap<string, Call<URLSearchParams>>;
  readonly #writes: ReadonlyMap<string, Call<Body>>;

  constructor(options: ConsoleOptions) {
    const { store, events, now, bodyBytesMax } = options;
    this.#options = options;
    this.sessions = new Sessions({ passwordHash: options.passwordHash, now, randomBytes });

    const connection = new Reader(store);
    const reader = () => connection.open();
    // Opened at once: on SQLite it is a thread, and Bun exits if a thread starts when no descriptor
    // is free. A failure is reported by the call that needs the connection.
    reader().catch(() => undefined);
    const context: ConsoleContext = { store, reader, emit: events.emit, now, bodyBytesMax };

    this.#history = new RecentSamples(now(), Date.now());
    const requests = new RecentRequests(recentRequestsMax, now);
    this.#inventory = new Inventory(context);
    for (const counter of [this.#history, requests, this.#inventory])
      events.subscribe((event) => counter.handle(event));

    const edits = new Edits(context);
    this.#imports = new Imports(context, edits);
    const tokens = new Tokens(store.tokens, options.wallNow);
    for (const part of [connection, this.#imports]) this.#resources.defer(() => part.close());

    this.#reads = new Map<string, Call<URLSearchParams>>([
      ["history", (parameters) => this.#samples(parameters)],
      ["plants", (parameters) => listPage(context, parameters)],
      ["plant", (parameters) => getPlant(context, parameters)],
      ["plants/versions", (parameters) => findVersions(context, parameters)],
      ["edits", (parameters) => edits.list(parameters)],
      ["export", (parameters) => exportPlants(context, parameters)],
      ["requests", (parameters) => requests.list(parameters)],
      ["inventory", () => this.#inventory.figures()],
      ["tokens", () => tokens.list()],
    ]);
    this.#writes = new Map<string, Call<Body>>([
      [
        "plants",
        (body, client) =>
          createPlant(context, edits, options.post, pickStrings(body, "token", "body"), client),
      ],
      [
        "plant/change",
        (body, client) => changePlant(context, edits, pickStrings(body, "expected", "replacement"), client),
      ],
      [
        "plants/edit",
        (body, client) =>
          editSelected(context, edits, pickStrings(body, "plants", "change", "group"), client),
      ],
      ["edits/undo", (body, client) => edits.undo(pickStrings(body, "run", "id"), client)],
      ["plant/delete", (body, client) => deletePlant(edits, pickStrings(body, "expected"), client)],
      ["tokens", (body) => tokens.issue(pickStrings(body, "name", "expires"))],
      ["tokens/rotate", (body) => tokens.rotate(pickStrings(body, "name", "overlap", "expires"))],
      ["tokens/revoke", (body) => tokens.revoke(pickStrings(body, "name"))],
    ]);
  }

  /** Call it when all plants were replaced. */
  forgetPlants(): void {
    this.#inventory.clear();
  }

  /** Call it when the server has stopped, before the store is closed. */
  close(): Promise<void> {
    return this.#resources.disposeAsync();
  }

  matches(path: string): boolean {
    return path === "/" || path === basePath.slice(0, -1) || path.startsWith(basePath);
  }

  /** @param peer the address at the other end of the connection. */
  async handle(request: Request, { pathname, searchParams }: URL, peer: string): Promise<Response> {
    checkHost(request, this.#options.names);
    if (!pathname.startsWith(basePath)) return respond(null, 302, { Location: basePath.slice(1) });
    if (!pathname.startsWith(apiPath)) return this.#pageFile(request, pathname.slice(basePath.length));
    checkSameOrigin(request);
    const result = await this.#call(request, pathname.slice(apiPath.length), searchParams, peer);
    if (result instanceof Response) return result;
    return respondJson(result === undefined ? {} : result);
  }

  async #pageFile(request: Request, path: string): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD")
      throw new AdminError(405, "The method is not allowed here; use GET.");
    const { pageFiles } = await import("./page-files.ts");
    if (!pageFiles.has(path)) throw new AdminError(404, "There is no such file.");
    return pageFiles.respond(path, request);
  }

  async #call(request: Request, name: string, parameters: URLSearchParams, peer: string): Promise<unknown> {
    if (name.startsWith("session")) return this.#session(request, name, peer);
    if (!this.sessions.isAuthenticated(request)) throw new AdminError(401, "Log in first.");
    const client = this.#options.trustedProxies.clientAddress(request, peer);
    if (request.method === "GET") return (this.#reads.get(name) ?? notFound)(parameters, client);
    if (request.method !== "POST")
      throw new AdminError(405, "The method is not allowed here; use GET or POST.");
    // The calls whose body is a file, or its start.
    if (name === "import") return this.#imports.run(parameters, request, client);
    if (name === "import/preview")
      return previewImport(await this.#bodies.bytes(request, peer), parameters, this.#options.bodyBytesMax);
    return (this.#writes.get(name) ?? notFound)(await this.#bodies.json(request, peer), client);
  }

  async #session(request: Request, name: string, peer: string): Promise<unknown> {
    const { sessions } = this;
    const { requiresPassword } = sessions;
    if (name === "session" && request.method === "GET")
      return { requiresPassword, isAuthenticated: sessions.isAuthenticated(request) };
    if (name === "session-end" && request.method === "POST")
      return respondJson({}, { "Set-Cookie": sessions.logOut(request) });
    if (name !== "session" || request.method !== "POST" || !requiresPassword) return notFound();
    const { password } = pickStrings(await this.#passwords.json(request, peer), "password");
    // Trusts the browser's view: TLS may end at a proxy.
    const isSecure = request.headers.get("origin")?.startsWith("https:") ?? false;
    const client = this.#options.trustedProxies.clientAddress(request, peer);
    const cookie = await sessions.logIn(password, client, isSecure);
    return respondJson({}, { "Set-Cookie": cookie });
  }

  #samples(parameters: URLSearchParams) {
    const { store, now, version } = this.#options;
    const since = Number(parameters.get("since") ?? 0);
    if (!Number.isSafeInteger(since) || since < 0)
      throw new BadRequestError("since must be the number of a sample.");
    const isMinutes = parameters.get("length") === "minute";
    const found = isMinutes ? this.#history.minutesSince(since, now()) : this.#history.since(since, now());
    return {
      ...found,
      samples: found.samples.map(countedFields),
      about: { version, engine: store.engine },
    };
  }
}

function notFound(): never {
  throw new AdminError(404, "There is no such call.");
}

/** Throws a BadRequestError if one of the fields is not a string. */
function pickStrings<Name extends string>(body: Body, ...names: readonly Name[]): Record<Name, string> {
  const wrong = names.find((name) => typeof body[name] !== "string");
  if (wrong !== undefined) throw new BadRequestError(`"${wrong}" must be a string.`);
  return body as Record<Name, string>;
}
