// Settings as the command line, the environment, Kubernetes and files give them.

import { Command } from "commander";
import { declareFlags, givenFlags } from "../../src/cli/config/command-options.ts";
import { effectiveSettings, resolveConfig, type ServeConfig } from "../../src/cli/config/resolve.ts";
import { type SettingName, serverSettingNames } from "../../src/cli/config/settings.ts";
import type { ReadFile } from "../../src/cli/config/sources.ts";
import { OperatorError } from "../../src/core/operator-error.ts";

/** The configuration that these arguments, environment variables and files give. */
export function resolveServeConfig(
  argv: readonly string[] = [],
  env: Record<string, string> = {},
  readFile?: ReadFile,
): ServeConfig {
  return resolveConfig(serverSettingNames, flagsFrom(argv, serverSettingNames), env, { readFile });
}

export function flagsFrom(argv: readonly string[], names: readonly SettingName[]) {
  const command = new Command().exitOverride();
  declareFlags(command, names);
  return givenFlags(command.parse(argv, { from: "user" }), names);
}

/** The configuration by the names of the settings, as `plantstore config --json` prints it. */
export function configured(
  argv: readonly string[] = [],
  env: Record<string, string> = {},
  readFile?: ReadFile,
): ReadonlyMap<string, { value: unknown; source: string }> {
  const rows = effectiveSettings(resolveServeConfig(argv, env, readFile));
  return new Map(rows.map(({ name, value, source }) => [name, { value, source }]));
}

interface ConfigurationError {
  readonly exitCode: number;
  readonly message: string;
}

/** The error of an invalid configuration; throws if it is valid. */
export function configurationError(
  argv: readonly string[] = [],
  env: Record<string, string> = {},
  readFile?: ReadFile,
): ConfigurationError {
  try {
    resolveServeConfig(argv, env, readFile);
  } catch (error) {
    if (error instanceof OperatorError) return { exitCode: error.exitCode, message: error.message };
    throw error;
  }
  throw new Error("The configuration is valid");
}

/** A usage error with this message. */
export function usageError(message: string): ConfigurationError {
  return { exitCode: 2, message };
}

/** Files in memory, by their paths. */
export function filesInMemory(files: Readonly<Record<string, string | Uint8Array>>): ReadFile {
  return (path, bytesMax) => {
    const content = files[path];
    if (content === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
    return new Uint8Array(Buffer.from(content)).subarray(0, bytesMax);
  };
}

/** The variables that the kubelet sets for a Service with one named port. */
export function kubernetesVariables(service: string, host: string, port: string): Record<string, string> {
  const address = `tcp://${host}:${port}`;
  return {
    [`${service}_SERVICE_HOST`]: host,
    [`${service}_SERVICE_PORT`]: port,
    [`${service}_SERVICE_PORT_HTTP`]: port,
    [`${service}_PORT`]: address,
    [`${service}_PORT_${port}_TCP`]: address,
    [`${service}_PORT_${port}_TCP_PROTO`]: "tcp",
    [`${service}_PORT_${port}_TCP_PORT`]: port,
    [`${service}_PORT_${port}_TCP_ADDR`]: host,
  };
}
