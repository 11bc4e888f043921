// Makes the operator console of a server from its settings.

import packageJson from "../../package.json";
import { TrustedProxies } from "../admin-pages/client-address.ts";
import type { ConsoleOptions } from "../console/console-app.ts";
import { OperatorConsole } from "../console/operator-console.ts";
import type { ServeSettings } from "./config/resolve.ts";

/**
 * Undefined if the console is off.
 *
 * @param parts of a server that is about to start.
 */
export function createConsole(
  config: ServeSettings,
  parts: Pick<ConsoleOptions, "store" | "events" | "now" | "wallNow">,
): OperatorConsole | undefined {
  if (config.console === "off" || config.adminPort === "off") return undefined;
  return new OperatorConsole({
    ...parts,
    names: config.adminNames ?? [],
    trustedProxies: new TrustedProxies(config.trustedProxies ?? []),
    passwordHash: config.adminPasswordHash,
    bodyBytesMax: config.bodyBytesMax,
    version: packageJson.version,
  });
}
