// Checks that a request comes from a page of this listener: against DNS rebinding and cross-site
// request forgery (CSRF). A check throws an AdminError for a request that it rejects.

import { isOwnHost } from "../base/loopback.ts";
import { AdminError } from "./admin-responses.ts";

/**
 * Rejects a request whose Host is neither an address, nor localhost, nor one of the names.
 *
 * @param setting the flag that adds names.
 */
export function checkHost(request: Request, names: readonly string[], setting = "--admin-names"): void {
  if (isOwnHost(request, names)) return;
  const host = JSON.stringify(request.headers.get("host"));
  throw new AdminError(421, `Unknown host ${host}; add it to ${setting} to allow it.`);
}

/**
 * Rejects a request that a browser says is from a page of another site. All browsers send Origin
 * with such a write; they and other clients need no header of their own.
 */
export function checkOrigin({ headers, method }: Request): void {
  const site = headers.get("sec-fetch-site");
  const isOwnSite = site === null || site === "same-origin" || (method === "GET" && site === "none");
  const origin = method === "GET" ? null : headers.get("origin");
  if (isOwnSite && (origin === null || URL.parse(origin)?.host === headers.get("host"))) return;
  throw new AdminError(403, "Requests from other origins are not allowed.");
}
