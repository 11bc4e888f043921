// Which requests may reach the console at all: those of its own page, under a name that is this server's.

/** Sent with every write of the page. A page of another site cannot without asking first (CORS), and is told no. */
const writeHeader = "X-Plantstore-Console";

/** Why a request is refused, if it is. */
export interface HttpRejection {
  readonly status: number;
  readonly message: string;
}

/**
 * The refusal of a request whose Host is neither an address, nor localhost, nor one of the names: a page of another site
 * may point its own name at this machine (DNS rebinding), but cannot send another Host than that name.
 */
export function checkHost(request: Request, names: readonly string[]): HttpRejection | undefined {
  const host = request.headers.get("host") ?? "";
  const name = host.replace(/:\d*$/, "").toLowerCase();
  const isAddress = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/.test(name);
  if (isAddress || name === "localhost" || names.includes(name)) return undefined;
  return {
    status: 421,
    message: `The console does not know itself as ${JSON.stringify(host)}; list that name in --admin-names if it is right.`,
  };
}

/** The refusal of a request to the API that comes from a page of another site, or could. */
export function checkSameOrigin(request: Request): HttpRejection | undefined {
  const { headers, method } = request;
  const site = headers.get("sec-fetch-site");
  if (method === "GET")
    return site === null || site === "same-origin" || site === "none" ? undefined : otherSite;
  if (site !== null && site !== "same-origin") return otherSite;
  const origin = headers.get("origin");
  if (origin !== null && URL.parse(origin)?.host !== headers.get("host")) return otherSite;
  if (
    headers.get(writeHeader) === null ||
    !/^application\/json *(?:;|$)/i.test(headers.get("content-type") ?? "")
  )
    return {
      status: 403,
      message: `A change is sent as application/json with the header ${writeHeader}: 1.`,
    };
  return undefined;
}

const otherSite: HttpRejection = { status: 403, message: "The console answers its own page alone." };
