// Addresses such as postgres://user:password@one:5432,two:5432/plants?sslmode=verify-full, with the names that
// libpq gives the parameters (PostgreSQL manual, "Connection URIs"), and a few of our own.

import { readFileSync } from "node:fs";
import { OperatorError } from "../../operator-error.ts";
import type { ClientConfig } from "./driver.ts";

export interface PostgresUrl {
  /** How to connect to each of the hosts, in the order of the address. */
  readonly hosts: readonly ClientConfig[];
  /** Connections that are kept to the host that takes writes, and so batches in flight. */
  readonly connectionsMax: number;
  /** How long a batch is tried again while the database cannot be written. */
  readonly retryMsMax: number;
  /** Whether a server without TLS may be spoken to when it was asked for first: sslmode=prefer. */
  readonly allowPlaintextFallback: boolean;
  /** Whether the storage writes pages whole, so that a server without full_page_writes is safe. */
  readonly acceptsTornPages: boolean;
}

const parameterDefaults = {
  sslmode: "prefer",
  sslrootcert: "",
  sslcert: "",
  sslkey: "",
  application_name: "plantstore",
  connect_timeout: "2",
  statement_timeout: "5",
  retry_timeout: "10",
  pool_size: "4",
  full_page_writes: "on",
};

type Parameters = Record<keyof typeof parameterDefaults, string>;

const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/**
 * Reads an address, without its scheme: `//user@host/database?…`. Throws an OperatorError if it is none, which repeats
 * nothing that could be part of a password: not the hosts either, where an @ was forgotten.
 */
export function parsePostgresUrl(rest: string): PostgresUrl {
  const [, user = "", password, hosts, database = "", query = ""] =
    /^\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/?@]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(rest) ?? [];
  // An @ behind the hosts comes of a password with a / in it.
  if (hosts === undefined || `${database}${query}`.includes("@")) {
    throw badAddress(
      "it is not postgres://user:password@host:port/database; write / as %2F and @ as %40 inside a part",
    );
  }
  const hostsAndPorts = hosts.split(",").map(readHost);
  const parameters = readParameters(query);
  const name = decode(user, "user");
  const config: ClientConfig = {
    user: name || process.env.PGUSER || "postgres",
    database: decode(database, "database") || name || "postgres",
    ...(password === undefined ? {} : { password: decode(password, "password") }),
    application_name: parameters.application_name,
    ssl: readTls(parameters),
    keepAlive: true,
    connectionTimeoutMillis: seconds(parameters, "connect_timeout"),
    // Not a parameter of the connection, which PgBouncer would refuse: each transaction sets it for itself.
    query_timeout: seconds(parameters, "statement_timeout"),
  };
  return {
    hosts: hostsAndPorts.map((hostAndPort) => ({ ...config, ...hostAndPort })),
    connectionsMax: wholeNumber(parameters, "pool_size"),
    retryMsMax: seconds(parameters, "retry_timeout"),
    allowPlaintextFallback: parameters.sslmode === "prefer",
    acceptsTornPages: readFullPageWrites(parameters),
  };
}

function readHost(text: string, index: number): { host: string; port: number } {
  const [, bracketed, plain, port = "5432"] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) throw badAddress(`its host ${index + 1} is not NAME or NAME:PORT`);
  if (Number(port) < 1 || Number(port) > 65_535)
    throw badAddress(`its host ${index + 1} has no port from 1 to 65535`);
  return { host: decode(host, "host") || "127.0.0.1", port: Number(port) };
}

function readParameters(query: string): Parameters {
  const parameters: Parameters = { ...parameterDefaults };
  for (const [name, value] of new URLSearchParams(query)) {
    if (!Object.hasOwn(parameterDefaults, name)) {
      throw badAddress(`it has no parameter ${name}; there are ${Object.keys(parameterDefaults).join(", ")}`);
    }
    parameters[name as keyof Parameters] = value;
  }
  return parameters;
}

/**
 * TLS as libpq's sslmode means it: verify-ca and verify-full look at the certificate, and so does require where
 * a root certificate is given; only verify-full looks at the name in it.
 */
function readTls({ sslmode, sslrootcert, sslcert, sslkey }: Parameters): ClientConfig["ssl"] {
  if (!sslModes.includes(sslmode))
    throw badAddress(`sslmode is "${sslmode}", but must be one of ${sslModes.join(", ")}`);
  if (sslmode === "disable") return false;
  return {
    rejectUnauthorized: sslmode.startsWith("verify") || (sslmode === "require" && sslrootcert !== ""),
    ...(sslmode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
    ...(sslrootcert === "" ? {} : { ca: readTlsFile(sslrootcert) }),
    ...(sslcert === "" ? {} : { cert: readTlsFile(sslcert) }),
    ...(sslkey === "" ? {} : { key: readTlsFile(sslkey) }),
  };
}

/** Whether a server without full_page_writes is accepted. */
function readFullPageWrites({ full_page_writes }: Parameters): boolean {
  if (full_page_writes !== "on" && full_page_writes !== "off")
    throw badAddress(`full_page_writes is "${full_page_writes}", but must be on or off`);
  return full_page_writes === "off";
}

function readTlsFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw badAddress(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badAddress(`its ${part} is not percent-encoded text; write % as %25`);
  }
}

function seconds(parameters: Parameters, name: keyof Parameters): number {
  return wholeNumber(parameters, name) * 1_000;
}

function wholeNumber(parameters: Parameters, name: keyof Parameters): number {
  const text = parameters[name];
  if (!/^[1-9]\d{0,4}$/.test(text))
    throw badAddress(`${name} is "${text}", but must be a whole number from 1`);
  return Number(text);
}

function badAddress(reason: string): OperatorError {
  return new OperatorError(reason, 2);
}
