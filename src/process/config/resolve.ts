// Resolves settings to one typed record: flag, environment, configuration file, default.

import { isLoopback } from "../../base/loopback.ts";
import { OperatorError } from "../../base/operator-error.ts";
import { pageBytesMax } from "../../plants/operation-settings.ts";
import { InvalidValueError } from "./parsers.ts";
import { redactPasswords } from "./redact.ts";
import {
  flagName,
  type ServerSettingName,
  type SettingName,
  type SettingValue,
  settings,
} from "./settings.ts";
import { lookup, type RawValue, readConfigFile, readEnvironment } from "./sources.ts";

/** Texts of settings, as an operator would write them. */
export type SettingTexts = Readonly<Partial<Record<SettingName, string>>>;

/** The values of settings, each under its name, and where they came from. */
export type Config<Name extends SettingName> = {
  readonly [Key in Name | "config"]: SettingValue<Key>;
} & {
  /** default, flag, environment, config file, or the variable that names the file. */
  readonly sources: Readonly<Record<Name | "config", string>>;
};

export type ServeConfig = Config<ServerSettingName>;

/** The values without their sources. */
export type ServeSettings = Omit<ServeConfig, "sources">;

/** The configuration of any command. */
export type AnyConfig = Readonly<Partial<Record<SettingName, unknown>>> & {
  readonly sources: Readonly<Partial<Record<SettingName, string>>>;
};

/**
 * Throws an OperatorError that names the invalid value or source.
 *
 * @param flags The flags on the command line; `on` for a flag without an argument.
 * @param defaults The command's own.
 */
export function resolveConfig<Name extends SettingName>(
  names: readonly Name[],
  flags: SettingTexts,
  environment: NodeJS.ProcessEnv,
  defaults: SettingTexts = {},
): Config<Name> {
  const variables = readEnvironment(environment);
  const outsideFile = (name: SettingName): RawValue | undefined => {
    const text = flags[name];
    if (text === undefined) return lookup(variables, settings[name].environment);
    return { text, source: "flag", origin: flagName(name), isQuotable: true };
  };
  const path = outsideFile("config");
  const file = path && readConfigFile(path.text, path.origin);
  const values: Partial<Record<SettingName, unknown>> = {};
  const sources: Partial<Record<SettingName, string>> = {};
  for (const name of ["config" as const, ...names]) {
    const raw = outsideFile(name) ?? (file && lookup(file, settings[name].environment));
    values[name] = raw === undefined ? defaultValue(name, defaults[name]) : parse(name, raw);
    sources[name] = raw?.source ?? "default";
  }
  assertConsistent(values as Partial<ServeConfig>);
  return Object.freeze({ ...values, sources: Object.freeze(sources) }) as Config<Name>;
}

/**
 * The settings of a configuration by their variables. A value is null if there is none, and `***` for
 * a secret.
 */
export function effectiveSettings(config: AnyConfig) {
  return namesOf(config).map((name) => ({
    name: settings[name].environment,
    value: shownValue(config, name),
    source: config.sources[name] ?? "default",
  }));
}

/** The settings that differ from their defaults, as flags: `--port 9000`. Secrets are hidden. */
export function changedSettings(config: AnyConfig): { readonly flag: string; readonly source: string }[] {
  return namesOf(config).flatMap((name) => {
    const source = config.sources[name] ?? "default";
    const isDefault = JSON.stringify(config[name]) === JSON.stringify(defaultValue(name));
    if (source === "default" || isDefault) return [];
    if (config[name] === true) return [{ flag: flagName(name), source }];
    const text = formatValue(shownValue(config, name));
    return [{ flag: `${flagName(name)} ${/\s/.test(text) ? JSON.stringify(text) : text}`, source }];
  });
}

function namesOf({ sources }: AnyConfig): SettingName[] {
  return Object.keys(sources) as SettingName[];
}

function shownValue(config: AnyConfig, name: SettingName): unknown {
  const { secret, display } = settings[name];
  const value = config[name] ?? null;
  return value !== null && secret ? (display?.(value) ?? "***") : value;
}

/** A value as an operator would write it; as JSON if empty or with a control character. */
export function formatValue(value: unknown): string {
  if (value === null) return "-";
  if (Array.isArray(value)) return value.join(",");
  const text = String(value);
  return text === "" || /\p{Cc}/u.test(text) ? JSON.stringify(text) : text;
}

function defaultValue(name: SettingName, text = settings[name].default): unknown {
  const { required, environment, parse } = settings[name];
  if (required) throw new OperatorError(`${flagName(name)} is required; give it, or set ${environment}`, 2);
  return text === undefined ? undefined : parse(text);
}

function parse(name: SettingName, { text, origin, isQuotable }: RawValue): unknown {
  const { secret, parse } = settings[name];
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    const value = secret || !isQuotable ? "the value" : quote(text);
    throw new OperatorError(`${origin}: ${value} ${error.message}`, 2);
  }
}

/** Quotes only the start of a value: it may be a password meant for another setting. */
function quote(text: string): string {
  const charactersMax = 60;
  const redacted = redactPasswords(text);
  return JSON.stringify(redacted.length > charactersMax ? `${redacted.slice(0, charactersMax)}…` : redacted);
}

/**
 * Throws an OperatorError for settings that contradict each other, if the command uses them: other
 * settings may be in files that it cannot read.
 */
function assertConsistent(config: Partial<ServeConfig>): void {
  if (config.tokenBurst !== undefined && config.tokenRate === 0)
    throw new OperatorError("--token-burst requires --token-rate; give both, or only --token-rate", 2);
  if (config.tokenBurst !== undefined && config.tokenBurst < (config.tokenRate ?? 0))
    throw new OperatorError(
      "--token-burst must be at least --token-rate: its window would be shorter than a second, in which RateLimit-Policy and Retry-After count",
      2,
    );
  if ("tlsKey" in config && (config.tlsCertificate === undefined) !== (config.tlsKey === undefined))
    throw new OperatorError("--tls-certificate and --tls-key require each other; give both or neither", 2);
  const { operations = [], inFlightBytesMax = 0, bodyBytesMax = 0 } = config;
  if (operations.includes("list") && Math.max(inFlightBytesMax, bodyBytesMax) < pageBytesMax)
    throw new OperatorError(
      `--in-flight-bytes-max must be at least ${pageBytesMax} with the operation list, whose page may take as much`,
      2,
    );
  const { jwtIssuer, jwtAudience, jwtAudienceClaim, jwtClaim, jwksUrl } = config;
  const isJwt = (jwtIssuer ?? jwtAudience ?? jwtAudienceClaim ?? jwtClaim ?? jwksUrl) !== undefined;
  if (isJwt && (jwtIssuer === undefined || jwtAudience === undefined)) {
    const missing = jwtIssuer === undefined ? "--jwt-issuer" : "--jwt-audience";
    throw new OperatorError(`${missing} is missing: JWTs require both --jwt-issuer and --jwt-audience`, 2);
  }
  const { adminHost, adminPort, adminPasswordHash } = config;
  const isPublic = adminHost !== undefined && !isLoopback(adminHost) && adminPort !== "off";
  if (isPublic && "adminPasswordHash" in config && adminPasswordHash === undefined) {
    throw new OperatorError(
      `--admin-host ${adminHost} is not loopback, so a console password is required; ` +
        'print its hash with "plantstore password", and give it as --admin-password-hash',
      2,
    );
  }
}
