// Discovery of the provider's keys: OpenID discovery, OAuth metadata, --jwks-url, and metadata that
// are rejected.

import { expect, test } from "bun:test";
import { plantJson, post } from "../../support/http.ts";
import {
  audience,
  claimsOf,
  KeyServer,
  keysUnavailable,
  notAccepted,
  SigningKey,
  startWithIdentity,
} from "../../support/identity-provider.ts";
import { RunningServer } from "../../support/server.ts";

const key = new SigningKey();

test.each(["", "/"])("an issuer with a path, and %p at its end", async (end) => {
  await using provider = new KeyServer(key);
  const issuer = `${provider.issuer}/realms/plants${end}`;
  provider.instead = (path) =>
    path === "/realms/plants/.well-known/openid-configuration"
      ? Response.json({ issuer, jwks_uri: provider.jwksUrl })
      : undefined;
  await using identity = await startWithIdentity(issuer);
  expect((await identity.create(key.sign(claimsOf(issuer)))).status).toBe(200);
  expect(await identity.create(key.sign(claimsOf(provider.issuer)))).toMatchObject(notAccepted);
});

test.each([
  ["of another issuer", { issuer: "https://id.example" }, "has the issuer"],
  ["with a jwks_uri of plain http", { jwks_uri: "http://id.example/keys" }, "not an https URL"],
  ["with a jwks_uri that is a file", { jwks_uri: "file:///etc/passwd" }, "not an https URL"],
])("metadata %s are rejected", async (_, differing, reported) => {
  await using provider = new KeyServer(key);
  provider.instead = (path) =>
    path.endsWith("/openid-configuration")
      ? Response.json({ issuer: provider.issuer, jwks_uri: provider.jwksUrl, ...differing })
      : undefined;
  await using identity = await startWithIdentity(provider.issuer);
  expect(await identity.create(key.sign(claimsOf(provider.issuer)))).toMatchObject(keysUnavailable);
  expect(provider.fetches).toBe(0);
  expect(await identity.keysTrouble()).toContain(reported);
});

test.each(["/.well-known/openid-configuration", "/keys"])(
  "redirects of %s are not followed",
  async (redirected) => {
    await using provider = new KeyServer(key);
    await using elsewhere = new KeyServer(key);
    provider.instead = (path) =>
      path === redirected ? Response.redirect(`${elsewhere.issuer}${path}`) : undefined;
    await using identity = await startWithIdentity(provider.issuer);
    expect(await identity.create(key.sign(claimsOf(provider.issuer)))).toMatchObject(keysUnavailable);
    expect(elsewhere.requests).toEqual([]);
    expect(await identity.keysTrouble()).toContain(redirected);
  },
);

test("is not needed with --jwks-url", async () => {
  await using provider = new KeyServer(key);
  const issuer = "https://id.example/";
  await using identity = await startWithIdentity(issuer, { jwksUrl: provider.jwksUrl });
  expect((await identity.create(key.sign(claimsOf(issuer, { aud: [audience] })))).status).toBe(200);
  expect(new Set(provider.requests)).toEqual(new Set(["/keys"]));
});

test("a provider on loopback is not reached through the proxy of the environment", async () => {
  await using provider = new KeyServer(key);
  await using server = await RunningServer.start({
    args: ["--jwt-issuer", provider.issuer, "--jwt-audience", audience],
    env: { http_proxy: "http://127.0.0.1:1" },
  });
  const target = { url: server.url, token: key.sign(claimsOf(provider.issuer)) };
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
});
