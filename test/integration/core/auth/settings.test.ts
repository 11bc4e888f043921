// The settings of an identity provider: invalid ones are a one-line error with the remedy at
// startup.

import { expect, test } from "bun:test";
import { commandError } from "../../../support/commands.ts";
import { configurationError, configured, usageError } from "../../../support/configuration.ts";
import { runCommand } from "../../../support/server.ts";

const https = "https://id.example/";

const serve = (args: readonly string[]) => commandError(["serve", ...args]);

const parts: readonly [missing: string, args: readonly string[]][] = [
  ["--jwt-audience", ["--jwt-issuer", https]],
  ["--jwt-issuer", ["--jwt-audience", "urn:example:plants"]],
  ["--jwt-issuer", ["--jwks-url", `${https}keys`]],
  ["--jwt-audience", ["--jwt-issuer", https, "--jwks-url", `${https}keys`]],
  ["--jwt-issuer", ["--jwt-audience", "urn:example:plants", "--jwks-url", `${https}keys`]],
];
test.each(parts)("%s is missing beside %p", async (missing, args) => {
  expect(await serve(args)).toEqual({
    exitCode: 2,
    stderr: `plantstore: ${missing} is missing: JWTs require both --jwt-issuer and --jwt-audience\n`,
  });
});

test("the same by environment variable", async () => {
  const env = { PLANTSTORE_JWT_ISSUER: https };
  expect(configurationError([], env)).toEqual(
    usageError("--jwt-audience is missing: JWTs require both --jwt-issuer and --jwt-audience"),
  );
  expect(await runCommand(["serve"], env)).toEqual({
    stdout: "",
    ...(await serve(["--jwt-issuer", https])),
  });
});

const issuers = [
  "http://id.example",
  "http://10.0.0.1",
  "http://127.0.0.1.id.example",
  "http://127.0.0.1@id.example/",
  "http://localhost.id.example",
  "https://id.example/?tenant=1",
  "https://id.example/#tenant",
  "https://user:secret@id.example/",
  "ftp://id.example",
  "id.example",
  "",
];
test.each(issuers)("the issuer %p is rejected", async (issuer) => {
  const { exitCode, stderr } = await serve(["--jwt-issuer", issuer, "--jwt-audience", "urn:plants"]);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^plantstore: --jwt-issuer: .*http is for loopback addresses only\n$/);
});

test.each(["http://[::1]:1", "http://localhost:1", "http://127.0.0.2:1", "https://id.example"])(
  "the issuer %p is one",
  (issuer) => {
    const config = configured(["--jwt-issuer", issuer, "--jwt-audience", "urn:plants"]);
    expect(config.get("PLANTSTORE_JWT_ISSUER")?.value).toBe(issuer);
  },
);

test.each(["http://id.example/keys", "https://user:secret@id.example/keys", "file:///etc/passwd", "/keys"])(
  "the key address %p is rejected",
  async (url) => {
    const args = ["--jwt-issuer", https, "--jwt-audience", "urn:plants", "--jwks-url", url];
    const { exitCode, stderr } = await serve(args);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^plantstore: --jwks-url: .*http is for loopback addresses only\n$/);
  },
);
