// Shared by the suites of identity providers: a server and a handler that accept their JWTs, and valid claims.

import { Authenticator } from "../../../../src/core/auth/authenticator.ts";
import type { JwksIntervals } from "../../../../src/core/auth/jwks.ts";
import { JwtVerifier } from "../../../../src/core/auth/jwt-verifier.ts";
import { TokenCache } from "../../../../src/core/auth/token-cache.ts";
import { BodyReader } from "../../../../src/core/http/body-reader.ts";
import { createHandler, type Handler, inProcess } from "../../../../src/core/http/handler.ts";
import { GroupCommit, scheduleWithSetImmediate } from "../../../../src/core/store/group-commit.ts";
import { SqliteStore } from "../../../../src/core/store/sqlite/store.ts";
import { eventually } from "../../../support/eventually.ts";
import { type Answer, freshId, plantJson, post } from "../../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../../support/server.ts";
import type { Json } from "../../../support/signing-key.ts";

export const audience = "urn:example:plants";

export const ageOfOneSecond = ["--jwks-age-seconds-max", "1"];

/** The responses to a rejected token, and to a token that cannot be verified. */
export const notAccepted = { status: 401, json: { error: 40101 } };
export const keysUnavailable = {
  status: 503,
  json: {
    error: 50300,
    message:
      "The identity provider is unreachable, so the token cannot be verified; retrying in 1 second is safe.",
  },
};

/** A server with a store of its own, removed with it. */
export class ServerWithIdentity implements AsyncDisposable {
  readonly server: RunningServer;
  readonly #folder: TemporaryFolder;

  private constructor(server: RunningServer, folder: TemporaryFolder) {
    this.server = server;
    this.#folder = folder;
  }

  static async start(
    issuer: string,
    args: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<ServerWithIdentity> {
    const folder = new TemporaryFolder();
    const server = await RunningServer.start({
      database: `sqlite:${folder.file("plants.db")}`,
      args: ["--jwt-issuer", issuer, "--jwt-audience", audience, ...args],
      env,
    });
    return new ServerWithIdentity(server, folder);
  }

  /** Waits for the first log line about the provider's keys, and returns its reason. */
  async keysTrouble(): Promise<string> {
    const { reason } = await this.server.logged(({ msg }) => msg.startsWith("JWKS refresh failed"));
    return String(reason);
  }

  /** Creates a plant with this token. */
  create(token: string): Promise<Answer> {
    return post({ url: this.server.url, token }, plantJson(freshId(), "Monstera"));
  }

  /** Creates plants with this token until a response has this status. */
  createUntil(status: number, token: string): Promise<Answer> {
    return answerWith(status, () => this.create(token));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }
}

interface HandlerSetup {
  /** Undefined to discover it. */
  readonly jwksUrl?: string;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly intervals?: JwksIntervals;
}

/** The handler of such a server in this process, on a store of its own: a server takes 0.3 s of a processor to start. */
export class HandlerWithIdentity implements AsyncDisposable {
  readonly #handler: Handler;
  readonly #keyError: Promise<string>;
  readonly #resources: AsyncDisposableStack;

  private constructor(handler: Handler, keyError: Promise<string>, resources: AsyncDisposableStack) {
    this.#handler = handler;
    this.#keyError = keyError;
    this.#resources = resources;
  }

  static async start(
    issuer: string,
    { jwksUrl, now = Date.now, intervals = { keysAgeMsMax: 600_000 } }: HandlerSetup = {},
  ): Promise<HandlerWithIdentity> {
    const resources = new AsyncDisposableStack();
    const folder = resources.use(new TemporaryFolder());
    const store = new SqliteStore(folder.file("plants.db"), "create", unexpected);
    resources.defer(() => store.close());
    const tokens = new TokenCache(store.tokens, now, (_, error) => unexpected(String(error)));
    await tokens.start();
    resources.defer(() => tokens.stop());
    const keyError = Promise.withResolvers<string>();
    const provider = { issuer, audience, jwksUrl, ...intervals };
    const jwts = new JwtVerifier(
      provider,
      now,
      (error) => keyError.resolve((error as Error).message),
      (name) => store.tokens.creatorKey(name),
    );
    jwts.start();
    resources.defer(() => jwts.stop());
    const limits = {
      queuePlantsMax: 100,
      queueCodeUnitsMax: 100_000,
      batchPlantsMax: 100,
      batchesInFlightMax: store.batchesInFlightMax,
    };
    const groupCommit = new GroupCommit(store, limits, scheduleWithSetImmediate);
    resources.defer(() => groupCommit.close());
    const handler = createHandler({
      authenticator: new Authenticator(tokens, jwts),
      rateLimit: undefined,
      bodyReader: new BodyReader({ bodyBytesMax: 10_000, inFlightBytesMax: 100_000, arrivalMsMax: 20_000 }),
      groupCommit,
      basePath: "",
      makeRequestId: () => "test-1",
      now: () => performance.now(),
      emit: () => undefined,
    });
    return new HandlerWithIdentity(handler, keyError.promise, resources);
  }

  /** Waits for the first error of the provider's keys, and returns its reason. */
  keysTrouble(): Promise<string> {
    return this.#keyError;
  }

  /** Creates a plant with this token. */
  async create(token: string): Promise<Answer> {
    const headers = new Headers({ Authorization: `Bearer ${token}`, "Content-Type": "application/json" });
    const response = await this.#handler(
      new Request("http://localhost/plants", {
        method: "POST",
        headers,
        body: plantJson(freshId(), "Monstera"),
      }),
      inProcess,
    );
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

function unexpected(reason: string): never {
  throw new Error(`The store failed: ${reason}`);
}

/** Seconds since the epoch, as JWTs count. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Valid claims, with some replaced. */
export function claimsOf(issuer: string, others: Json = {}): Json {
  const now = nowSeconds();
  return { iss: issuer, aud: audience, sub: "gardener", iat: now, exp: now + 600, ...others };
}

/** Repeats a request until a response has this status. */
export function answerWith(status: number, create: () => Promise<Answer>): Promise<Answer> {
  return eventually(`a response ${status}`, create, (answer) => answer.status === status);
}

/** A token without its last part, with other ones instead. */
export function withPart(token: string, index: number, part: string): string {
  return token
    .split(".")
    .map((old, at) => (at === index ? part : old))
    .join(".");
}
