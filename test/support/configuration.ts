// Settings as the command line, the environment and files give them.

import { Command } from "commander";
import { OperatorError } from "../../src/base/operator-error.ts";
import { declareFlags, givenFlags } from "../../src/cli/command-options.ts";
import { effectiveSettings, resolveConfig, type ServeConfig } from "../../src/process/config/resolve.ts";
import { type SettingName, serverSettingNames } from "../../src/process/config/settings.ts";

/** The configuration that these arguments, environment variables and files give. */
export function resolveServeConfig(
  argv: readonly string[] = [],
  env: Record<string, string> = {},
): ServeConfig {
  return resolveConfig(serverSettingNames, flagsFrom(argv, serverSettingNames), env);
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
): ReadonlyMap<string, { value: unknown; source: string }> {
  const rows = effectiveSettings(resolveServeConfig(argv, env));
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
): ConfigurationError {
  try {
    resolveServeConfig(argv, env);
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
