// The console: a page for operators and the API behind it. What happens to a request, in the order in which it happens.

import { BodyReader } from "../../api/body-reader.ts";
import { ApiError, statusOf } from "../../contract/errors.ts";
import type { RecentSamples } from "../../observability/recent-samples.ts";
import { sampleMs, samplesMax } from "../../observability/recent-samples.ts";
import { OperatorError } from "../../operator-error.ts";
import { addressOf } from "../address.ts";
import type { TrustedProxies } from "../client-address.ts";
import { checkHost, checkSameOrigin } from "./guard.ts";
import type { Indexes } from "./indexes.ts";
import { PageFiles } from "./page-files.ts";
import type { Plants } from "./plants.ts";
import { answer, BadRequest, json, refuse } from "./responses.ts";
import type { Sessions } from "./sessions.ts";
import type { Tokens } from "./tokens.ts";

export interface ConsoleDependencies {
  /** Names that the admin listener is reached by, beside addresses and localhost. */
  readonly names: readonly string[];
  /** They say which address a log-in comes from. */
  readonly trustedProxies: TrustedProxies;
  readonly sessions: Sessions;
  readonly plants: Plants;
  readonly tokens: Tokens;
  readonly indexes: Indexes;
  readonly history: RecentSamples;
  readonly now: () => number;
  /** What the page says of the server. `run` tells it from every other one, and from this one started anew. */
  readonly about: { readonly version: string; readonly engine: string; readonly run: string };
  /** Hears of what is a fault of the program. */
  readonly observeFault: (error: unknown) => void;
}

/** Where it is on this listener. What is sent names it relative to where it was asked for: a proxy may have it elsewhere. */
const base = "/console/";
const apiBase = `${base}api/`;

/** Time for a body to arrive. */
const arrivalMsMax = 20_000;

/** Of bodies that nobody has been asked a password for yet. Together they have no limit: it would be for strangers to reach. */
const passwordLimits = { bodyBytesMax: 4_096, inFlightBytesMax: Number.MAX_SAFE_INTEGER, arrivalMsMax };

/** Of the others: one is a plant that the console adds, with its body as a text within another. */
const bodyLimits = { bodyBytesMax: 16 * 2 ** 20, inFlightBytesMax: 32 * 2 ** 20, arrivalMsMax };

type Body = Readonly<Record<string, string>>;

/** By name. A map, as an object would also have what all objects have, such as "constructor". */
type Calls<Input> = ReadonlyMap<string, Call<Input>>;
type Call<Input> = (input: Input) => Response | Promise<Response>;

export class OperatorConsole {
  readonly #needs: ConsoleDependencies;
  readonly #files = new PageFiles();
  readonly #passwords = new BodyReader(passwordLimits);
  readonly #bodies = new BodyReader(bodyLimits);
  readonly #reads: Calls<URLSearchParams>;
  readonly #writes: Calls<Body>;

  constructor(needs: ConsoleDependencies) {
    const { plants, tokens, indexes } = needs;
    this.#needs = needs;
    this.#reads = new Map<string, Call<URLSearchParams>>([
      ["history", (parameters) => this.#history(parameters)],
      ["plants", (parameters) => plants.list(parameters)],
      ["plants/export", (parameters) => plants.export(parameters)],
      ["plant", (parameters) => plants.one(parameters)],
      ["tokens", () => tokens.list()],
      ["indexes", () => indexes.states()],
    ]);
    this.#writes = new Map<string, Call<Body>>([
      ["plants", (body) => plants.create(texts(body, "token", "body"))],
      ["tokens", (body) => tokens.issue(texts(body, "name", "expires"))],
      ["tokens/revoke", (body) => tokens.revoke(texts(body, "name"))],
      ["indexes", (body) => indexes.change(texts(body, "name", "change"))],
    ]);
  }

  /** Whether a path is the console's to answer. */
  owns(path: string): boolean {
    return path === "/" || path === base.slice(0, -1) || path.startsWith(base);
  }

  /** @param peer the address at the other end of the connection. */
  async handle(request: Request, peer: string): Promise<Response> {
    const { pathname, searchParams } = addressOf(request);
    const wrongHost = checkHost(request, this.#needs.names);
    if (wrongHost !== undefined) return refuse(wrongHost.status, wrongHost.message);
    if (!pathname.startsWith(base)) return answer(null, 302, { Location: base.slice(1) });
    const isPage = !pathname.startsWith(apiBase);
    const otherSite = isPage ? undefined : checkSameOrigin(request);
    if (otherSite !== undefined) return refuse(otherSite.status, otherSite.message);
    try {
      if (isPage) return this.#page(request, pathname.slice(base.length));
      return await this.#api(request, pathname.slice(apiBase.length), searchParams, peer);
    } catch (error) {
      if (error instanceof BadRequest) return refuse(400, error.message);
      if (error instanceof ApiError) return refuseBody(error);
      if (error instanceof OperatorError) return refuse(503, error.message);
      this.#needs.observeFault(error);
      return refuse(500, "The server failed on this request; its log says why.");
    }
  }

  #page(request: Request, path: string): Response {
    if (request.method !== "GET" && request.method !== "HEAD")
      return refuse(405, "The page is read with GET.");
    return this.#files.answer(request, path) ?? refuse(404, "The console has no such file.");
  }

  async #api(request: Request, name: string, parameters: URLSearchParams, peer: string): Promise<Response> {
    if (name.startsWith("session")) return this.#session(request, name, peer);
    if (!this.#needs.sessions.admit(request)) return refuse(401, "The console asks for its password.");
    if (request.method === "GET") return (await this.#reads.get(name)?.(parameters)) ?? noSuchCall();
    if (request.method === "POST")
      return (await this.#writes.get(name)?.(await readBody(request, this.#bodies, peer))) ?? noSuchCall();
    return refuse(405, "The console is read with GET and changed with POST.");
  }

  async #session(request: Request, name: string, peer: string): Promise<Response> {
    const { sessions, trustedProxies } = this.#needs;
    if (name === "session" && request.method === "GET")
      return json({ needsPassword: sessions.requiresPassword, isOpen: sessions.admit(request) });
    if (name === "session-end" && request.method === "POST")
      return json({}, 200, { "Set-Cookie": sessions.logOut(request) });
    if (name !== "session" || request.method !== "POST" || !sessions.requiresPassword) return noSuchCall();
    const { password } = texts(await readBody(request, this.#passwords, peer), "password");
    // The browser says itself how it has reached the page, whatever stands in between.
    const isSecure = request.headers.get("origin")?.startsWith("https:") ?? false;
    const begun = await sessions.logIn(password, trustedProxies.clientAddress(request, peer), isSecure);
    if (begun === "tooMany") return refuse(429, "Too many attempts; try again in a minute.");
    if (begun === "wrong") return refuse(403, "That is not the password.");
    return json({}, 200, { "Set-Cookie": begun.cookie });
  }

  #history(parameters: URLSearchParams): Response {
    const { history, now, about } = this.#needs;
    const since = Number(parameters.get("since") ?? 0);
    if (!Number.isSafeInteger(since) || since < 0) throw new BadRequest("since is the number of a sample.");
    return json({ ...history.since(since, now()), sampleMs, samplesMax, about });
  }
}

function noSuchCall(): Response {
  return refuse(404, "The console has no such call.");
}

/** Throws a ApiError for a body that is over a limit. */
async function readBody(request: Request, bodies: BodyReader, peer: string): Promise<Body> {
  // Rejects if the client leaves before its body has arrived.
  const body = await bodies.read(request, { key: peer, name: peer }, parseJson).catch(() => undefined);
  if (body instanceof ApiError) throw body;
  if (typeof body !== "object" || body === null) throw new BadRequest("The body must be an object of JSON.");
  return body as Body;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** The rest of the body is not read. */
function refuseBody({ code, message }: ApiError): Response {
  const sentence = code === "contentTooLarge" ? "The body is too large." : message;
  return json({ message: sentence }, statusOf(code), { Connection: "close" });
}

/** Fields of a body, each a text. */
function texts<Name extends string>(body: Body, ...names: readonly Name[]): Record<Name, string> {
  const wrong = names.find((name) => typeof body[name] !== "string");
  if (wrong !== undefined) throw new BadRequest(`"${wrong}" must be a text.`);
  return body as Record<Name, string>;
}
