// The console: a page for operators and the API behind it. What happens to a request, in the order in which it happens.

import type { History } from "../../events/history.ts";
import { sampleMs, samplesMax } from "../../events/history.ts";
import { OperatorError } from "../../operator-error.ts";
import { addressOf } from "../address.ts";
import { answer, BadRequest, json, refuse } from "./answers.ts";
import { judgeHost, judgeSite } from "./guard.ts";
import type { Indexes } from "./indexes.ts";
import { PageFiles } from "./page-files.ts";
import type { Plants } from "./plants.ts";
import type { Sessions } from "./sessions.ts";
import type { Tokens } from "./tokens.ts";

export interface ConsoleNeeds {
  /** Names that the admin listener is reached by, beside addresses and localhost. */
  readonly names: readonly string[];
  readonly sessions: Sessions;
  readonly plants: Plants;
  readonly tokens: Tokens;
  readonly indexes: Indexes;
  readonly history: History;
  readonly now: () => number;
  /** What the page says of the server. `run` tells it from every other one, and from this one started anew. */
  readonly about: { readonly version: string; readonly engine: string; readonly run: string };
  /** Hears of what is a fault of the program. */
  readonly observeFault: (error: unknown) => void;
}

/** Where it is on this listener. What is sent names it relative to where it was asked for: a proxy may have it elsewhere. */
const base = "/console/";
const apiBase = `${base}api/`;

/** Of a request that nobody has been asked a password for yet. */
const passwordBytesMax = 4_096;

type Body = Readonly<Record<string, string>>;

/** By name. A map, as an object would also have what all objects have, such as "constructor". */
type Calls<Input> = ReadonlyMap<string, Call<Input>>;
type Call<Input> = (input: Input) => Response | Promise<Response>;

export class OperatorConsole {
  readonly #needs: ConsoleNeeds;
  readonly #files = new PageFiles();
  readonly #reads: Calls<URLSearchParams>;
  readonly #writes: Calls<Body>;

  constructor(needs: ConsoleNeeds) {
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

  /** @param address of who sent the request. */
  async handle(request: Request, address: string): Promise<Response> {
    const { pathname, searchParams } = addressOf(request);
    const wrongHost = judgeHost(request, this.#needs.names);
    if (wrongHost !== undefined) return refuse(wrongHost.status, wrongHost.message);
    if (!pathname.startsWith(base)) return answer(null, 302, { Location: base.slice(1) });
    const isPage = !pathname.startsWith(apiBase);
    const otherSite = isPage ? undefined : judgeSite(request);
    if (otherSite !== undefined) return refuse(otherSite.status, otherSite.message);
    try {
      if (isPage) return this.#page(request, pathname.slice(base.length));
      return await this.#api(request, pathname.slice(apiBase.length), searchParams, address);
    } catch (error) {
      if (error instanceof BadRequest) return refuse(400, error.message);
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

  async #api(
    request: Request,
    name: string,
    parameters: URLSearchParams,
    address: string,
  ): Promise<Response> {
    if (name.startsWith("session")) return this.#session(request, name, address);
    if (!this.#needs.sessions.admit(request)) return refuse(401, "The console asks for its password.");
    if (request.method === "GET") return (await this.#reads.get(name)?.(parameters)) ?? noSuchCall();
    if (request.method === "POST")
      return (await this.#writes.get(name)?.(await bodyOf(request))) ?? noSuchCall();
    return refuse(405, "The console is read with GET and changed with POST.");
  }

  async #session(request: Request, name: string, address: string): Promise<Response> {
    const { sessions } = this.#needs;
    if (name === "session" && request.method === "GET")
      return json({ needsPassword: sessions.needPassword, isOpen: sessions.admit(request) });
    if (name === "session-end" && request.method === "POST")
      return json({}, 200, { "Set-Cookie": sessions.logOut(request) });
    if (name !== "session" || request.method !== "POST" || !sessions.needPassword) return noSuchCall();
    if (!(Number(request.headers.get("content-length") ?? Number.NaN) <= passwordBytesMax))
      return refuse(413, "That is longer than a password.");
    const { password } = texts(await bodyOf(request), "password");
    // The browser says itself how it has reached the page, whatever stands in between.
    const isSecure = request.headers.get("origin")?.startsWith("https:") ?? false;
    const begun = await sessions.logIn(password, address, isSecure);
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

async function bodyOf(request: Request): Promise<Body> {
  const body: unknown = await request.json().catch(() => undefined);
  if (typeof body !== "object" || body === null) throw new BadRequest("The body must be an object of JSON.");
  return body as Body;
}

/** Fields of a body, each a text. */
function texts<Name extends string>(body: Body, ...names: readonly Name[]): Record<Name, string> {
  const wrong = names.find((name) => typeof body[name] !== "string");
  if (wrong !== undefined) throw new BadRequest(`"${wrong}" must be a text.`);
  return body as Record<Name, string>;
}
