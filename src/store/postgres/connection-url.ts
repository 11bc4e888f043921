// Parses connection URLs such as postgres://user:password@one:5432,two:5432/plants?sslmode=require.
// The parameters have libpq's names and meanings (PostgreSQL manual, "Parameter Key Words");
// statement_timeout, retry_timeout, pool_size and citus are this program's own.

import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import type { ConnectionOptions } from "node:tls";
import { isIpv6 } from "../../base/loopback.ts";
import { OperatorError } from "../../base/operator-error.ts";
import type { ClientConfig } from "./driver.ts";

/** The options of the connections to one host. */
export interface HostConfig extends ClientConfig {
  readonly host: string;
  readonly port: number;
  readonly connectionTimeoutMillis: number;
  /** Whether a server that does not prove that the TLS connection ends at it is refused. */
  readonly requiresChannelBinding: boolean;
}

export interface PostgresUrl {
  /** In the order of the URL. */
  readonly hosts: readonly HostConfig[];
  /** Connections to the primary that batches use, and so batches in flight. */
  readonly connectionsMax: number;
  /** How long a statement may take, in milliseconds. */
  readonly statementMsMax: number;
  /** How long a batch is retried while the database cannot be written, in milliseconds. */
  readonly retryMsMax: number;
  /** Whether batches go straight to the nodes of a Citus cluster. */
  readonly usesCitusNodes: boolean;
}

const parameterDefaults = {
  host: "",
  port: "",
  user: "",
  dbname: "",
  sslmode: "disable",
  sslrootcert: "",
  sslcert: "",
  sslkey: "",
  sslnegotiation: "postgres",
  channel_binding: "disable",
  gssencmode: "disable",
  target_session_attrs: "read-write",
  options: "",
  application_name: "plantstore",
  connect_timeout: "2",
  statement_timeout: "5",
  retry_timeout: "10",
  pool_size: "2",
  citus: "direct",
};

type Parameters = Record<keyof typeof parameterDefaults, string>;

/**
 * Parses `//user@host/database?…`. Throws an OperatorError that quotes nothing of it: any part may
 * belong to a password, as an @ may be missing.
 */
export function parsePostgresUrl(rest: string): PostgresUrl {
  const [, credentials = "", hosts, database = "", query = ""] =
    /^\/\/([^@/]*@)?([^@/?]*)(\/[^?]*)?(?:\?(.*))?$/.exec(rest) ?? [];
  // An @ after the hosts comes from a password that contains a /.
  if (hosts === undefined || `${database}${query}`.includes("@")) {
    throw invalidUrl(
      "it is not postgres://user:password@host:port/database; write / as %2F and @ as %40 inside a part",
    );
  }
  const parameters = parseParameters(query);
  const { sslmode } = parameters;
  const binding = oneOf(parameters, "channel_binding", ["prefer", "require", "disable"]);
  const negotiation = oneOf(parameters, "sslnegotiation", ["postgres", "direct"]);
  if (sslmode === "disable" && (binding === "require" || negotiation === "direct"))
    throw invalidUrl(
      `${binding === "require" ? "channel_binding=require" : "sslnegotiation=direct"} needs TLS; add sslmode=require or verify-full`,
    );
  const [, user = "", password = ""] = /^([^:]*):?(.*)@$/s.exec(credentials) ?? [];
  const account = {
    user: parameters.user || decode(user),
    password: decode(password),
    database: parameters.dbname || decode(database.slice(1)),
  };
  const ssl = sslmode === "disable" ? false : tlsOptions(parameters);
  const options = {
    sslnegotiation: negotiation,
    enableChannelBinding: binding !== "disable" && sslmode !== "disable",
    requiresChannelBinding: binding === "require",
    ...(parameters.options !== "" && { options: parameters.options }),
    application_name: parameters.application_name,
    keepAlive: true,
    // A host that was replaced answers with a reset.
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: seconds(parameters, "connect_timeout"),
  };
  return {
    hosts: hostsOf(hosts, parameters).map(({ host, port }) => {
      const isSocket = host.startsWith("/");
      // Over a Unix socket the account of the process is the role, as in libpq.
      const given = { ...account, user: account.user || (isSocket ? userInfo().username : "") };
      const known = Object.entries(given).filter(([, value]) => value !== "");
      // A Unix socket has no TLS, whatever sslmode says.
      return { host, port, ...Object.fromEntries(known), ssl: isSocket ? false : ssl, ...options };
    }),
    connectionsMax: wholeNumber(parameters, "pool_size"),
    statementMsMax: seconds(parameters, "statement_timeout"),
    retryMsMax: seconds(parameters, "retry_timeout"),
    usesCitusNodes: oneOf(parameters, "citus", ["direct", "coordinator"]) === "direct",
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalidUrl("a part has a % that is not written as %25");
  }
}

/** TLS as libpq's sslmode has it: require with a root certificate is verify-ca. */
function tlsOptions({ sslmode, sslrootcert, sslcert, sslkey }: Parameters): ConnectionOptions {
  if (sslmode === "verify-ca" && sslrootcert === "")
    throw invalidUrl(
      "sslmode=verify-ca needs sslrootcert, as anybody gets a certificate of a public authority; add it, or use verify-full",
    );
  const files = Object.entries({ ca: sslrootcert, cert: sslcert, key: sslkey }).filter(([, path]) => path);
  return {
    ...Object.fromEntries(files.map(([name, path]) => [name, readText(path)])),
    ...(sslmode === "require" && sslrootcert === "" && { rejectUnauthorized: false }),
    ...(sslmode !== "verify-full" && sslrootcert !== "" && { checkServerIdentity: () => undefined }),
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw invalidUrl(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** The hosts of the URL, or those of the parameters, which may be folders of Unix sockets. */
function hostsOf(inUrl: string, parameters: Parameters): { host: string; port: number }[] {
  const ports = parameters.port.split(",");
  const hosts =
    parameters.host === ""
      ? inUrl.split(",").map((text) => /^(?:\[(.*)\]|([^:]*))(?::(\d*))?$/s.exec(text))
      : parameters.host.split(",").map((name) => ["", undefined, name]);
  return hosts.map((parts, index) => {
    const [, address, name, own = ""] = parts ?? ["", ":"];
    const host = decode(address ?? name ?? "") || "localhost";
    const port = Number((ports.length === 1 ? ports[0] : ports[index]) || own || 5432);
    if (/[\s#<>[\\\]^|]/.test(host) || (host.includes(":") && !isIpv6(host)) || !(port > 0 && port < 65_536))
      throw invalidUrl("a host is not NAME or NAME:PORT");
    return { host, port };
  });
}

function parseParameters(query: string): Parameters {
  const parameters: Parameters = { ...parameterDefaults };
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === "password") throw invalidUrl("the password goes before the host, as user:password@host");
    // As libpq reads the URLs of JDBC.
    if (name === "ssl" && value === "true") parameters.sslmode = "require";
    else if (!Object.hasOwn(parameterDefaults, name))
      throw invalidUrl(`it has no parameter ${name}; there are ${Object.keys(parameterDefaults).join(", ")}`);
    else parameters[name as keyof Parameters] = value;
  }
  // prefer and allow would connect without TLS to whoever says that the server has none.
  oneOf(parameters, "sslmode", ["disable", "require", "verify-ca", "verify-full"]);
  // Each host is checked for whether it accepts writes, whatever is asked.
  oneOf(parameters, "target_session_attrs", ["read-write", "primary", "any"]);
  oneOf(parameters, "gssencmode", ["disable", "prefer"]);
  return parameters;
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
  const names = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
  return `${names.join(",")}/${hosts[0]?.database ?? hosts[0]?.user ?? ""}`;
}
