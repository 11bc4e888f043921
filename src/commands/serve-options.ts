// What the settings of serve mean together.

import type { Command } from "commander";
import type { BodyLimits } from "../api/body-reader.ts";
import type { CertificateFiles } from "../api/certificate.ts";
import { RateLimit } from "../api/rate-limit.ts";
import type { IdentityProvider } from "../auth/jwt-verifier.ts";
import { settingOf } from "../config/command-config.ts";
import { Log } from "../observability/log.ts";
import type { Clock } from "../observability/server-event.ts";

export function bodyLimitsOf(command: Command): BodyLimits {
  return {
    bodyBytesMax: settingOf(command, "bodyBytesMax"),
    inFlightBytesMax: settingOf(command, "inFlightBytesMax"),
    arrivalMsMax: settingOf(command, "arrivalSecondsMax") * 1_000,
  };
}

export function rateLimitOf(command: Command, now: Clock): RateLimit | undefined {
  const createsPerSecond = settingOf(command, "tokenRate");
  const burst = settingOf(command, "tokenBurst") ?? createsPerSecond;
  return createsPerSecond === 0 ? undefined : new RateLimit({ createsPerSecond, burst }, now);
}

export function certificateFilesOf(command: Command): CertificateFiles | undefined {
  const certificate = settingOf(command, "tlsCertificate");
  const key = settingOf(command, "tlsKey");
  return certificate === undefined || key === undefined ? undefined : { certificate, key };
}

export function identityProviderOf(command: Command): IdentityProvider | undefined {
  const [issuer, audience] = [settingOf(command, "jwtIssuer"), settingOf(command, "jwtAudience")];
  if (issuer === undefined || audience === undefined) return undefined;
  const keysAgeMsMax = settingOf(command, "jwksAgeSecondsMax") * 1_000;
  return { issuer, audience, jwksUrl: settingOf(command, "jwksUrl"), keysAgeMsMax };
}

export function logOf(command: Command, now: Clock): Log {
  const format = settingOf(command, "logFormat");
  return new Log({
    format: format === "auto" ? (process.stderr.isTTY ? "pretty" : "json") : format,
    level: settingOf(command, "logLevel"),
    accessLinesPerSecond: settingOf(command, "accessLog"),
    now,
  });
}
