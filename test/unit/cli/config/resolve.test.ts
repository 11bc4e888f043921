// Where settings come from: flags, environment variables, the files that variables name, a
// configuration file, defaults.

import { expect, test } from "bun:test";
import { resolveConfig } from "../../../../src/cli/config/resolve.ts";
import { type SettingName, serverSettingNames, settings } from "../../../../src/cli/config/settings.ts";
import {
  configurationError,
  configured,
  filesInMemory,
  flagsFrom,
  kubernetesVariables,
  resolveServeConfig,
  usageError,
} from "../../../support/configuration.ts";

test("the configuration is frozen, and each value has its type", () => {
  const config = resolveServeConfig(["--port", "1", "--cors", "https://a.example,https://b.example"]);
  expect(Object.isFrozen(config)).toBe(true);
  expect(Object.isFrozen(config.sources)).toBe(true);
  const { port, cors, tlsKey, sources } = config;
  expect({ port, cors, tlsKey }).toEqual({
    port: 1,
    cors: ["https://a.example", "https://b.example"],
    tlsKey: undefined,
  });
  expect([sources.port, sources.tlsKey]).toEqual(["flag", "default"]);
});

/**
 * Values of the settings that have no default, or depend on another; the others get their default.
 */
const samples: Partial<Record<SettingName, string>> = {
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
  jwksUrl: "https://id.example/keys",
};

const given = serverSettingNames.map((name) => {
  const { flag, environment } = settings[name];
  const text = samples[name] ?? settings[name].default ?? "";
  return { flag: flag.split(" ")[0] ?? "", environment, text };
});

test("every setting of the server can come from every source", () => {
  const files = filesInMemory({
    "plantstore.env": given.map(({ environment, text }) => `${environment}="${text}"`).join("\n"),
    ...Object.fromEntries(given.map(({ environment, text }) => [environment, `${text}\n`])),
  });
  const variables = given.map(({ environment, text }) => [environment, text]);
  const fileVariables = given.map(({ environment }) => [`${environment}_FILE`, environment]);
  const bySource = {
    flag: configured(given.flatMap(({ flag, text }) => [flag, text])),
    environment: configured([], Object.fromEntries(variables)),
    "config file": configured(["--config", "plantstore.env"], {}, files),
  };
  for (const [source, rows] of Object.entries(bySource)) {
    for (const { environment } of given) expect(rows.get(environment)?.source).toBe(source);
  }
  const rows = configured([], Object.fromEntries(fileVariables), files);
  for (const { environment } of given) expect(rows.get(environment)?.source).toBe(`${environment}_FILE`);
});

/** The sources of a setting, highest precedence first, each with another port. */
const sources = ["flag", "environment", "PLANTSTORE_PORT_FILE", "config file", "default"] as const;
type Source = (typeof sources)[number];
const ports: Readonly<Record<Source, number>> = {
  flag: 1001,
  environment: 1002,
  PLANTSTORE_PORT_FILE: 1003,
  "config file": 1004,
  default: 8080,
};

/** The port that results from these sources. */
function portFrom(given: readonly Source[]): unknown {
  const files = filesInMemory({
    port: `${ports.PLANTSTORE_PORT_FILE}\n`,
    "plantstore.env": `PLANTSTORE_PORT=${ports["config file"]}\n`,
  });
  const env = {
    ...(given.includes("environment") ? { PLANTSTORE_PORT: String(ports.environment) } : {}),
    ...(given.includes("PLANTSTORE_PORT_FILE") ? { PLANTSTORE_PORT_FILE: "port" } : {}),
  };
  const args = [
    ...(given.includes("flag") ? ["--port", String(ports.flag)] : []),
    ...(given.includes("config file") ? ["--config", "plantstore.env"] : []),
  ];
  return configured(args, env, files).get("PLANTSTORE_PORT");
}

const pairs = sources
  .flatMap((first, index) => sources.slice(index + 1).map((second): [Source, Source] => [first, second]))
  .filter((pair) => pair.join() !== "environment,PLANTSTORE_PORT_FILE");
test.each(pairs)("%s has precedence over %s", (first, second) => {
  expect(portFrom([second, first])).toEqual({ value: ports[first], source: first });
});

test("a variable and its _FILE variable together are an error, in the environment and in the file", () => {
  const files = filesInMemory({ "both.env": "PLANTSTORE_PORT=1\nPLANTSTORE_PORT_FILE=port\n" });
  const both = { PLANTSTORE_PORT: "1", PLANTSTORE_PORT_FILE: "port" };
  const line = "PLANTSTORE_PORT and PLANTSTORE_PORT_FILE are both set; remove one of them";
  expect(configurationError([], both)).toEqual(usageError(line));
  expect(configurationError(["--port", "1"], both)).toEqual(usageError(line));
  expect(configurationError(["--config", "both.env"], {}, files)).toEqual(
    usageError(`both.env, line 1: ${line}`),
  );
});

test("a _FILE variable of the configuration file is a source, and the environment has precedence over it", () => {
  const files = filesInMemory({
    one: "1",
    "plantstore.env": "PLANTSTORE_PORT_FILE=one\nPLANTSTORE_TOKEN_RATE_FILE='one'\n",
  });
  const rows = configured(["--config", "plantstore.env"], { PLANTSTORE_PORT: "2" }, files);
  expect(rows.get("PLANTSTORE_PORT")).toEqual({ value: 2, source: "environment" });
  expect(rows.get("PLANTSTORE_TOKEN_RATE")).toEqual({
    value: 1,
    source: "config file, PLANTSTORE_TOKEN_RATE_FILE",
  });
});

test("the configuration file is named by --config or PLANTSTORE_CONFIG", () => {
  const files = filesInMemory({ "one.env": "PLANTSTORE_PORT=1", "two.env": "PLANTSTORE_PORT=2" });
  const env = { PLANTSTORE_CONFIG: "two.env" };
  const byVariable = configured([], env, files);
  expect(byVariable.get("PLANTSTORE_PORT")).toEqual({ value: 2, source: "config file" });
  expect(byVariable.get("PLANTSTORE_CONFIG")).toEqual({ value: "two.env", source: "environment" });
  const byFlag = configured(["--config", "one.env"], env, files);
  expect(byFlag.get("PLANTSTORE_PORT")).toEqual({ value: 1, source: "config file" });
});

test.each([
  ["a", "a"],
  ["a\n", "a"],
  ["a\r\n", "a"],
  ["\uFEFFa\n", "a"],
  [" a \n\n", " a \n"],
])("of the variable's file %j the value is %j", (text, value) => {
  const rows = configured([], { PLANTSTORE_HOST_FILE: "host" }, filesInMemory({ host: text }));
  expect(rows.get("PLANTSTORE_HOST")?.value).toBe(value);
});

const unknownNames: readonly [name: string, suggestion: string][] = [
  ["PLANTSTORE_PROT", "did you mean PLANTSTORE_PORT?"],
  ["PLANTSTORE_DATABASE_URL", "did you mean PLANTSTORE_DATABASE?"],
  ["PLANTSTORE_DATABSE_FILE", "did you mean PLANTSTORE_DATABASE_FILE?"],
  ["PLANTSTORE_DATABASE_FLIE", "did you mean PLANTSTORE_DATABASE_FILE?"],
  ["PLANTSTORE_CONFIG_FILE", "did you mean PLANTSTORE_CONFIG?"],
  ["PLANTSTORE_port", "did you mean PLANTSTORE_PORT?"],
  ["PLANTSTORE_", '"plantstore config" prints the settings of the server'],
  ["PLANTSTORE_COLOUR", '"plantstore config" prints the settings of the server'],
];
test.each(unknownNames)("%s is an unknown setting, and the nearest one is suggested", (name, suggestion) => {
  const message = `unknown setting ${name}; ${suggestion}`;
  expect(configurationError([], { [name]: "1" })).toEqual(usageError(message));
  const files = filesInMemory({ "plantstore.env": `\n# A comment.\n${name}=1\n` });
  expect(configurationError(["--config", "plantstore.env"], {}, files)).toEqual(
    usageError(`plantstore.env, line 3: ${message}`),
  );
});

test("settings of other commands, PLANTSTORE_TEST_* and variables of other programs are not errors", () => {
  const files = filesInMemory({ "plantstore.env": "PLANTSTORE_TOKEN_NAME=ci\nPLANTSTORE_QUIET=on\n" });
  const env = { PLANTSTORE_TOKEN_EXPIRES: "90d", PLANTSTORE_TEST_URL: "x", PLANT_STORE: "x", PORT: "x" };
  configured(["--config", "plantstore.env"], { ...env, PLANTSTORE_CONFORMANCE_TOKEN_FILE: "x" }, files);
});

test("an invalid value is an error that names its source", () => {
  const files = filesInMemory({
    port: "eighty\n",
    "plantstore.env": 'PLANTSTORE_HOST=127.0.0.1\nPLANTSTORE_PORT="x"\n',
  });
  const reason = "is not an integer from 0 to 65535";
  expect(configurationError(["--port", "x"])).toEqual(usageError(`--port: "x" ${reason}`));
  expect(configurationError([], { PLANTSTORE_PORT: "x" })).toEqual(
    usageError(`PLANTSTORE_PORT: "x" ${reason}`),
  );
  expect(configurationError([], { PLANTSTORE_PORT_FILE: "port" }, files)).toEqual(
    usageError(`PLANTSTORE_PORT_FILE: port: the value ${reason}`),
  );
  expect(configurationError(["--config", "plantstore.env"], {}, files)).toEqual(
    usageError(`plantstore.env, line 2: PLANTSTORE_PORT: "x" ${reason}`),
  );
  expect(configurationError([], { PLANTSTORE_PORT: `\n\u001b[31m${"9".repeat(200)}` })).toEqual(
    usageError(`PLANTSTORE_PORT: "\\n\\u001b[31m${"9".repeat(54)}…" ${reason}`),
  );
});

const contradictions: readonly [args: string[], message: string][] = [
  [["--token-burst", "5"], "--token-burst requires --token-rate; give both, or only --token-rate"],
  [["--in-flight-bytes-max", "5"], "--in-flight-bytes-max 5 is less than --body-bytes-max 1048576"],
  [["--tls-key", "live.key"], "--tls-certificate and --tls-key require each other"],
  [["--tls-certificate", "live.crt"], "--tls-certificate and --tls-key require each other"],
  [["--jwt-issuer", "https://id.example/"], "--jwt-audience is missing"],
  [["--jwt-audience", "plants"], "--jwt-issuer is missing"],
  [["--jwks-url", "https://id.example/keys"], "--jwt-issuer is missing"],
  [["--jwt-issuer", "https://id.example/", "--jwks-url", "https://id.example/keys"], "--jwt-audience is"],
  [["--jwt-audience", "plants", "--jwks-url", "https://id.example/keys"], "--jwt-issuer is missing"],
  ...["0.0.0.0", "::", "10.0.0.1", "plants.example"].map((host): [string[], string] => [
    ["--admin-host", host],
    `--admin-host ${host} is not loopback, so a console password is required; print its hash with "plantstore password"`,
  ]),
];
test.each(contradictions)("%j is a contradiction", (args, message) => {
  const error = configurationError(args);
  expect(error.exitCode).toBe(2);
  expect(error.message).toStartWith(message);
});

const identityProvider = ["--jwt-audience", "plants", "--jwt-issuer"];

test.each([
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
])("the issuer %p is rejected", (issuer) => {
  const { exitCode, message } = configurationError([...identityProvider, issuer]);
  expect(exitCode).toBe(2);
  expect(message).toMatch(/^--jwt-issuer: .*http is for loopback addresses only$/);
});

test.each(["http://[::1]:1", "http://localhost:1", "http://127.0.0.2:1", "https://id.example"])(
  "the issuer %p is one",
  (issuer) => {
    const config = configured([...identityProvider, issuer]);
    expect(config.get("PLANTSTORE_JWT_ISSUER")?.value).toBe(issuer);
  },
);

test.each(["http://id.example/keys", "https://user:secret@id.example/keys", "file:///etc/passwd", "/keys"])(
  "the key address %p is rejected",
  (url) => {
    const args = [...identityProvider, "https://id.example/", "--jwks-url", url];
    const { exitCode, message } = configurationError(args);
    expect(exitCode).toBe(2);
    expect(message).toMatch(/^--jwks-url: .*http is for loopback addresses only$/);
  },
);

test("an admin listener that is off needs no password", () => {
  const config = configured(["--admin-host", "0.0.0.0", "--admin-port", "off"]);
  expect(config.get("PLANTSTORE_ADMIN_HOST")?.value).toBe("0.0.0.0");
});

test("a switch is on or off in every source", () => {
  const files = filesInMemory({ "plantstore.env": "PLANTSTORE_JSON=on\n" });
  const json = (args: string[], env: Record<string, string> = {}) => {
    const flags = flagsFrom(["--config", "plantstore.env", ...args], ["json"]);
    return resolveConfig(["json"], flags, env, { readFile: files }).json;
  };
  expect(json([])).toBe(true);
  expect(json([], { PLANTSTORE_JSON: "off" })).toBe(false);
  expect(json(["--json"], { PLANTSTORE_JSON: "off" })).toBe(true);
  for (const value of ["", "false", "0"]) expect(json([], { PLANTSTORE_JSON: value })).toBe(false);
  for (const value of ["true", "1", "on"]) expect(json([], { PLANTSTORE_JSON: value })).toBe(true);
  expect(() => json([], { PLANTSTORE_JSON: "perhaps" })).toThrow(
    'PLANTSTORE_JSON: "perhaps" is not on or off',
  );
});

test("Kubernetes' variables for Services are ignored", () => {
  const env = {
    ...kubernetesVariables("PLANTSTORE", "10.96.0.12", "8080"),
    ...kubernetesVariables("PLANTSTORE_ADMIN", "[fd00::12]", "8081"),
  };
  expect(configured([], env).get("PLANTSTORE_PORT")).toEqual({ value: 8080, source: "default" });
});

test("a variable that only resembles a Service's is a setting, or unknown", () => {
  const port = { PLANTSTORE_PORT: "tcp://10.96.0.12:8080" };
  expect(configurationError([], port).message).toContain('PLANTSTORE_PORT: "tcp://10.96.0.12:8080"');
  const service = { PLANTSTORE_SERVICE_HOST: "10.96.0.12", PLANTSTORE_SERVICE_PORT: "8080" };
  expect(configured([], { ...service, PLANTSTORE_PORT: "9" }).get("PLANTSTORE_PORT")?.value).toBe(9);
  expect(configurationError([], { ...service, PLANTSTORE_PORTS: "9" }).message).toContain("unknown setting");
});
