// Decides who may use control: any client on this machine, and others with the console's password.

import { auth } from "hono/utils/basic-auth";
import { AdminError } from "../admin-pages/admin-responses.ts";
import type { TrustedProxies } from "../admin-pages/client-address.ts";
import type { Sessions } from "../console/session/sessions.ts";

/**
 * Authenticates a request by the session of the console, or by HTTP Basic authentication (RFC 7617)
 * with any user name. Checking a password takes 0.3 seconds, so the hash of the right one is
 * remembered. Rejects with an AdminError.
 */
export function passwordCheck(
  sessions: Sessions,
  proxies: TrustedProxies,
): (request: Request, peer: string) => Promise<void> {
  let accepted: string | undefined;
  return async (request, peer) => {
    if (sessions.isAuthenticated(request)) return;
    const credentials = auth(request);
    if (credentials === undefined)
      throw unauthenticated("Log in to the console, or send the password by HTTP Basic.");
    const { password } = credentials;
    const hash = Bun.SHA256.hash(password, "base64url");
    if (hash === accepted) return;
    const isRight = await sessions.checkPassword(password, proxies.clientAddress(request, peer));
    if (!isRight) throw unauthenticated("Wrong password.");
    accepted = hash;
  };
}

function unauthenticated(message: string): AdminError {
  return new AdminError(401, message, {
    "WWW-Authenticate": 'Basic realm="plantstore sandbox", charset="UTF-8"',
  });
}
