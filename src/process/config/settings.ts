// Lists all settings.

import { formatNames } from "../../transfer/format-names.ts";
import {
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
  parseInteger,
  parseIssuer,
  parseJwksUrl,
  parseOperations,
  parseOrigins,
  parsePasswordHash,
  parsePort,
  parsePortOrOff,
  parsePublicUrl,
  parseRenames,
  parseScopes,
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

/** A setting without a default. */
const setting = <Value>(flag: string, description: string, parse: (text: string) => Value) => ({
  flag,
  description,
  parse,
});

/** A text that is not empty. */
const text = (flag: string, description: string) => setting(flag, description, parseText);

/** A flag without an argument. */
const toggle = (flag: string, description: string) => ({
  ...setting(flag, description, parseSwitch),
  default: "off",
});

/** One of several words; the first is the default. */
const choice = <const Word extends string>(flag: string, words: readonly Word[], description: string) => ({
  ...setting(flag, description, oneOf(...words)),
  default: words[0] as string,
});

/** An integer in a range. */
const integer = (flag: string, byDefault: number, [min, max]: [number, number], description: string) => ({
  ...setting(flag, description, parseInteger(min, max)),
  default: String(byDefault),
});

const contract = {
  contract: text(
    "--contract <file>",
    "OpenAPI description of what is served, in YAML or JSON; if not set, that of the store; a new store and a sandbox have that of the Plant Store",
  ),
  watch: toggle("--watch", "take over the contract when its file, or one that it refers to, changes"),
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
  tlsCertificate: text(
    "--tls-certificate <file>",
    "TLS certificate of the public listener with its chain, in PEM, read at the start",
  ),
  tlsKey: text("--tls-key <file>", "private key of the TLS certificate, in PEM, without a passphrase"),
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
  extend: text(
    "--extend <file>",
    "module in TypeScript or JavaScript whose default export is a list of further operations, made by defineOperation",
  ),
  open: toggle("--open", "serve operations that need no token, on a loopback address only"),
  publicUrl: setting(
    "--public-url <url>",
    "base URL that clients use, if the server is behind a proxy",
    parsePublicUrl,
  ),
  cors: {
    flag: "--cors <origins>",
    default: "*",
    description: "web origins that may send cross-origin requests: *, off, or a list separated by commas",
    parse: parseOrigins,
  },
  docs: choice("--docs <on|off>", ["on", "off"], "serve the documentation page at the base URL"),
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
  console: choice("--console <on|off>", ["on", "off"], "serve the operator console on the admin listener"),
  adminPasswordHash: {
    flag: "--admin-password-hash <hash>",
    description:
      'hash of the console\'s password, as "plantstore password" prints it; no password if not set',
    secret: true,
    parse: parsePasswordHash,
  },
  adminNames: setting(
    "--admin-names <names>",
    "host names of the admin listener, separated by commas; IP addresses and localhost are always accepted",
    parseHostNames,
  ),
  trustedProxies: setting(
    "--trusted-proxies <addresses>",
    "addresses or ranges, separated by commas, of proxies in front of the admin listener whose X-Forwarded-For is trusted",
    parseAddressRanges,
  ),
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
  migrate: choice(
    "--migrate <on|off>",
    ["on", "off"],
    "create the store, or upgrade its schema, when the server starts",
  ),
  bootstrapToken: choice(
    "--bootstrap-token <on|off>",
    ["on", "off"],
    "print a first token on standard output when the server starts on a store that never had one",
  ),
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
  jwksUrl: setting(
    "--jwks-url <url>",
    "URL of the identity provider's keys; OpenID discovery if not set",
    parseJwksUrl,
  ),
} satisfies Settings;

const limits = {
  // SQLite stores strings of up to 10^9 bytes.
  bodyBytesMax: integer(
    "--body-bytes-max <bytes>",
    MiB,
    [1, 512 * MiB],
    "maximum size of a request body, and of an imported or edited plant; a larger one is rejected with 413",
  ),
  queuePlantsMax: integer(
    "--queue-plants-max <plants>",
    10000,
    [1, 1_000_000],
    "maximum number of plants waiting for a commit, where each 4,096 characters count as one more; further ones are rejected with 503",
  ),
  tokenRate: integer(
    "--token-rate <requests>",
    0,
    [0, 1_000_000],
    "requests per second of each token; further ones are rejected with 429; 0 is unlimited",
  ),
  tokenBurst: setting(
    "--token-burst <requests>",
    "requests that a token may send at once, above its rate for a short time; --token-rate if not set",
    parseInteger(1, 100_000_000),
  ),
  inFlightBytesMax: integer(
    "--in-flight-bytes-max <bytes>",
    64 * MiB,
    [1, 64 * 1_024 * MiB],
    "memory for the bodies of all requests in flight, each with its whole length, of --body-bytes-max if it has none, at least one body; further ones are rejected with 503",
  ),
  arrivalSecondsMax: integer(
    "--arrival-seconds-max <seconds>",
    20,
    [1, 240],
    "time for a request body to arrive; a slower request is rejected with 408",
  ),
  connectionsMax: integer(
    "--connections-max <connections>",
    10000,
    [1, 1_000_000],
    "maximum number of open connections; beyond it idle ones are closed, and others after their next response",
  ),
  idleSecondsMax: integer(
    "--idle-seconds-max <seconds>",
    75,
    [10, 255],
    "time without traffic after which a connection is closed; longer than a load balancer in front keeps its own",
  ),
  drainSecondsMax: integer(
    "--drain-seconds-max <seconds>",
    10,
    [0, 3_600],
    "time to finish accepted requests when the server shuts down",
  ),
} satisfies Settings;

const log = {
  logFormat: choice(
    "--log-format <auto|json|pretty>",
    ["auto", "json", "pretty"],
    "auto is pretty on a terminal, otherwise json",
  ),
  logLevel: choice(
    "--log-level <error|warn|info>",
    ["info", "warn", "error"],
    "minimum severity of log lines",
  ),
  notes: choice(
    "--notes <kinds|all>",
    ["kinds", "all"],
    "lines of the start on what of the contract is not served or checked: one for each kind, with a count, or all",
  ),
  accessLog: integer(
    "--access-log <lines>",
    10,
    [0, 1_000_000],
    "maximum number of requests logged per second; 0 disables the access log",
  ),
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
  config: text(
    "--config <file>",
    "file of settings, one NAME=value per line, with the names of the environment variables",
  ),
  collection: text(
    "--collection <name>",
    "the collection, by its name or path, such as parcels, if the store has several",
  ),
  waitSecondsMax: integer(
    "--wait-seconds-max <seconds>",
    0,
    [0, 3_600],
    "time to wait until the server is ready",
  ),
  tokenName: {
    flag: "--name <name>",
    required: true,
    description: "name of the token, by which it is listed, rotated and revoked",
    parse: parseTokenName,
  },
  tokenExpires: setting(
    "--expires <time>",
    "lifetime of the token, 90d, 12h or never, or its end in UTC, 2027-01-31; if not set, never, and for rotate the lifetime of the previous token",
    parseExpiry,
  ),
  tokenScope: setting(
    "--scope <scopes>",
    'scopes of the token, as the contract has them, such as "plants:read plants:write"; if not set, it may do everything',
    parseScopes,
  ),
  tokenOverlap: {
    flag: "--overlap <duration>",
    default: "7d",
    description: "how long older tokens of the name stay valid; 0s ends them at once",
    parse: parseDuration,
  },
  json: toggle("--json", "print JSON instead of a table, one line per row"),
  all: toggle("--all", "include tokens that have ended"),
  force: toggle("--force", "replace an existing store"),
  format: setting(
    "--format <ndjson|csv>",
    "if not set, import goes by the file's content, and export prints ndjson",
    oneOf(...formatNames),
  ),
  sinceId: text("--since-id <id>", "export only resources with an id greater than this"),
  withCreation: toggle("--with-creation", "show also when and with which token each resource was created"),
  historySince: setting(
    "--since <time>",
    "only edits since then: a duration such as 7d, or a date or time in UTC such as 2027-01-31",
    parseSinceTime,
  ),
  historyUndo: text("--undo <run>", "undo the edits of this run"),
  historyForget: toggle(
    "--forget",
    "erase the edits of these resources from the history, or those before --before, for good; shows how many without --yes",
  ),
  historyBefore: setting("--before <time>", "only edits before then, as for --since", parseSinceTime),
  yes: toggle("--yes", "do what cannot be undone"),
  dropFields: setting(
    "--drop-fields <names>",
    "fields, and paths of collections, that the contract no longer has, separated by commas: their values are deleted",
    parseFieldNames,
  ),
  renameFields: setting(
    "--rename-fields <names>",
    "fields, and paths of collections, that have another name in the contract, as OLD=NEW, separated by commas",
    parseRenames,
  ),
  allFolder: text("--all <folder>", "all collections, each in a file of its name in this folder"),
  importIdsFrom: text(
    "--key <text>",
    "makes the ids of records without one, with their numbers, where the server makes ids; if not set, the name of the file",
  ),
  importCreation: toggle(
    "--with-creation",
    "keep the times of creation and the names of tokens that the file has from export --with-creation",
  ),
  importUpdate: toggle("--update", "replace stored resources that differ"),
  dryRun: toggle("--dry-run", "only print what an import would do"),
  quiet: toggle("--quiet", "print no progress, and no counts unless records were rejected"),
  sandboxToken: {
    flag: "--token <token>",
    default: "sandbox",
    description: "the token that the sandbox accepts: letters, digits and the characters - . _ ~ + /",
    secret: true,
    parse: parseToken,
  },
  sandboxSeed: text(
    "--seed <file>",
    "resources that the sandbox starts with, and that a reset brings back: a file of CSV or JSON, a folder with such a file for each of several collections, or examples for those of the contract",
  ),
  sandboxRules: text(
    "--rules <file>",
    "rules that the sandbox starts with, and that a reset brings back: the JSON of PUT /sandbox/rules",
  ),
  sandboxReadyPath: text(
    "--ready-file <file>",
    "file that is written, as JSON with the addresses, when the sandbox is ready, and removed when it ends",
  ),
  exitWithParent: toggle(
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
