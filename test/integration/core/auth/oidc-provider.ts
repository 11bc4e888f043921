// A real OpenID provider (oidc-provider, certified by the OpenID Foundation), in the test's own
// process.

import { spyOn } from "bun:test";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { SigningKey } from "../../../support/identity-provider.ts";

/** Runs without the warnings of a runtime other than Node.js, and of an adapter in memory. */
async function quietly<Result>(run: () => Result | Promise<Result>): Promise<Result> {
  using _ = spyOn(console, "warn").mockImplementation(() => undefined);
  return await run();
}

const { default: Provider } = await quietly(() => import("oidc-provider"));

const clientSecret = "a secret of thirty-two characters";

export class OidcProvider implements AsyncDisposable {
  readonly issuer: string;
  readonly #server: Server;

  private constructor(server: Server, clientId: string, key: SigningKey) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", requestListener(this.issuer, clientId, key));
  }

  /** Starts a provider with this client. It signs JWTs with the key. */
  static async start(key: SigningKey, clientId: string): Promise<OidcProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new OidcProvider(server, clientId, key);
  }

  /** The address of its keys, as its metadata say. */
  async jwksUrl(): Promise<string> {
    return (await this.#metadata()).jwks_uri ?? "";
  }

  /**
   * An access token by the client credentials flow (RFC 6749, section 4.4) for an audience (RFC
   * 8707).
   */
  async accessToken(clientId: string, audience: string): Promise<string> {
    const { token_endpoint: endpoint = "" } = await this.#metadata();
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
    const answer = await fetch(endpoint, {
      method: "POST",
      body: new URLSearchParams({ ...form, resource: audience }),
    });
    const { access_token: token } = (await answer.json()) as Record<string, string>;
    if (token === undefined) throw new Error(`No access token: ${answer.status}`);
    return token;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #metadata(): Promise<Record<string, string>> {
    const answer = await fetch(`${this.issuer}/.well-known/openid-configuration`);
    return (await answer.json()) as Record<string, string>;
  }
}

function requestListener(
  issuer: string,
  clientId: string,
  { algorithm, privateJwk }: SigningKey,
): RequestListener {
  // It warns of its adapter, and of a runtime other than Node.js.
  using _ = spyOn(console, "warn").mockImplementation(() => undefined);
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: algorithm,
      },
    ],
    jwks: { keys: [privateJwk] as never },
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, audience) => ({
          scope: "",
          audience,
          accessTokenFormat: "jwt",
          accessTokenTTL: 600,
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
  });
  return provider.callback();
}
