// What the settings of serve mean together.

import type { Command } from "commander";
import type { BodyLimits } from "../api/body.ts";
import type { CertificateFiles } from "../api/certificate.ts";
import { RateLimit } from "../api/rate-limit.ts";
import { settingOf } from "../config/command-config.ts";
import type { Clock } from "../events/event.ts";
import { Log } from "../events/log.ts";
import { OperatorError } from "../operator-error.ts";

export function bodyLimitsOf(command: Command): BodyLimits {
  const limits = {
    bodyBytesMax: settingOf(command, "bodyBytesMax"),
    inFlightBytesMax: settingOf(command, "inFlightBytesMax"),
    arrivalMsMax: settingOf(command, "arrivalSecondsMax") * 1_000,
  };
  if (limits.inFlightBytesMax >= limits.bodyBytesMax) return limits;
  throw new OperatorError(
    `--in-flight-bytes-max is ${limits.inFlightBytesMax}, but one body may have ${limits.bodyBytesMax} (--body-bytes-max); raise the one or lower the other`,
    2,
  );
}

export function rateLimitOf(command: Command): RateLimit | undefined {
  const createsPerSecond = settingOf(command, "tokenRate");
  const burst = settingOf(command, "tokenBurst");
  if (createsPerSecond > 0) return new RateLimit({ createsPerSecond, burst: burst ?? createsPerSecond });
  if (burst === undefined) return undefined;
  throw new OperatorError("--token-burst needs --token-rate beside it: give both, or none", 2);
}

export function certificateFilesOf(command: Command): CertificateFiles | undefined {
  const certificate = settingOf(command, "tlsCertificate");
  const key = settingOf(command, "tlsKey");
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  throw new OperatorError("--tls-certificate and --tls-key belong together: give both, or none", 2);
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
