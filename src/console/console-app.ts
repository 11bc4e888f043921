// Routes the requests of the console. Each passes these checks in this order: host, origin,
// session.

import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { AdminError, respond, respondError } from "../admin-pages/admin-responses.ts";
import type { TrustedProxies } from "../admin-pages/client-address.ts";
import { RequestBodies } from "../admin-pages/request-bodies.ts";
import { checkHost, checkOrigin } from "../admin-pages/request-origin.ts";
import type { Clock, ServerEvents } from "../base/server-event.ts";
import { idMaker, randomProcess } from "../plants/new-ids.ts";
import type { PlantStore } from "../store/plant-store.ts";
import { Imports } from "./calls/import-calls.ts";
import { exportPlants, getPlant, listPlants } from "./calls/plant-calls.ts";
import { PlantChanges } from "./calls/plant-changes.ts";
import { TokenCalls } from "./calls/token-calls.ts";
import type { ConsoleContext } from "./console-context.ts";
import { type PageContract, pageContract } from "./page-contract.ts";
import { parseCollection, pickStrings } from "./parameters.ts";
import { PlantCount } from "./reads/plant-count.ts";
import type { Reader } from "./reads/reader.ts";
import type { RecentRequests } from "./reads/recent-requests.ts";
import type { CollectionSamples } from "./reads/recent-samples.ts";
import type { Sessions } from "./session/sessions.ts";

export interface ConsoleOptions {
  readonly store: PlantStore;
  readonly events: ServerEvents;
  readonly now: Clock;
  /** Milliseconds since the epoch: the clock by which tokens expire. */
  readonly wallNow: () => number;
  /** Host names that the admin listener is reached by, in addition to addresses and localhost. */
  readonly names: readonly string[];
  /** Proxies whose headers give the address of a client. */
  readonly trustedProxies: TrustedProxies;
  readonly passwordHash: string | undefined;
  readonly bodyBytesMax: number;
  /** Shown on the page. */
  readonly version: string;
}

/** Parts of the console that run from the start of the server. */
export interface ConsoleState {
  readonly samples: CollectionSamples;
  readonly requests: RecentRequests;
  readonly sessions: Sessions;
  readonly reader: Reader;
  /** Undefined before the first request. */
  imports?: Imports;
}

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

/** `peer` is the address at the other end of the connection. */
type Env = { Bindings: { readonly peer: string } };

/** @param resources closed before the store. */
export function consoleApp(
  options: ConsoleOptions,
  state: ConsoleState,
  resources: AsyncDisposableStack,
): Hono<Env> {
  const { store } = options;
  const { contract } = store;
  const { samples, requests, sessions } = state;
  const callsOf = collectionCalls(options, state);
  const imports = new Imports();
  state.imports = imports;
  resources.defer(() => imports.stop());
  const tokens = new TokenCalls(store.tokens, options.wallNow);

  const bodies = new RequestBodies(bodyLimits);
  const clientOf = (c: Context<Env>) => options.trustedProxies.clientAddress(c.req.raw, c.env.peer);
  const api = new Hono<Env>();
  /** Responds with the result of a call as JSON, `{}` without one. A Response is sent as it is. */
  const read = (path: string, call: (parameters: URLSearchParams) => unknown) =>
    api.get(path, async (c) => toResponse(await call(parametersOf(c))));
  const write = (path: string, call: (body: Body, client: string, parameters: URLSearchParams) => unknown) =>
    api.post(path, async (c) =>
      toResponse(await call(await bodies.json(c.req.raw, c.env.peer), clientOf(c), parametersOf(c))),
    );
  addSessions(api, sessions, pageContract(contract), clientOf);
  api.use(async (c, next) => {
    if (!sessions.isAuthenticated(c.req.raw)) throw new AdminError(401, "Log in first.");
    if (c.req.method !== "GET" && c.req.method !== "POST")
      throw new AdminError(405, "The method is not allowed here; use GET or POST.");
    await next();
  });
  read("/history", (parameters) => ({
    ...samples.of(parseCollection(contract, parameters)).list(options.now()),
    about: { version: options.version, engine: store.engine },
  }));
  read("/plants", (parameters) => listPlants(callsOf(parameters).context, parameters));
  read("/plant", (parameters) => getPlant(callsOf(parameters).context, parameters));
  read("/count", (parameters) => callsOf(parameters).count.read());
  read("/edits", (parameters) => callsOf(parameters).changes.history(parameters));
  read("/export", (parameters) => exportPlants(callsOf(parameters).context, parameters));
  read("/requests", (parameters) => requests.list(parameters));
  read("/tokens", () => tokens.list());
  write("/plants", (body, client, parameters) =>
    callsOf(parameters).changes.create(pickStrings(body, "body"), client),
  );
  write("/edits", (body, client, parameters) =>
    callsOf(parameters).changes.edit(pickStrings(body, "plants", "change", "value"), client),
  );
  write("/edits/undo", (body, client, parameters) =>
    callsOf(parameters).changes.undo(pickStrings(body, "run", "id"), client),
  );
  write("/tokens", (body) => tokens.issue(pickStrings(body, "name", "expires")));
  write("/tokens/revoke", (body) => tokens.revoke(pickStrings(body, "name")));
  // Its body is a file.
  api.post("/import", async (c) => {
    const parameters = parametersOf(c);
    const { context } = callsOf(parameters);
    return respondJson(await imports.run(context, parameters, c.req.raw, clientOf(c)));
  });
  api.all("*", () => {
    throw new AdminError(404, "There is no such call.");
  });

  let files: ReturnType<typeof import("./page-files.ts").pageFiles> | undefined;
  return (
    new Hono<Env>()
      .onError(respondError)
      .use(({ req }, next) => {
        checkHost(req.raw, options.names);
        return next();
      })
      .use("/console/api/*", ({ req }, next) => {
        checkOrigin(req.raw);
        return next();
      })
      .route("/console/api", api)
      .on(["GET", "HEAD"], "/console/*", async (c) => {
        const { pageFiles } = await import("./page-files.ts");
        files ??= pageFiles(store.contract.service);
        return files.fetch(c.req.raw);
      })
      .all("/console/*", () => {
        throw new AdminError(405, "The method is not allowed here; use GET.");
      })
      // Relative, as a proxy may add a prefix.
      .all("*", () => respond(null, 302, { Location: "console/" }))
  );
}

/** Returns the function that finds the parts of the collection that a request is about. */
function collectionCalls(
  { store, events: { emit }, now, wallNow, bodyBytesMax }: ConsoleOptions,
  { samples, reader }: ConsoleState,
) {
  const { contract } = store;
  const process = randomProcess();
  const all = new Map(
    contract.collections.map((collection) => {
      const context: ConsoleContext = {
        store,
        collection,
        newId: idMaker(collection.id.format ?? "int64", wallNow, process),
        reader: () => reader.open(),
        emit,
        countCreated: (created, unchanged) => samples.of(collection).countImported(created, unchanged, now()),
        now,
        bodyBytesMax,
      };
      return [collection, { context, count: new PlantCount(context), changes: new PlantChanges(context) }];
    }),
  );
  return (parameters: URLSearchParams) => {
    const collection = parseCollection(contract, parameters);
    const calls = collection && all.get(collection);
    if (calls === undefined) throw new AdminError(404, "The contract has no collection.");
    return calls;
  };
}

/** The calls that need no session. */
function addSessions(
  api: Hono<Env>,
  sessions: Sessions,
  contract: PageContract,
  clientOf: (c: Context<Env>) => string,
): void {
  const passwords = new RequestBodies(passwordLimits);
  api.get("/session", ({ req }) =>
    respondJson({
      requiresPassword: sessions.requiresPassword,
      isAuthenticated: sessions.isAuthenticated(req.raw),
      contract: sessions.isAuthenticated(req.raw) ? contract : null,
    }),
  );
  api.post("/session-end", ({ req }) => respondJson({}, { "Set-Cookie": sessions.logOut(req.raw) }));
  if (!sessions.requiresPassword) return;
  api.post("/session", async (c) => {
    const { password } = pickStrings(await passwords.json(c.req.raw, c.env.peer), "password");
    // Trusts the browser's view: TLS may end at a proxy.
    const isSecure = c.req.header("origin")?.startsWith("https:") ?? false;
    return respondJson({}, { "Set-Cookie": await sessions.logIn(password, clientOf(c), isSecure) });
  });
}

/** JSON with bigints as strings: a number in JavaScript is not exact past 2^53. */
function respondJson(value: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  const text = JSON.stringify(value, (_, field) => (typeof field === "bigint" ? String(field) : field));
  return respond(text, 200, { "Content-Type": "application/json", ...headers });
}

function toResponse(result: unknown): Response {
  return result instanceof Response ? result : respondJson(result === undefined ? {} : result);
}

/** The parameters of a request, whose Host may be invalid in a URL. */
function parametersOf({ req }: Context<Env>): URLSearchParams {
  return new URLSearchParams(req.url.slice(req.url.indexOf("?") + 1 || req.url.length));
}
