// A real OpenID provider (oidc-provider, certified by the OpenID Foundation), in the test's own
// process.

import { spyOn } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { SigningKey } from "../../../support/identity-provider.ts";

/** Runs without the warnings of a runtime other than Node.js, and of an adapter in memory. */
async function quietly<Result>(run: () => Result | Promise<Result>): Promise<Result> {
  using _ = spyOn(console, "warn").mockImplementation(() => undefined);
  return await run();
}

const { default: Provider } = await quietly(() => import("oidc-provider"));

const clientId = "gardener";
const clientSecret = "a secret of thirty-two characters";

/** Starts a provider with one client. It signs JWTs with the key. */
export async function startOidcProvider({ algorithm, privateJwk }: SigningKey) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = await quietly(
    () =>
      new Provider(issuer, {
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
      }),
  );
  server.on("request", provider.callback());
  const metadata = async () => {
    const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
    return (await answer.json()) as { readonly jwks_uri: string; readonly token_endpoint: string };
  };
  return {
    issuer,
    /** The address of its keys, as its metadata say. */
    jwksUrl: async () => (await metadata()).jwks_uri,
    /**
     * An access token by the client credentials flow (RFC 6749, section 4.4) for an audience (RFC
     * 8707).
     */
    async accessToken(audience: string): Promise<string> {
      const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
      const answer = await fetch((await metadata()).token_endpoint, {
        method: "POST",
        body: new URLSearchParams({ ...form, resource: audience }),
      });
      const { access_token: token } = (await answer.json()) as Record<string, string>;
      if (token === undefined) throw new Error(`No access token: ${answer.status}`);
      return token;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
