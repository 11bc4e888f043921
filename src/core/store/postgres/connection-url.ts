// Parses connection URLs such as postgres://user:password@one:5432,two:5432/plants?sslmode=require.
// The parameters have libpq's names (PostgreSQL manual, "Connection URIs"); statement_timeout,
// retry_timeout, pool_size, statements, full_page_writes and citus are this program's own.

import { readFileSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import type { ClientConfig } from "./driver.ts";

export interface PostgresUrl {
  /** The connection options of each host, in the order of the URL. */
  readonly hosts: readonly ClientConfig[];
  /** Connections to the primary that batches use, and so batches in flight. */
  readonly connectionsMax: number;
  /** How long a batch is retried while the database cannot be written, in milliseconds. */
  readonly retryMsMax: number;
  /** Whether to connect without TLS to a server that does not support it: sslmode=prefer. */
  readonly allowPlaintextFallback: boolean;
  /** Whether batches go straight to the nodes of a Citus cluster. */
  readonly usesCitusNodes: boolean;
  /** Whether the storage never tears pages, so that a server without full_page_writes is safe. */
  readonly acceptsTornPages: boolean;
  /** Whether hosts are tried in random order: load_balance_hosts=random. */
  readonly isLoadBalanced: boolean;
  readonly statements: StatementMode;
}

/** Whether statements are prepared by name; `auto` does so on direct connections. */
type StatementMode = "auto" | "named" | "unnamed";

const parameterDefaults = {
  sslmode: "prefer",
  sslrootcert: "",
  sslcert: "",
  sslkey: "",
  application_name: "plantstore",
  connect_timeout: "2",
  statement_timeout: "5",
  retry_timeout: "10",
  pool_size: "2",
  full_page_writes: "on",
  load_balance_hosts: "disable",
  statements: "auto",
  citus: "direct",
};

type Parameters = Record<keyof typeof parameterDefaults, string>;

const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;

/**
 * Parses `//user@host/database?…`. Throws an OperatorError that quotes nothing of it: any part may
 * belong to a password, as an @ may be missing.
 */
export function parsePostgresUrl(rest: string): PostgresUrl {
  const [, user = "", password, hosts, database = "", query = ""] =
    /^\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/?@]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(rest) ?? [];
  // An @ after the hosts comes from a password that contains a /.
  if (hosts === undefined || `${database}${query}`.includes("@")) {
    throw invalidUrl(
      "it is not postgres://user:password@host:port/database; write / as %2F and @ as %40 inside a part",
    );
  }
  const hostsAndPorts = hosts.split(",").map(parseHost);
  const parameters = parseParameters(query);
  const name = decode(user, "user");
  const config: ClientConfig = {
    user: name || process.env.PGUSER || "postgres",
    database: decode(database, "database") || name || "postgres",
    ...(password === undefined ? {} : { password: decode(password, "password") }),
    application_name: parameters.application_name,
    ssl: parseTls(parameters),
    keepAlive: true,
    connectionTimeoutMillis: seconds(parameters, "connect_timeout"),
    // Not a startup parameter, which PgBouncer would reject: each transaction sets it for itself.
    query_timeout: seconds(parameters, "statement_timeout"),
  };
  return {
    hosts: hostsAndPorts.map((hostAndPort) => ({ ...config, ...hostAndPort })),
    connectionsMax: wholeNumber(parameters, "pool_size"),
    retryMsMax: seconds(parameters, "retry_timeout"),
    allowPlaintextFallback: parameters.sslmode === "prefer",
    acceptsTornPages: oneOf(parameters, "full_page_writes", ["on", "off"]) === "off",
    isLoadBalanced: oneOf(parameters, "load_balance_hosts", ["disable", "random"]) === "random",
    statements: oneOf(parameters, "statements", ["auto", "named", "unnamed"]),
    usesCitusNodes: oneOf(parameters, "citus", ["direct", "coordinator"]) === "direct",
  };
}

function parseHost(text: string, index: number): { host: string; port: number } {
  const [, bracketed, plain, port = "5432"] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) throw invalidUrl(`its host ${index + 1} is not NAME or NAME:PORT`);
  if (Number(port) < 1 || Number(port) > 65_535)
    throw invalidUrl(`its host ${index + 1} has no port from 1 to 65535`);
  return { host: decode(host, "host") || "127.0.0.1", port: Number(port) };
}

function parseParameters(query: string): Parameters {
  const parameters: Parameters = { ...parameterDefaults };
  for (const [name, value] of new URLSearchParams(query)) {
    if (!Object.hasOwn(parameterDefaults, name)) {
      throw invalidUrl(`it has no parameter ${name}; there are ${Object.keys(parameterDefaults).join(", ")}`);
    }
    parameters[name as keyof Parameters] = value;
  }
  return parameters;
}

/**
 * The TLS options of libpq's sslmode: verify-ca, verify-full, and require with a root certificate
 * verify the certificate; only verify-full verifies the host name.
 */
function parseTls(parameters: Parameters): ClientConfig["ssl"] {
  const { sslrootcert, sslcert, sslkey } = parameters;
  const sslmode = oneOf(parameters, "sslmode", sslModes);
  if (sslmode === "disable") return false;
  return {
    rejectUnauthorized: sslmode.startsWith("verify") || (sslmode === "require" && sslrootcert !== ""),
    ...(sslmode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
    ...(sslrootcert === "" ? {} : { ca: loadTlsFile(sslrootcert) }),
    ...(sslcert === "" ? {} : { cert: loadTlsFile(sslcert) }),
    ...(sslkey === "" ? {} : { key: loadTlsFile(sslkey) }),
  };
}

function oneOf<Value extends string>(
  parameters: Parameters,
  name: keyof Parameters,
  values: readonly Value[],
): Value {
  const value = values.find((each) => each === parameters[name]);
  if (value === undefined) {
    const choices = `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
    throw invalidUrl(`${name} is "${parameters[name]}", but must be ${choices}`);
  }
  return value;
}

function loadTlsFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw invalidUrl(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidUrl(`its ${part} is not percent-encoded text; write % as %25`);
  }
}

function seconds(parameters: Parameters, name: keyof Parameters): number {
  return wholeNumber(parameters, name) * 1_000;
}

function wholeNumber(parameters: Parameters, name: keyof Parameters): number {
  const text = parameters[name];
  if (!/^[1-9]\d{0,4}$/.test(text))
    throw invalidUrl(`${name} is "${text}", but must be a whole number from 1`);
  return Number(text);
}

function invalidUrl(reason: string): OperatorError {
  return new OperatorError(reason, 2);
}

/** The hosts and the database, for operators. */
export function toLocation({ hosts }: PostgresUrl): string {
  const names = hosts.map(({ host, port }) => `${host?.includes(":") ? `[${host}]` : host}:${port}`);
  return `${names.join(",")}/${hosts[0]?.database}`;
}
