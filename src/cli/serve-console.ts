// The components of the operator console of a running server.

import packageJson from "../../package.json";
import { TrustedProxies } from "../client-address.ts";
import { type ConsoleOptions, OperatorConsole } from "../console/operator-console.ts";
import type { ServeSettings } from "./config/resolve.ts";

/**
 * Undefined if the console is off.
 *
 * @param parts of a server that is about to start.
 * @param fetch responds to a request as the public listener does. Called when the server has started.
 */
export function createConsole(
  config: ServeSettings,
  parts: Pick<ConsoleOptions, "store" | "events" | "now" | "wallNow">,
  fetch: (request: Request) => Promise<Response>,
): OperatorConsole | undefined {
  if (config.console === "off" || config.adminPort === "off") return undefined;
  const url = `http://localhost${config.basePath}/plants`;
  return new OperatorConsole({
    ...parts,
    names: config.adminNames ?? [],
    trustedProxies: new TrustedProxies(config.trustedProxies ?? []),
    passwordHash: config.adminPasswordHash,
    bodyBytesMax: config.bodyBytesMax,
    post: (headers, body) => fetch(new Request(url, { method: "POST", headers, body })),
    version: packageJson.version,
  });
}
