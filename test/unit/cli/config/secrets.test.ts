// Secrets are not printed: not by `plantstore config`, and not in an error, even if they were given
// to another setting.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { settings } from "../../../../src/cli/config/settings.ts";
import { configurationError, configured } from "../../../support/configuration.ts";
import { runCommand, TemporaryFolder } from "../../../support/server.ts";

/** Letters that occur in no message. */
const secret = "xq7zj";

const shownAddresses: readonly [address: string, shown: string][] = [
  [
    `postgres://plants:${secret}@one,two:5433/plants?sslmode=require`,
    "postgres://plants:***@one,two:5433/plants?sslmode=require",
  ],
  [`postgres://:${secret}@h/d`, "postgres://:***@h/d"],
  [`postgres://u:${secret} ${secret}@h/d`, "postgres://u:***@h/d"],
  [`postgres://u:${secret}?${secret}:${secret}@h/d`, "postgres://u:***@h/d"],
  [`postgresql://u:%40${secret}@h/d`, "postgresql://u:***@h/d"],
  ["postgres://u:@h/d", "postgres://u:***@h/d"],
  ["postgres://u@h:5432/d", "postgres://u@h:5432/d"],
  ["sqlite:plants.db", "sqlite:plants.db"],
];
test.each(shownAddresses)("%s is printed without its password", (address, shown) => {
  const rows = configured([], { PLANTSTORE_DATABASE: address });
  expect(rows.get("PLANTSTORE_DATABASE")?.value).toBe(shown);
});

test("the password of a collector and the token of a sandbox are hidden", () => {
  const collector = configured(["--otlp-endpoint", `http://u:${secret}@127.0.0.1:4318`], {});
  expect(collector.get("PLANTSTORE_OTLP_ENDPOINT")?.value).toBe("http://u:***@127.0.0.1:4318");
  expect(settings.sandboxToken).toMatchObject({ secret: true });
});

const brokenAddresses: readonly string[] = [
  secret,
  `mysql://u:${secret}@h/d`,
  `postgres:u:${secret}@h/d`,
  `postgres://u:${secret}`,
  `postgres://u:${secret}/d`,
  `postgres://u:${secret}/${secret}@h/d`,
  `postgres://u:1234/${secret}@h/d`,
  `postgres://u:1234?${secret}@h/${secret}@d`,
  `postgres://u:${secret}@${secret}@h/d`,
  `postgres://u:%e9${secret}@h/d`,
  `postgres://u:${secret}@h:x/d`,
  `postgres://u:${secret}@h:99999/d`,
  `postgres://u:${secret}@h/d?sslmode=maybe`,
  `postgres://u:${secret}@h/d?password=${secret}`,
  `postgres://u:${secret}@h/d?sslmode=verify-full&sslrootcert=/none`,
  `postgres://u:${secret}@h/d\npostgres://u:${secret}@h/d`,
];
test.each(brokenAddresses)("an error does not contain the password of %j", (address) => {
  const { exitCode, message } = configurationError([], { PLANTSTORE_DATABASE: address });
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^PLANTSTORE_DATABASE: the value is invalid: [^\n]+$/);
  expect(message).not.toContain(secret);
});

test("an error does not contain a secret that was given to another setting", async () => {
  using folder = new TemporaryFolder();
  const address = `postgres://u:${secret}@h/d`;
  const long = `postgres://u:${secret.repeat(100)}@h/d`;
  writeFileSync(folder.file("secret"), secret);
  writeFileSync(folder.file("hash.env"), `PLANTSTORE_DATABASE=postgres://u:a#${secret}@h/d`);
  writeFileSync(folder.file("quote.env"), `PLANTSTORE_DATABASE='postgres://u:a'${secret}@h/d'`);
  writeFileSync(folder.file("open.env"), `PLANTSTORE_DATABASE='postgres://u:${secret}@h/d\n`);
  writeFileSync(folder.file("bare.env"), address);
  writeFileSync(folder.file("name.env"), `PLANTSTORE_DATABSE=${address}`);
  writeFileSync(folder.file("twice.env"), `PLANTSTORE_DATABASE=${address}\nPLANTSTORE_DATABASE=${address}`);
  const configFiles = ["hash", "quote", "open", "bare", "name", "twice", "secret"].map(
    (name): [args: string[], env: Record<string, string>] => [
      ["config", "--config", folder.file(name === "secret" ? name : `${name}.env`)],
      {},
    ],
  );
  const mixedUp: [args: string[], env: Record<string, string>][] = [
    ...configFiles,
    [["serve", "--port", address], {}],
    [["serve", "--port", long], {}],
    [["serve"], { PLANTSTORE_PORT: address }],
    [["serve"], { PLANTSTORE_DATABASE_FILE: folder.file("secret") }],
    [["serve"], { PLANTSTORE_PORT_FILE: folder.file("secret") }],
    [["serve"], { PLANTSTORE_DATABSE: address }],
    [["serve", `--databse=${address}`], {}],
    [["serve", `--admin-pasword=${secret}`], {}],
    [["serve", address], {}],
    [["get", address], {}],
    [[address], {}],
  ];
  for (const [args, env] of mixedUp) {
    const { exitCode, stdout, stderr } = await runCommand(args, env);
    expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
    expect(stderr).not.toContain(secret);
  }
});

test("a setting with the name of a secret is a secret", () => {
  for (const { environment, secret } of Object.values(settings)) {
    // PLANTSTORE_TLS_KEY names a file.
    if (/DATABASE|PASSWORD|SECRET|CREDENTIAL|(?<!TLS)_KEY$/.test(environment))
      expect({ environment, secret }).toEqual({ environment, secret: true });
  }
});

test("the name of a setting does not end in _FILE", () => {
  for (const { environment } of Object.values(settings)) expect(environment).not.toEndWith("_FILE");
});
