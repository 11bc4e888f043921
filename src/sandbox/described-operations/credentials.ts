// Finds out whether a request has the credentials that an operation requires. A sandbox does not
// check them: those that a described login responds with are made up.

import { ApiError } from "../../base/errors.ts";
import type { SentParameters } from "../../described/described-parameters.ts";
import { isObject } from "../../json/json-values.ts";
import { isHeaderName } from "../../openapi/description/security.ts";
import type { Place } from "../../openapi/document/place.ts";

/** The error of a request that meets no security requirement of an operation (OpenAPI 3.1, section 4.8.30). */
export function missingCredentials(operation: Place, sent: SentParameters): ApiError | undefined {
  const root = operation.document;
  const own = operation.own("security").value ?? root.own("security").value;
  const requirements = Array.isArray(own) ? own.filter(isObject) : [];
  const schemes = root.at("components", "securitySchemes");
  const missing = requirements.map((requirement) =>
    Object.keys(requirement).filter((name) => !isSent(schemes.at(name), sent)),
  );
  // The served description offers a bearer token in place of what a server does not accept.
  const hasBearer = /^bearer /i.test(sent.headers.get("authorization") ?? "");
  if (missing.length === 0 || hasBearer || missing.some((names) => names.length === 0)) return undefined;
  const wanted = missing.map((names) => names.map((name) => placeOf(schemes.at(name), name)).join(" and "));
  const challenge = schemes.at(missing[0]?.[0] ?? "").at("scheme").value;
  return new ApiError("missingToken", `The request carries no credentials; send ${wanted.join(", or ")}.`, {
    challenge: `${/^basic$/i.test(String(challenge)) ? "Basic" : "Bearer"} realm="sandbox"`,
  });
}

function isSent(scheme: Place, { headers, query }: SentParameters): boolean {
  const { type, scheme: word = "bearer", in: where, name } = scheme.object ?? {};
  // A certificate does not reach the sandbox.
  if (type === "mutualTLS") return true;
  if (type !== "apiKey") {
    const authorization = headers.get("authorization")?.toLowerCase() ?? "";
    return authorization.startsWith(`${String(word).toLowerCase()} `);
  }
  if (where === "query") return new URLSearchParams(query).has(String(name));
  if (where === "cookie") return `; ${headers.get("cookie")}`.includes(`; ${name}=`);
  return isHeaderName(name) && headers.has(name);
}

/** Where the credentials of a scheme are, in words. */
function placeOf(scheme: Place, name: string): string {
  const { type, in: where, name: key, scheme: word = "Bearer" } = scheme.object ?? {};
  if (type === "apiKey") return `${key} in the ${where}`;
  return type === undefined ? `the security of ${name}` : `the header Authorization with ${word} credentials`;
}
