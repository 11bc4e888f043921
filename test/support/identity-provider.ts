// An identity provider in the test's process that publishes what a test says, its keys and JWTs,
// and servers that accept them.

import { generateKeyPairSync, sign } from "node:crypto";
import type { IdentityProvider } from "../../src/auth/jwks.ts";
import type { ServerOptions } from "../../src/service/server.ts";
import { eventually } from "./eventually.ts";
import { freshId, plantJson, post } from "./http.ts";
import { startInProcess } from "./in-process-server.ts";

type Json = Record<string, unknown>;

export class KeyServer implements AsyncDisposable {
  /** The issuer: without a path, and so without a slash at its end. */
  readonly issuer: string;
  readonly jwksUrl: string;
  /** The keys as they are published now. */
  keys: readonly Json[];
  /** Returns the response to send instead, or undefined. */
  instead: (path: string) => Response | Promise<Response> | undefined = () => undefined;
  /** The requested paths, in their order. */
  readonly requests: string[] = [];
  readonly #port: number;
  #listener: Bun.Server<undefined> | undefined;

  constructor(...keys: readonly SigningKey[]) {
    this.keys = keys.map(({ jwk }) => jwk);
    this.restart(0);
    this.#port = this.#listener?.port ?? 0;
    this.issuer = `http://127.0.0.1:${this.#port}`;
    this.jwksUrl = `${this.issuer}/keys`;
  }

  /** From now on these keys are published and no others. */
  publish(...keys: readonly SigningKey[]): void {
    this.keys = keys.map(({ jwk }) => jwk);
  }

  /** The number of requests for the keys. */
  get fetches(): number {
    return this.requests.filter((path) => path === "/keys").length;
  }

  /** Stops listening. */
  async stop(): Promise<void> {
    await this.#listener?.stop(true);
    this.#listener = undefined;
  }

  /** Comes back where it was. */
  restart(port = this.#port): void {
    this.#listener = Bun.serve({
      hostname: "127.0.0.1",
      port,
      // A response that never ends stays open until the client gives up.
      idleTimeout: 0,
      fetch: ({ url }) => this.#answer(new URL(url).pathname),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #answer(path: string): Response | Promise<Response> {
    this.requests.push(path);
    const instead = this.instead(path);
    if (instead !== undefined) return instead;
    if (path === "/.well-known/openid-configuration")
      return Response.json({ issuer: this.issuer, jwks_uri: this.jwksUrl });
    return path === "/keys" ? Response.json({ keys: this.keys }) : new Response("not found", { status: 404 });
  }
}

/** Base64url of text, or of a value's JSON. */
export function encode(value: Json | string): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

/** A key for ES256. Unlike jose's, it also signs what no provider would. */
export class SigningKey {
  readonly kid = crypto.randomUUID();
  readonly #pair = generateKeyPairSync("ec", { namedCurve: "P-256" });

  /** The public key as a JSON Web Key. */
  get jwk(): Json {
    return { ...this.#pair.publicKey.export({ format: "jwk" }), kid: this.kid, alg: "ES256", use: "sig" };
  }

  /** A JWT of claims, or of any text as its payload; undefined leaves a header parameter out. */
  sign(claims: Json | string, header: Json = {}): string {
    const input = `${encode({ alg: "ES256", typ: "at+jwt", kid: this.kid, ...header })}.${encode(claims)}`;
    const key = this.#pair.privateKey;
    return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  }
}

export const audience = "urn:example:plants";

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

interface IdentitySetup extends Pick<ServerOptions, "rateLimit"> {
  /** Undefined to discover it. */
  readonly jwksUrl?: string;
  readonly claims?: readonly string[];
  readonly audienceClaim?: string;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly intervals?: Pick<IdentityProvider, "keysAgeMsMax" | "keysIntervalMsMin">;
}

/** Starts a server in this process that accepts an issuer's JWTs, with a store of its own. */
export async function startWithIdentity(
  issuer: string,
  {
    jwksUrl,
    claims,
    audienceClaim,
    now = Date.now,
    intervals = { keysAgeMsMax: 600_000 },
    rateLimit,
  }: IdentitySetup = {},
) {
  const identityProvider = { issuer, audience, audienceClaim, jwksUrl, claims, ...intervals };
  const server = await startInProcess({ identityProvider, wallNow: now, rateLimit, admin: undefined });
  const create = (token: string) => post({ url: server.url, token }, plantJson(freshId(), "Monstera"));
  return {
    ...server,
    /** Waits for the first error of the provider's keys, and returns its reason. */
    async keysTrouble(): Promise<string> {
      const failed = await eventually("an error of the keys", () =>
        server.events.find((event) => event.kind === "jwksRefreshFailed"),
      );
      return failed?.reason ?? "";
    },
    /** Creates a plant with this token. */
    create,
    /** Creates plants with this token until a response has this status. */
    createUntil: (status: number, token: string) =>
      eventually(
        `a response ${status}`,
        () => create(token),
        (answer) => answer.status === status,
      ),
  };
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Valid claims, with some replaced. */
export function claimsOf(issuer: string, others: Json = {}): Json {
  const now = nowSeconds();
  return { iss: issuer, aud: audience, sub: "gardener", iat: now, exp: now + 600, ...others };
}
