// Checks that a request comes from the page of the console: against DNS rebinding and cross-site
// request forgery (CSRF).

/**
 * Sent with every write. A page of another site cannot send it without a CORS preflight, which is
 * rejected.
 */
const writeHeader = "X-Plantstore-Console";

interface HttpRejection {
  readonly status: number;
  readonly message: string;
}

const crossOrigin: HttpRejection = { status: 403, message: "Requests from other origins are not allowed." };

/**
 * Rejects a request whose Host is neither an address, nor localhost, nor one of the names. With DNS
 * rebinding, a page of another site points its own name at this machine, but it cannot send a Host
 * other than that name.
 */
export function checkHost(request: Request, names: readonly string[]): HttpRejection | undefined {
  const host = request.headers.get("host") ?? "";
  const name = host.replace(/:\d*$/, "").toLowerCase();
  const isAddress = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/.test(name);
  if (isAddress || name === "localhost" || names.includes(name)) return undefined;
  return {
    status: 421,
    message: `Unknown host ${JSON.stringify(host)}; add it to --admin-names to allow it.`,
  };
}

/** Rejects a request to the API that a page of another site sent or could have sent. */
export function checkSameOrigin(request: Request): HttpRejection | undefined {
  const { headers, method } = request;
  const rejection = checkOrigin(request);
  if (rejection !== undefined || method === "GET") return rejection;
  if (
    headers.get(writeHeader) === null ||
    !/^application\/(?:json|octet-stream) *(?:;|$)/i.test(headers.get("content-type") ?? "")
  )
    return {
      status: 403,
      message: `A write needs Content-Type: application/json and the header ${writeHeader}: 1.`,
    };
  return undefined;
}

/**
 * Rejects a request that a browser says is from a page of another site. All browsers send Origin
 * with such a write; they and other clients need no header of their own.
 */
export function checkOrigin({ headers, method }: Request): HttpRejection | undefined {
  const site = headers.get("sec-fetch-site");
  if (method === "GET")
    return site === null || site === "same-origin" || site === "none" ? undefined : crossOrigin;
  if (site !== null && site !== "same-origin") return crossOrigin;
  const origin = headers.get("origin");
  return origin !== null && URL.parse(origin)?.host !== headers.get("host") ? crossOrigin : undefined;
}
