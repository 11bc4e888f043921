// Lists all settings.

import { formatNames } from "../../transfer/format-names.ts";
import {
  integer,
  oneOf,
  parseAddressRanges,
  parseBasePath,
  parseClaims,
  parseDatabaseUrl,
  parseDuration,
  parseExpiry,
  parseFieldNames,
  parseHost,
  parseHostNames,
  parseIssuer,
  parseJwksUrl,
  parseOperations,
  parseOrigins,
  parsePasswordHash,
  parsePort,
  parsePortOrOff,
  parsePublicUrl,
  parseRenames,
  parseSinceTime,
  parseSwitch,
  parseText,
  parseToken,
  parseTokenName,
  parseUrl,
} from "./parsers.ts";
import { redactUrl } from "./redact.ts";

const MiB = 2 ** 20;

export interface Setting<Value> {
  /** The long flag and its argument, in commander's syntax. */
  readonly flag: string;
  /** As an operator would write it; parsed like any other value. */
  readonly default?: string;
  /** Whether a command that uses the setting fails without a value. */
  readonly required?: true;
  readonly description: string;
  /** A repeated flag is joined by line ends, or refused; by default the last one counts. */
  readonly repeated?: "joined" | "refused";
  /** Whether the value is hidden by `plantstore config`, in the log and in error messages. */
  readonly secret?: true;
  /** Throws an InvalidValueError; for a secret its message must not contain the value. */
  parse(text: string): Value;
  /** The part of a secret that may be printed; `***` if absent. */
  display?(value: Value): string;
}

type Settings = Readonly<Record<string, Setting<unknown>>>;

/** A flag without an argument. */
const switchSetting = (flag: string, description: string) => ({
  flag,
  default: "off",
  description,
  parse: parseSwitch,
});

const contract = {
  contract: {
    flag: "--contract <file>",
    description:
      "OpenAPI description of what is served, in YAML or JSON; if not set, that of the store; a new store and a sandbox have that of the Plant Store",
    parse: parseText,
  },
  watch: switchSetting("--watch", "take over the contract when its file, or one that it refers to, changes"),
} satisfies Settings;

const listener = {
  host: {
    flag: "--host <address>",
    default: "127.0.0.1",
    description: "address that the public listener binds to",
    parse: parseHost,
  },
  port: {
    flag: "--port <number>",
    default: "8080",
    description: "port of the public listener; 0 picks a free port",
    parse: parsePort,
  },
  tlsCertificate: {
    flag: "--tls-certificate <file>",
    description: "TLS certificate of the public listener with its chain, in PEM, read at the start",
    parse: parseText,
  },
  tlsKey: {
    flag: "--tls-key <file>",
    description: "private key of the TLS certificate, in PEM, without a passphrase",
    parse: parseText,
  },
  basePath: {
    flag: "--base-path <path>",
    default: "",
    description: "path before that of the contract, such as /v1",
    parse: parseBasePath,
  },
  operations: {
    flag: "--operations <names>",
    default: "create",
    description:
      "operations of the public listener besides those of the contract, such as create,list,get,delete",
    parse: parseOperations,
  },
  extend: {
    flag: "--extend <file>",
    description:
      "module in TypeScript or JavaScript whose default export is a list of further operations, made by defineOperation",
    parse: parseText,
  },
  open: switchSetting("--open", "serve operations that need no token, on a loopback address only"),
  publicUrl: {
    flag: "--public-url <url>",
    description: "base URL that clients use, if the server is behind a proxy",
    parse: parsePublicUrl,
  },
  cors: {
    flag: "--cors <origins>",
    default: "*",
    description: "web origins that may send cross-origin requests: *, off, or a list separated by commas",
    parse: parseOrigins,
  },
  docs: {
    flag: "--docs <on|off>",
    default: "on",
    description: "serve the documentation page at the base URL",
    parse: oneOf("on", "off"),
  },
} satisfies Settings;

const admin = {
  adminHost: {
    flag: "--admin-host <address>",
    default: "127.0.0.1",
    description:
      "address that the admin listener binds to; an address that is not loopback requires --admin-password-hash",
    parse: parseHost,
  },
  adminPort: {
    flag: "--admin-port <number>",
    default: "8081",
    description:
      "port of the admin listener with the console, /livez, /readyz and /metrics; 0 picks a free port, off disables the listener",
    parse: parsePortOrOff,
  },
  console: {
    flag: "--console <on|off>",
    default: "on",
    description: "serve the operator console on the admin listener",
    parse: oneOf("on", "off"),
  },
  adminPasswordHash: {
    flag: "--admin-password-hash <hash>",
    description:
      'hash of the console\'s password, as "plantstore password" prints it; no password if not set',
    secret: true,
    parse: parsePasswordHash,
  },
  adminNames: {
    flag: "--admin-names <names>",
    description:
      "host names of the console, separated by commas; IP addresses and localhost are always accepted",
    parse: parseHostNames,
  },
  trustedProxies: {
    flag: "--trusted-proxies <addresses>",
    description:
      "addresses or ranges, separated by commas, of proxies in front of the admin listener whose Forwarded or X-Forwarded-For is trusted",
    parse: parseAddressRanges,
  },
} satisfies Settings;

const store = {
  database: {
    flag: "--database <address>",
    default: "sqlite:plantstore.db",
    description: "the store: sqlite:FILE or postgres://user:password@host/database",
    secret: true,
    parse: parseDatabaseUrl,
    display: redactUrl,
  },
  migrate: {
    flag: "--migrate <on|off>",
    default: "on",
    description: "create the store, or upgrade its schema, when the server starts",
    parse: oneOf("on", "off"),
  },
  bootstrapToken: {
    flag: "--bootstrap-token <on|off>",
    default: "on",
    description:
      "print a first token on standard output when the server starts on a store that never had one",
    parse: oneOf("on", "off"),
  },
} satisfies Settings;

const jwt = {
  jwtIssuer: {
    flag: "--jwt-issuer <url>",
    description: "identity provider whose JWTs are accepted: the exact value of their iss claim",
    repeated: "refused",
    parse: parseIssuer,
  },
  jwtAudience: {
    flag: "--jwt-audience <text>",
    description: "value that the aud claim of a JWT must be or contain",
    repeated: "refused",
    parse: parseText,
  },
  jwtAudienceClaim: {
    flag: "--jwt-audience-claim <name>",
    description: "claim of a JWT that has the audience, such as client_id for Amazon Cognito; aud if not set",
    repeated: "refused",
    parse: parseText,
  },
  jwtClaim: {
    flag: "--jwt-claim <name=value>",
    description:
      "claim that a JWT must have besides: this value, or a list that contains it; may be repeated, in the variable one a line",
    repeated: "joined",
    parse: parseClaims,
  },
  jwksUrl: {
    flag: "--jwks-url <url>",
    description: "URL of the identity provider's keys; OpenID discovery if not set",
    parse: parseJwksUrl,
  },
} satisfies Settings;

const limits = {
  bodyBytesMax: {
    flag: "--body-bytes-max <bytes>",
    default: String(MiB),
    description:
      "maximum size of a request body, and of an imported or edited plant; a larger one is rejected with 413",
    // SQLite stores strings of up to 10^9 bytes.
    parse: integer(1, 512 * MiB),
  },
  queuePlantsMax: {
    flag: "--queue-plants-max <plants>",
    default: "10000",
    description:
      "maximum number of plants waiting for a commit, where each 4,096 characters count as one more; further ones are rejected with 503",
    parse: integer(1, 1_000_000),
  },
  tokenRate: {
    flag: "--token-rate <creates>",
    default: "0",
    description: "creates per second for each token; further ones are rejected with 429; 0 is unlimited",
    parse: integer(0, 1_000_000),
  },
  tokenBurst: {
    flag: "--token-burst <creates>",
    description:
      "creates that a token may send at once, above its rate for a short time; --token-rate if not set",
    parse: integer(1, 100_000_000),
  },
  inFlightBytesMax: {
    flag: "--in-flight-bytes-max <bytes>",
    default: String(64 * MiB),
    description:
      "memory for the bodies of all requests in flight, each with its whole length, of --body-bytes-max if it has none, at least one body; further ones are rejected with 503",
    parse: integer(1, 64 * 1_024 * MiB),
  },
  arrivalSecondsMax: {
    flag: "--arrival-seconds-max <seconds>",
    default: "20",
    description: "time for a request body to arrive; a slower request is rejected with 408",
    parse: integer(1, 240),
  },
  connectionsMax: {
    flag: "--connections-max <connections>",
    default: "10000",
    description:
      "maximum number of open connections; beyond it idle ones are closed, and others after their next response",
    parse: integer(1, 1_000_000),
  },
  idleSecondsMax: {
    flag: "--idle-seconds-max <seconds>",
    default: "75",
    description:
      "time without traffic after which a connection is closed; longer than a load balancer in front keeps its own",
    parse: integer(10, 255),
  },
  drainSecondsMax: {
    flag: "--drain-seconds-max <seconds>",
    default: "10",
    description: "time to finish accepted requests when the server shuts down",
    parse: integer(0, 3_600),
  },
} satisfies Settings;

const log = {
  logFormat: {
    flag: "--log-format <auto|json|pretty>",
    default: "auto",
    description: "auto is pretty on a terminal, otherwise json",
    parse: oneOf("auto", "json", "pretty"),
  },
  logLevel: {
    flag: "--log-level <error|warn|info>",
    default: "info",
    description: "minimum severity of log lines",
    parse: oneOf("error", "warn", "info"),
  },
  notes: {
    flag: "--notes <kinds|all>",
    default: "kinds",
    description:
      "lines of the start on what of the contract is not served or checked: one for each kind, with a count, or all",
    parse: oneOf("kinds", "all"),
  },
  accessLog: {
    flag: "--access-log <lines>",
    default: "10",
    description: "maximum number of requests logged per second; 0 disables the access log",
    parse: integer(0, 1_000_000),
  },
  otlpEndpoint: {
    flag: "--otlp-endpoint <url>",
    description:
      "OpenTelemetry collector that traces are sent to, such as http://127.0.0.1:4318; no tracing if not set",
    secret: true,
    parse: parseUrl,
    display: redactUrl,
  },
} satisfies Settings;

/** The settings of the server, below the headings in its help. */
export const groups: Readonly<Record<string, Settings>> = {
  "Contract:": contract,
  "Public listener:": listener,
  "Admin listener and console:": admin,
  "Store:": store,
  "JWTs of an identity provider:": jwt,
  "Limits:": limits,
  "Log and traces:": log,
};

/** `plantstore config` prints them in this order. */
const serverSettings = { ...contract, ...listener, ...admin, ...store, ...jwt, ...limits, ...log };

/** The settings of single commands. */
const commandSettings = {
  config: {
    flag: "--config <file>",
    description: "file of settings, one NAME=value per line, with the names of the environment variables",
    parse: parseText,
  },
  collection: {
    flag: "--collection <name>",
    description: "the collection, by its name or path, such as parcels, if the store has several",
    parse: parseText,
  },
  waitSecondsMax: {
    flag: "--wait-seconds-max <seconds>",
    default: "0",
    description: "time to wait until the server is ready",
    parse: integer(0, 3_600),
  },
  tokenName: {
    flag: "--name <name>",
    required: true,
    description: "name of the token, by which it is listed, rotated and revoked",
    parse: parseTokenName,
  },
  tokenExpires: {
    flag: "--expires <time>",
    description:
      "lifetime of the token, 90d, 12h or never, or its end in UTC, 2027-01-31; if not set, never, and for rotate the lifetime of the previous token",
    parse: parseExpiry,
  },
  tokenOverlap: {
    flag: "--overlap <duration>",
    default: "7d",
    description: "how long older tokens of the name stay valid; 0s ends them at once",
    parse: parseDuration,
  },
  json: switchSetting("--json", "print JSON instead of a table, one line per row"),
  all: switchSetting("--all", "include tokens that have ended"),
  force: switchSetting("--force", "replace an existing store"),
  format: {
    flag: "--format <ndjson|csv>",
    description: "if not set, import goes by the file's content, and export prints ndjson",
    parse: oneOf(...formatNames),
  },
  sinceId: {
    flag: "--since-id <id>",
    description: "export only resources with an id greater than this",
    parse: parseText,
  },
  withCreation: switchSetting(
    "--with-creation",
    "show also when and with which token each resource was created",
  ),
  historySince: {
    flag: "--since <time>",
    description: "only edits since then: a duration such as 7d, or a date or time in UTC such as 2027-01-31",
    parse: parseSinceTime,
  },
  historyUndo: {
    flag: "--undo <run>",
    description: "undo the edits of this run",
    parse: parseText,
  },
  historyForget: switchSetting(
    "--forget",
    "erase the edits of these resources from the history, or those before --before, for good; shows how many without --yes",
  ),
  historyBefore: {
    flag: "--before <time>",
    description: "only edits before then, as for --since",
    parse: parseSinceTime,
  },
  yes: switchSetting("--yes", "do what cannot be undone"),
  dropFields: {
    flag: "--drop-fields <names>",
    description:
      "fields, and paths of collections, that the contract no longer has, separated by commas: their values are deleted",
    parse: parseFieldNames,
  },
  renameFields: {
    flag: "--rename-fields <names>",
    description:
      "fields, and paths of collections, that have another name in the contract, as OLD=NEW, separated by commas",
    parse: parseRenames,
  },
  allFolder: {
    flag: "--all <folder>",
    description: "all collections, each in a file of its name in this folder",
    parse: parseText,
  },
  importIdsFrom: {
    flag: "--key <text>",
    description:
      "makes the ids of records without one, with their numbers, where the server makes ids; if not set, the name of the file",
    parse: parseText,
  },
  importCreation: switchSetting(
    "--with-creation",
    "keep the times of creation and the names of tokens that the file has from export --with-creation",
  ),
  importUpdate: switchSetting("--update", "replace stored plants that differ"),
  dryRun: switchSetting("--dry-run", "only print what an import would do"),
  quiet: switchSetting("--quiet", "print no progress, and no counts unless records were rejected"),
  sandboxToken: {
    flag: "--token <token>",
    default: "sandbox",
    description: "the token that the sandbox accepts: letters, digits and the characters - . _ ~ + /",
    secret: true,
    parse: parseToken,
  },
  sandboxSeed: {
    flag: "--seed <file>",
    description:
      "plants that the sandbox starts with, and that a reset brings back: a file of CSV or JSON, a folder with such a file for each of several collections, or examples for those of the contract",
    parse: parseText,
  },
  sandboxRules: {
    flag: "--rules <file>",
    description:
      "rules that the sandbox starts with, and that a reset brings back: the JSON of PUT /sandbox/rules",
    parse: parseText,
  },
  sandboxReadyPath: {
    flag: "--ready-file <file>",
    description:
      "file that is written, as JSON with the addresses, when the sandbox is ready, and removed when it ends",
    parse: parseText,
  },
  exitWithParent: switchSetting(
    "--exit-with-parent",
    "end when standard input ends, as it does when the program that holds its other end exits or is killed",
  ),
} satisfies Settings;

const allSettings = { ...serverSettings, ...commandSettings };

export type ServerSettingName = keyof typeof serverSettings;
export type SettingName = keyof typeof allSettings;

/** The type of a setting's value; undefined where it has neither a value nor a default. */
export type SettingValue<Name extends SettingName> = (typeof allSettings)[Name] extends infer Entry extends {
  parse(text: string): unknown;
}
  ? ReturnType<Entry["parse"]> | (Entry extends { default: string } | { required: true } ? never : undefined)
  : never;

export const serverSettingNames = Object.keys(serverSettings) as readonly ServerSettingName[];

/** The settings of a server that has its own values of some. */
export function serverSettingsWithout<Excluded extends ServerSettingName>(...excluded: readonly Excluded[]) {
  return serverSettingNames.filter(
    (name): name is Exclude<ServerSettingName, Excluded> => !excluded.some((each) => each === name),
  );
}

/** Every setting, with its environment variable: PLANTSTORE_BODY_BYTES_MAX for bodyBytesMax. */
export const settings = Object.fromEntries(
  Object.entries(allSettings).map(([name, setting]) => [
    name,
    { ...setting, environment: `PLANTSTORE_${name.replaceAll(/[A-Z]/g, "_$&").toUpperCase()}` },
  ]),
) as Readonly<Record<SettingName, Setting<unknown> & { readonly environment: string }>>;

/** The heading of a setting in the help of serve; undefined if it is none of the server's. */
export function headingOf(name: SettingName): string | undefined {
  return Object.keys(groups).find((heading) => name in (groups[heading] ?? {}));
}

/** The setting's flag without its argument: `--body-bytes-max` for bodyBytesMax. */
export function flagName(name: SettingName): string {
  return settings[name].flag.replace(/ .*/, "");
}
