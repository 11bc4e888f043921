// Shared by the suites of identity providers: a server that accepts their JWTs, and valid claims.

import { type Answer, freshId, plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import type { Json } from "../../support/signing-key.ts";

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
  async createUntil(status: number, token: string): Promise<Answer> {
    let answer = await this.create(token);
    await until(async () => {
      answer = await this.create(token);
      return answer.status === status;
    });
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }
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

/** Resolves when the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(20);
}

/** A token without its last part, with other ones instead. */
export function withPart(token: string, index: number, part: string): string {
  return token
    .split(".")
    .map((old, at) => (at === index ? part : old))
    .join(".");
}
