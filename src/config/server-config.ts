// The settings of the server as a whole: how they fit together, and how they may be shown.

import type { Command } from "commander";
import { isLoopback } from "../loopback.ts";
import { OperatorError } from "../operator-error.ts";
import { configuredOf, settingOf, withSettings } from "./command-config.ts";
import type { Setting } from "./setting.ts";
import { type SettingName, serverSettingNames, settings } from "./settings.ts";

/** Gives a command all settings of the server, and others; they are judged before its action runs, and as a whole. */
export function withServerSettings(command: Command, others: readonly SettingName[] = []): Command {
  return withSettings(command, [...serverSettingNames, ...others]).hook("preAction", () => {
    assertBodyLimits(command);
    assertRate(command);
    assertCertificate(command);
    assertIdentityProvider(command);
    assertAdminHost(command);
  });
}

/** One setting that is in force. */
export interface ConfiguredSetting {
  /** Its variable, by which the documents call it as well. */
  readonly name: string;
  /** As JSON has it; null where there is none, and *** for what is secret. */
  readonly value: unknown;
  /** default, flag, environment, config file, or the variable that names the file with the value. */
  readonly source: string;
}

/** What is in force for a command with the settings of the server, to be shown: secrets are hidden. */
export function configurationOf(command: Command): ConfiguredSetting[] {
  return (["config", ...serverSettingNames] as const).map((name) => {
    const setting: Setting<unknown> = settings[name];
    const { value, source } = configuredOf(command, name);
    return {
      name: setting.environment,
      value: value === undefined ? null : shownValue(setting, value),
      source,
    };
  });
}

function shownValue(setting: Setting<unknown>, value: unknown): unknown {
  return setting.secret ? (setting.display?.(value) ?? "***") : value;
}

function assertBodyLimits(command: Command): void {
  const inFlight = settingOf(command, "inFlightBytesMax");
  const body = settingOf(command, "bodyBytesMax");
  if (inFlight >= body) return;
  throw new OperatorError(
    `--in-flight-bytes-max is ${inFlight}, but one body may have ${body} (--body-bytes-max); raise the one or lower the other`,
    2,
  );
}

function assertRate(command: Command): void {
  if (settingOf(command, "tokenRate") > 0 || settingOf(command, "tokenBurst") === undefined) return;
  throw new OperatorError("--token-burst needs --token-rate beside it: give both, or none", 2);
}

function assertCertificate(command: Command): void {
  const [certificate, key] = [settingOf(command, "tlsCertificate"), settingOf(command, "tlsKey")];
  if ((certificate === undefined) === (key === undefined)) return;
  throw new OperatorError("--tls-certificate and --tls-key belong together: give both, or none", 2);
}

function assertIdentityProvider(command: Command): void {
  const names = ["jwtIssuer", "jwtAudience", "jwksUrl"] as const;
  const [issuer, audience, jwksUrl] = names.map((name) => settingOf(command, name) !== undefined);
  if (issuer === audience && (issuer || !jwksUrl)) return;
  const missing = issuer ? "--jwt-audience" : "--jwt-issuer";
  throw new OperatorError(`${missing} is missing: JWTs need both --jwt-issuer and --jwt-audience`, 2);
}

function assertAdminHost(command: Command): void {
  const host = settingOf(command, "adminHost");
  const isPrivate = isLoopback(host) || settingOf(command, "adminPort") === "off";
  if (isPrivate || settingOf(command, "adminPasswordHash") !== undefined) return;
  throw new OperatorError(
    `--admin-host is ${host}, beyond this machine, where the console needs a password; ` +
      'make its hash with "plantstore password", and give it as --admin-password-hash',
    2,
  );
}
