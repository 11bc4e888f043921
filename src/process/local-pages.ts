// Guards operations that need no token: every page that a browser of this machine shows could use
// them. Only pages of loopback addresses may, and those that the operator names.

import { AdminError, respondError } from "../admin-pages/admin-responses.ts";
import { checkHost } from "../admin-pages/request-origin.ts";
import { isLoopback } from "../base/loopback.ts";
import type { AllowedOrigins } from "../http/cors.ts";
import type { ServerOptions } from "../service/server.ts";
import type { ServeSettings } from "./config/resolve.ts";

interface PageGuard {
  readonly cors: AllowedOrigins;
  /** The response to a request of a page of another site; undefined for one that may be served. */
  refuse(request: Request): Response | undefined;
}

export function pageGuard({ cors, publicUrl }: Pick<ServeSettings, "cors" | "publicUrl">): PageGuard {
  const own = publicUrl === undefined ? undefined : new URL(publicUrl);
  const named = [...(typeof cors === "string" ? [] : cors), ...(own === undefined ? [] : [own.origin])];
  const isAllowed = (origin: string) => named.includes(origin) || isLoopbackOrigin(origin);
  return {
    cors: cors === "*" ? isAllowed : cors,
    refuse(request) {
      try {
        checkHost(request, own === undefined ? [] : [own.hostname], "--public-url");
        const origin = request.headers.get("origin");
        if (origin === null || isAllowed(origin)) return undefined;
        throw new AdminError(403, "Pages of other origins are refused; add theirs to --cors to allow it.");
      } catch (error) {
        return respondError(error);
      }
    },
  };
}

/** Replaces the options of a server so that it refuses the pages of other sites. */
export function localPagesOnly(
  options: Omit<ServerOptions, "store">,
  settings: Pick<ServeSettings, "cors" | "publicUrl">,
): Omit<ServerOptions, "store"> {
  const { cors, refuse } = pageGuard(settings);
  return {
    ...options,
    cors,
    wrapHandler: (service) => {
      const next = options.wrapHandler?.(service) ?? service;
      return async (request, context) => refuse(request) ?? (await next(request, context));
    },
  };
}

/** Whether an origin is one of this machine. That of a file or of a sandboxed frame is "null". */
function isLoopbackOrigin(origin: string): boolean {
  return isLoopback(URL.parse(origin)?.hostname.replace(/^\[|\]$/g, "") ?? "");
}
