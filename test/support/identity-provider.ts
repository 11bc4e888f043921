// An identity provider in the test's process, its keys and JWTs, and servers that accept them.

import { constants, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { IdentityProvider } from "../../src/core/auth/jwks.ts";
import type { ServerOptions } from "../../src/core/server.ts";
import { eventually } from "./eventually.ts";
import { freshId, plantJson, post } from "./http.ts";
import { startInProcess } from "./in-process-server.ts";

const openIdPath = "/.well-known/openid-configuration";

type Responder = (request: Request) => Response | Promise<Response> | undefined;

export class KeyServer implements AsyncDisposable {
  readonly port: number;
  /** The issuer: without a path, and so without a slash at its end. */
  readonly issuer: string;
  readonly jwksUrl: string;
  /** The keys as they are published now. */
  jwks: Json;
  /** Returns the response to send instead, or undefined. */
  instead: Responder = () => undefined;
  /** The requested paths, in their order. */
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
  restart(): void {
    this.#listener = this.#listen(this.port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #listen(port: number): Bun.Server<undefined> {
    // A response that never ends stays open until the client gives up.
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

export type Algorithm =
  | `RS${256 | 384 | 512}`
  | `PS${256 | 384 | 512}`
  | `ES${256 | 384 | 512}`
  | "EdDSA"
  | "Ed25519";

export type Json = Record<string, unknown>;

const curves: Record<string, string> = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };

/** Base64url of bytes, or of a value's JSON. */
export function encode(value: Json | Buffer | string): string {
  return Buffer.isBuffer(value) || typeof value === "string"
    ? Buffer.from(value).toString("base64url")
    : Buffer.from(JSON.stringify(value)).toString("base64url");
}

export class SigningKey {
  readonly algorithm: Algorithm;
  readonly kid: string;
  readonly publicKey: KeyObject;
  readonly #privateKey: KeyObject;

  constructor(algorithm: Algorithm = "ES256", kid: string = crypto.randomUUID(), rsaBits = 2_048) {
    const pair = newPair(algorithm, rsaBits);
    this.algorithm = algorithm;
    this.kid = kid;
    this.publicKey = pair.publicKey;
    this.#privateKey = pair.privateKey;
  }

  /** The public key as a JSON Web Key. */
  get jwk(): Json {
    return { ...this.publicKey.export({ format: "jwk" }), kid: this.kid, alg: this.algorithm, use: "sig" };
  }

  /** The private key as a JSON Web Key, for a provider. */
  get privateJwk(): Json {
    return { ...this.jwk, ...this.#privateKey.export({ format: "jwk" }) };
  }

  /** A JWT of claims, or of any text as its payload; undefined leaves a header parameter out. */
  sign(claims: Json | string, header: Json = {}): string {
    const input = `${encode({ alg: this.algorithm, typ: "at+jwt", kid: this.kid, ...header })}.${encode(claims)}`;
    return `${input}.${encode(this.#signature(Buffer.from(input)))}`;
  }

  #signature(input: Buffer): Buffer {
    const key = this.#privateKey;
    const hash = `sha${this.algorithm.slice(2)}`;
    if (this.algorithm.startsWith("E") && curves[this.algorithm] === undefined) return sign(null, input, key);
    if (this.algorithm.startsWith("ES")) return sign(hash, input, { key, dsaEncoding: "ieee-p1363" });
    if (this.algorithm.startsWith("RS")) return sign(hash, input, key);
    const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
    return sign(hash, input, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
  }
}

function newPair(algorithm: Algorithm, rsaBits: number): { publicKey: KeyObject; privateKey: KeyObject } {
  const namedCurve = curves[algorithm];
  if (namedCurve !== undefined) return generateKeyPairSync("ec", { namedCurve });
  if (algorithm.startsWith("E")) return generateKeyPairSync("ed25519");
  return generateKeyPairSync("rsa", { modulusLength: rsaBits });
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
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly intervals?: Pick<IdentityProvider, "keysAgeMsMax" | "keysIntervalMsMin">;
}

/** Starts a server in this process that accepts an issuer's JWTs, with a store of its own. */
export async function startWithIdentity(
  issuer: string,
  { jwksUrl, now = Date.now, intervals = { keysAgeMsMax: 600_000 }, rateLimit }: IdentitySetup = {},
) {
  const identityProvider = { issuer, audience, jwksUrl, ...intervals };
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

/** A token without its last part, with other ones instead. */
export function withPart(token: string, index: number, part: string): string {
  return token
    .split(".")
    .map((old, at) => (at === index ? part : old))
    .join(".");
}
