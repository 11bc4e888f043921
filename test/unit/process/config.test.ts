// Settings: where they come from, what is invalid, and that no secret is printed.

import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { resolveConfig } from "../../../src/process/config/resolve.ts";
import { type SettingName, serverSettingNames, settings } from "../../../src/process/config/settings.ts";
import { storeAt } from "../../../src/store/open-store.ts";
import {
  configurationError,
  configured,
  flagsFrom,
  resolveServeConfig,
  usageError,
} from "../../support/configuration.ts";
import { runCommand, TemporaryFolder } from "../../support/server.ts";

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** Writes a file, and returns its path. */
function file(content: string | Uint8Array, name = "plantstore.env"): string {
  writeFileSync(folder.file(name), content);
  return folder.file(name);
}

test("each value has its type and its source", () => {
  const config = resolveServeConfig(["--port", "1", "--cors", "https://a.example,https://b.example"]);
  const { port, cors, tlsKey, sources } = config;
  expect([port, cors, tlsKey]).toEqual([1, ["https://a.example", "https://b.example"], undefined]);
  expect([sources.port, sources.tlsKey]).toEqual(["flag", "default"]);
});

/**
 * Values of the settings that have no default, or depend on another; the others get their default.
 */
const samples: Partial<Record<SettingName, string>> = {
  contract: "parcels.yaml",
  extend: "operations.ts",
  publicUrl: "https://plants.example/v1",
  adminPasswordHash: `$argon2id$v=19$m=65536,t=2,p=1$${"a".repeat(43)}$${"b".repeat(43)}`,
  adminNames: "console.plants.example",
  trustedProxies: "10.0.0.0/8,::1",
  tokenRate: "5",
  tokenBurst: "10",
  tlsCertificate: "live.crt",
  tlsKey: "live.key",
  otlpEndpoint: "http://127.0.0.1:4318",
  jwtIssuer: "https://id.example/",
  jwtAudience: "urn:example:plants",
  jwtAudienceClaim: "client_id",
  jwtClaim: "repository_owner=acme",
  jwksUrl: "https://id.example/keys",
};

test("every setting of the server can come from every source", () => {
  const given = serverSettingNames.map((name) => {
    const { flag, environment } = settings[name];
    return {
      flag: flag.split(" ")[0] ?? "",
      isSwitch: !flag.includes(" "),
      environment,
      text: samples[name] ?? settings[name].default ?? "",
    };
  });
  const config = file(given.map(({ environment, text }) => `${environment}="${text}"`).join("\n"));
  const variables = given.map(({ environment, text }) => [environment, text]);
  const bySource = {
    flag: configured(given.flatMap(({ flag, isSwitch, text }) => (isSwitch ? [flag] : [flag, text]))),
    environment: configured([], Object.fromEntries(variables)),
    "config file": configured(["--config", config]),
  };
  for (const [source, rows] of Object.entries(bySource))
    for (const { environment } of given) expect(rows.get(environment)?.source).toBe(source);
  const files = given.map(({ environment, text }) => [`${environment}_FILE`, file(`${text}\n`, environment)]);
  const rows = configured([], Object.fromEntries(files));
  for (const { environment } of given) expect(rows.get(environment)?.source).toBe(`${environment}_FILE`);
});

test("a flag has precedence over a variable, its file, the configuration file and the default", () => {
  const sources: string[][] = [];
  const config = ["--config", file("PLANTSTORE_PORT=4\n")];
  const env = { PLANTSTORE_PORT: "2" };
  const envFile = { PLANTSTORE_PORT_FILE: file("3\n", "port") };
  const port = (args: string[], variables = {}) => {
    const { value, source } = configured(args, variables).get("PLANTSTORE_PORT") ?? {};
    sources.push([String(value), source ?? ""]);
  };
  port(["--port", "1", ...config], env);
  port(config, env);
  port(config, envFile);
  port(config);
  port([]);
  port([], { PLANTSTORE_CONFIG: config[1] });
  port(["--config", file(`PLANTSTORE_PORT_FILE=${folder.file("port")}`, "other.env")]);
  expect(sources).toEqual([
    ["1", "flag"],
    ["2", "environment"],
    ["3", "PLANTSTORE_PORT_FILE"],
    ["4", "config file"],
    ["8080", "default"],
    ["4", "config file"],
    ["3", "config file, PLANTSTORE_PORT_FILE"],
  ]);
});

/** The value of --undo, which may be any text, that a line of the configuration file gives. */
const textOf = (line: string) =>
  resolveConfig(["historyUndo"], { config: file(`# it's a comment\n\n${line}\nPLANTSTORE_PORT=1\n`) }, {})
    .historyUndo;

test.each<[line: string, value: string]>([
  ["PLANTSTORE_HISTORY_UNDO=a b", "a b"],
  [" export PLANTSTORE_HISTORY_UNDO = a # a comment", "a"],
  ["PLANTSTORE_HISTORY_UNDO='a#b' # a comment", "a#b"],
  ['PLANTSTORE_HISTORY_UNDO="it\'s $HOME"', "it's $HOME"],
  ["\uFEFFPLANTSTORE_HISTORY_UNDO=a\r", "a"],
])("%j is %j", (line, value) => {
  expect(textOf(line)).toBe(value);
});

test("the file of a variable is its value, less one line end and a byte order mark", () => {
  const value = (text: string) =>
    resolveConfig(["historyUndo"], {}, { PLANTSTORE_HISTORY_UNDO_FILE: file(text, "key") }).historyUndo;
  expect(["a", "a\n", "a\r\n", "\uFEFFa\n", " a \n\n"].map(value)).toEqual(["a", "a", "a", "a", " a \n"]);
});

const invalidFiles: readonly [content: string, message: string][] = [
  ["PLANTSTORE_PORT 8080", "line 1 is not NAME=value; put a value that contains # in single quotes"],
  ["PLANTSTORE_PORT=1\n\nnonsense", "line 3 is not NAME=value"],
  ["PLANTSTORE_PORT='1'\n\nPLANTSTORE_PORT=2", "line 3: PLANTSTORE_PORT is already set above"],
  ["PLANTSTORE_CONFIG=x", "line 1: PLANTSTORE_CONFIG is not allowed in a configuration file"],
  ['PLANTSTORE_PORT="x"', 'line 1: PLANTSTORE_PORT: "x" is not an integer from 0 to 65535'],
  ["\n__proto__=1", "line 2: unknown setting __proto__; "],
  ["PLANTSTORE_PORT=1\nPLANTSTORE_PORT_FILE=x", "line 1: PLANTSTORE_PORT and PLANTSTORE_PORT_FILE are both"],
];
test.each(invalidFiles)("the configuration file %j is an error with its line", (content, message) => {
  const path = file(content);
  const error = configurationError(["--config", path]);
  expect(error.exitCode).toBe(2);
  expect(error.message).toStartWith(`${path}, ${message}`);
});

test("a file that is missing, large, binary, a folder or a device is an error, whatever names it", () => {
  const none = folder.file("none");
  const notRegular = "is not a regular file; is it the right path?";
  for (const [path, problem] of [
    [none, `: ${none} cannot be read (ENOENT: no such file or directory)`],
    ...[folder.path, "/dev/zero"].map((path): [string, string] => [path, `: ${path} ${notRegular}`]),
    ["", " is empty; it must name a file"],
    [file("#".repeat(2 ** 20 + 1), "large"), ` is larger than 1048576 bytes; is it the right file?`],
    [file(Uint8Array.of(0xff), "binary"), " is not UTF-8 text; is it the right file?"],
    [file("PLANTSTORE_PORT=1\0", "zero"), " is not UTF-8 text; is it the right file?"],
  ] as const) {
    const message = problem.startsWith(" is ") && path !== "" ? `: ${path}${problem}` : problem;
    expect(configurationError(["--config", path])).toEqual(usageError(`--config${message}`));
    expect(configurationError([], { PLANTSTORE_DATABASE_FILE: path })).toEqual(
      usageError(`PLANTSTORE_DATABASE_FILE${message}`),
    );
  }
});

const unknownNames: readonly [name: string, suggestion: string][] = [
  ["PLANTSTORE_PROT", "did you mean PLANTSTORE_PORT?"],
  ["PLANTSTORE_DATABSE", "did you mean PLANTSTORE_DATABASE?"],
  ["PLANTSTORE_DATABASE_FLIE", "did you mean PLANTSTORE_DATABASE_FILE?"],
  ["PLANTSTORE_COLOUR_OF_ALL", '"plantstore config" prints the settings of the server'],
];
test.each(unknownNames)("%s is an unknown setting, and the nearest one is suggested", (name, suggestion) => {
  const message = `unknown setting ${name}; ${suggestion}`;
  expect(configurationError([], { [name]: "1" })).toEqual(usageError(message));
  const path = file(`\n# A comment.\n${name}=1\n`);
  expect(configurationError(["--config", path])).toEqual(usageError(`${path}, line 3: ${message}`));
});

test("settings of other commands, PLANTSTORE_TEST_* and variables of other programs are not errors", () => {
  const others = file("PLANTSTORE_TOKEN_NAME=ci\nPLANTSTORE_JSON=on\n");
  const env = { PLANTSTORE_TOKEN_EXPIRES: "90d", PLANTSTORE_TEST_URL: "x", PLANT_STORE: "x", PORT: "x" };
  configured(["--config", others], { ...env, PLANTSTORE_CONFORMANCE_TOKEN: "x" });
});

const secret = "xq7zj";
const contradictions: readonly [args: string[], message: string][] = [
  [["--port", "x"], '--port: "x" is not an integer from 0 to 65535'],
  [
    ["--operations", "create,gett"],
    '--operations: "create,gett" is not create, or create with some of list, get, delete',
  ],
  [["--port", `\n\u001b[31m${"9".repeat(200)}`], `--port: "\\n\\u001b[31m${"9".repeat(54)}…" is not`],
  [
    ["--operations", "create,list", "--in-flight-bytes-max", "200000", "--body-bytes-max", "100000"],
    "--in-flight-bytes-max must be at least 1048576 with the operation list, whose page may take as much",
  ],
  [
    ["--token-rate", "50", "--token-burst", "5"],
    "--token-burst must be at least --token-rate: its window would be shorter than a second, in which RateLimit-Policy and Retry-After count",
  ],
  [["--token-burst", "5"], "--token-burst requires --token-rate; give both, or only --token-rate"],
  [["--tls-key", "live.key"], "--tls-certificate and --tls-key require each other"],
  [["--tls-certificate", "live.crt"], "--tls-certificate and --tls-key require each other"],
  [["--jwt-issuer", "https://id.example/"], "--jwt-audience is missing"],
  [["--jwt-audience", "plants"], "--jwt-issuer is missing"],
  [["--jwks-url", "https://id.example/keys"], "--jwt-issuer is missing"],
  ...["0.0.0.0", "::", "plants.example"].map((host): [string[], string] => [
    ["--admin-host", host],
    `--admin-host ${host} is not loopback, so a console password is required; print its hash with "plantstore password"`,
  ]),
  ...["999.1.1.1", "127.1", "-x y", "a/b", "user@h", "[::1]", "::1]/x[", "h:1", "*", "+", ""].map(
    (host): [string[], string] => [
      ["--host", host],
      `--host: ${JSON.stringify(host)} is not an address such as 127.0.0.1 or ::1, a host name, or for all addresses 0.0.0.0 or ::`,
    ],
  ),
  [["--port", "65536"], '--port: "65536" is not an integer from 0 to 65535'],
  [["--idle-seconds-max", "9"], '--idle-seconds-max: "9" is not an integer from 10 to 255'],
  ...["javascript:alert(1)", "plants.example", "http://", "http://user:pw@h/", "http://:pw@h/"].map(
    (url): [string[], string] => [["--public-url", url], "--public-url: "],
  ),
];
test.each(contradictions)("%j is an error", (args, message) => {
  const error = configurationError(args);
  expect(error.exitCode).toBe(2);
  expect(error.message).toStartWith(message);
});

test("addresses and names are hosts", () => {
  for (const host of ["127.0.0.2", "::", "fe80::1%eth0", "LocalHost", "plants.example", "a-1"])
    expect(resolveServeConfig(["--host", host]).host).toBe(host);
});

test.each([
  ["--jwt-issuer", "http://id.example"],
  ["--jwt-issuer", "http://127.0.0.1.id.example"],
  ["--jwt-issuer", "https://id.example/?tenant=1"],
  ["--jwt-issuer", "https://user:secret@id.example/"],
  ["--jwks-url", "http://id.example/keys"],
  ["--jwks-url", "https://user:secret@id.example/keys"],
  ["--jwks-url", "file:///etc/passwd"],
])("%s %s is rejected", (flag, url) => {
  const { exitCode, message } = configurationError(["--jwt-audience", "plants", flag, url]);
  expect(exitCode).toBe(2);
  expect(message).toMatch(new RegExp(`^${flag}: .*http is for loopback addresses only$`));
});

test("an admin listener that is off needs no password", () => {
  const config = configured(["--admin-host", "0.0.0.0", "--admin-port", "off"]);
  expect(config.get("PLANTSTORE_ADMIN_HOST")?.value).toBe("0.0.0.0");
});

test("a switch is on or off in every source", () => {
  const flags = (args: string[]) => flagsFrom(["--config", file("PLANTSTORE_JSON=on\n"), ...args], ["json"]);
  const json = (args: string[], env = {}) => resolveConfig(["json"], flags(args), env).json;
  expect(json([])).toBe(true);
  expect(json(["--json"], { PLANTSTORE_JSON: "off" })).toBe(true);
  for (const value of ["", "off", "0"]) expect(json([], { PLANTSTORE_JSON: value })).toBe(false);
  expect(() => json([], { PLANTSTORE_JSON: "perhaps" })).toThrow('"perhaps" is not on or off');
});

test.each([
  [
    `postgres://plants:${secret}@one,two:5433/plants?sslmode=require`,
    "postgres://plants:***@one,two:5433/plants?sslmode=require",
  ],
  [`postgres://u:${secret} ${secret}@h/d`, "postgres://u:***@h/d"],
  [`postgres://u:${secret}?${secret}:${secret}@h/d`, "postgres://u:***@h/d"],
  ["postgres://u@h:5432/d", "postgres://u@h:5432/d"],
])("%s is printed without its password", (address, shown) => {
  const rows = configured([], { PLANTSTORE_DATABASE: address });
  expect(rows.get("PLANTSTORE_DATABASE")?.value).toBe(shown);
});

test.each([
  secret,
  `mysql://u:${secret}@h/d`,
  `postgres://u:${secret}`,
  `postgres://u:1234?${secret}@h/${secret}@d`,
  `postgres://u:%e9${secret}@h/d`,
  `postgres://u:${secret}@h:99999/d`,
  `postgres://u:${secret}@h/d?password=${secret}`,
  `postgres://u:${secret}@h/d\npostgres://u:${secret}@h/d`,
])("an error does not contain the password of %j", (address) => {
  const { exitCode, message } = configurationError([], { PLANTSTORE_DATABASE: address });
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^PLANTSTORE_DATABASE: the value is invalid: [^\n]+$/);
  expect(message).not.toContain(secret);
});

test.each([
  ["a:b@c.neon.example/d?sslmode=require&channel_binding=require", "c.neon.example:5432/d"],
  [
    "a:b@c/d?sslmode=verify-full&sslnegotiation=direct&gssencmode=prefer&target_session_attrs=read-write",
    "c:5432/d",
  ],
  ["a:b@c/d?ssl=true&options=endpoint%3Dquiet-sea", "c:5432/d"],
  ["/plants?host=/var/run/postgresql", "/var/run/postgresql:5432/plants"],
  ["/?host=/tmp,db2&port=5433&dbname=plants&user=a", "/tmp:5433,db2:5433/plants"],
  ["c/d?host=10.0.0.1,fe80::1&port=1,2", "10.0.0.1:1,[fe80::1]:2/d"],
])("the address postgres://%s, as providers print it, is %s", (address, location) => {
  expect(storeAt(`postgres://${address}`).location).toBe(location);
});

test.each([
  ["a@b/c?sslmode=prefer", 'sslmode is "prefer", but must be disable, require, verify-ca or verify-full'],
  ["a@b/c?pgbouncer=true", "it has no parameter pgbouncer; there are host"],
  ["a@b/c?target_session_attrs=standby", "must be read-write, primary or any"],
  ["a@b/c?gssencmode=require", "must be disable or prefer"],
  ["a@b/c?channel_binding=require", "channel_binding=require needs TLS; add sslmode=require or verify-full"],
  ["a@b/c?sslnegotiation=direct", "sslnegotiation=direct needs TLS; add sslmode=require or verify-full"],
  ["a@b/c?password=x", "the password goes before the host, as user:password@host"],
  ["a@b/c?retry_timeout=100000", "retry_timeout"],
  ["a@b,c:99999/c", "a host is not NAME or NAME:PORT"],
  ["a:50%@b/c", "a part has a % that is not written as %25"],
  ["a@b/c?sslmode=verify-ca", "sslmode=verify-ca needs sslrootcert"],
])("the address postgres://%s is an error that says why", (address, reason) => {
  expect(configurationError(["--database", `postgres://${address}`]).message).toContain(reason);
});

test("an error does not contain a secret that was given to another setting", async () => {
  const address = `postgres://u:p@${secret}@h/d`;
  const config = (content: string) => ["config", "--config", file(content)];
  for (const [args, env = {}] of [
    [config(`PLANTSTORE_DATABASE=postgres://u:a#${secret}@h/d`)],
    [config(`PLANTSTORE_DATABASE='postgres://u:${secret}@h/d\n`)],
    [config(`PLANTSTORE_DATABSE=${address}`)],
    [config(`PLANTSTORE_DATABASE=${address}\nPLANTSTORE_DATABASE=${address}`)],
    [["serve", "--port", `postgres://u:${secret.repeat(100)}@h/d`]],
    [["serve"], { PLANTSTORE_PORT: address }],
    [["serve"], { PLANTSTORE_PORT_FILE: file(secret, "secret") }],
    [["serve"], { PLANTSTORE_DATABSE: address }],
    [["serve", `--databse=${address}`]],
    [["serve", `--admin-pasword-hash=${secret}`]],
    [["serve", address]],
  ] as readonly [string[], Record<string, string>?][]) {
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

test("a claim may be given several times", () => {
  const identity = ["--jwt-issuer", "https://id.example", "--jwt-audience", "plants"];
  const claims = ["--jwt-claim", "owner=acme, Inc.", "--jwt-claim", "groups=a=b"];
  const { jwtClaim } = resolveServeConfig([...identity, ...claims]);
  expect(jwtClaim).toEqual(["owner=acme, Inc.", "groups=a=b"]);
});
