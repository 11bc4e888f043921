// The part of an identity provider that a resource server uses: metadata and keys, and their failures.

import type { Json, SigningKey } from "./signing-key.ts";

const openIdPath = "/.well-known/openid-configuration";

type Answer = (request: Request) => Response | Promise<Response> | undefined;

export class KeyServer implements AsyncDisposable {
  readonly port: number;
  /** The issuer: without a path, and so without a slash at its end. */
  readonly issuer: string;
  readonly jwksUrl: string;
  /** The keys as they are published now. */
  jwks: Json;
  /** Says what is answered instead, where it is not undefined. */
  instead: Answer = () => undefined;
  /** The paths that were asked for, in their order. */
  readonly requests: string[] = [];
  #listener: Bun.Server<undefined> | undefined;

  constructor(...keys: readonly SigningKey[]) {
    this.jwks = jwksOf(keys);
    this.#listener = this.#listen(0);
    this.port = this.#listener.port ?? 0;
    this.issuer = `http://127.0.0.1:${this.port}`;
    this.jwksUrl = `${this.issuer}/keys`;
  }

  /** From now on these keys are published and no others. */
  publish(...keys: readonly SigningKey[]): void {
    this.jwks = jwksOf(keys);
  }

  /** How often the keys were asked for. */
  get fetches(): number {
    return this.requests.filter((path) => path === "/keys").length;
  }

  /** Goes away: connections are refused. */
  async stop(): Promise<void> {
    await this.#listener?.stop(true);
    this.#listener = undefined;
  }

  /** Comes back where it was. */
  restart(): void {
    this.#listener = this.#listen(this.port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #listen(port: number): Bun.Server<undefined> {
    // An answer that never ends stays open until who waits for it gives up.
    const idleTimeout = 0;
    return Bun.serve({ hostname: "127.0.0.1", port, idleTimeout, fetch: (request) => this.#answer(request) });
  }

  #answer(request: Request): Response | Promise<Response> {
    const { pathname } = new URL(request.url);
    this.requests.push(pathname);
    const instead = this.instead(request);
    if (instead !== undefined) return instead;
    if (pathname === openIdPath) return Response.json({ issuer: this.issuer, jwks_uri: this.jwksUrl });
    if (pathname === "/keys") return Response.json(this.jwks);
    return new Response("not found", { status: 404 });
  }
}

function jwksOf(keys: readonly SigningKey[]): Json {
  return { keys: keys.map(({ jwk }) => jwk) };
}
