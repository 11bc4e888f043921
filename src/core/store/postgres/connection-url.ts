// Parses connection URLs such as postgres://user:password@one:5432,two:5432/plants?sslmode=require.
// The parameters have libpq's names (PostgreSQL manual, "Connection URIs"); statement_timeout,
// retry_timeout, pool_size and citus are this program's own.

import { parse } from "pg-connection-string";
import { OperatorError } from "../../operator-error.ts";
import type { ClientConfig } from "./driver.ts";

/** The options of the connections to one host. */
export interface HostConfig extends ClientConfig {
  readonly host: string;
  readonly port: number;
  readonly connectionTimeoutMillis: number;
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
  sslmode: "disable",
  sslrootcert: "",
  sslcert: "",
  sslkey: "",
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
  const sslParameters = new URLSearchParams(
    Object.entries(parameters).filter(([name, value]) => name.startsWith("ssl") && value !== ""),
  );
  // A password may contain characters that would end it in a URL.
  const urlOf = (host: string) =>
    `postgres://${credentials}${host}${database}`.replaceAll(/[#?]/g, encodeURIComponent);
  const options = {
    application_name: parameters.application_name,
    keepAlive: true,
    // A host that was replaced answers with a reset.
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: seconds(parameters, "connect_timeout"),
  };
  return {
    hosts: hosts.split(",").map((host) => ({ ...parseHost(`${urlOf(host)}?${sslParameters}`), ...options })),
    connectionsMax: wholeNumber(parameters, "pool_size"),
    statementMsMax: seconds(parameters, "statement_timeout"),
    retryMsMax: seconds(parameters, "retry_timeout"),
    usesCitusNodes: oneOf(parameters, "citus", ["direct", "coordinator"]) === "direct",
  };
}

function parseHost(url: string): Omit<HostConfig, "connectionTimeoutMillis"> {
  try {
    const { host, port, user, password, database, ssl } = parse(url, { useLibpqCompat: true });
    return {
      host: host || "localhost",
      port: Number(port || 5432),
      ...(user ? { user } : {}),
      ...(password ? { password } : {}),
      ...(database ? { database } : {}),
      ssl: ssl as NonNullable<ClientConfig["ssl"]>,
    };
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (path !== undefined) throw invalidUrl(`${path} cannot be read (${code})`);
    if (error instanceof TypeError || error instanceof URIError)
      throw invalidUrl("a host is not NAME or NAME:PORT, or a part has a % that is not written as %25");
    throw invalidUrl((error as Error).message);
  }
}

function parseParameters(query: string): Parameters {
  const parameters: Parameters = { ...parameterDefaults };
  for (const [name, value] of new URLSearchParams(query)) {
    if (!Object.hasOwn(parameterDefaults, name)) {
      throw invalidUrl(`it has no parameter ${name}; there are ${Object.keys(parameterDefaults).join(", ")}`);
    }
    parameters[name as keyof Parameters] = value;
  }
  // `prefer` would connect without TLS to whoever says that the server has none.
  oneOf(parameters, "sslmode", ["disable", "require", "verify-ca", "verify-full"]);
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
