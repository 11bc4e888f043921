// HTTP requests of a client.

export interface Target {
  /** The base address. */
  readonly url: string;
  readonly token: string;
  /** The certificate of an https address, in PEM, if the system does not trust it. */
  readonly ca?: string;
}

/** A response, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined if it is empty. */
  readonly json: unknown;
}

export async function send(url: string, init: BunFetchRequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text === "" ? undefined : JSON.parse(text),
  };
}

/** Sends a request without a body, with the target's token. */
export function sendTo(
  { url, token }: Target,
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(url + path, { method, headers: { Authorization: `Bearer ${token}`, ...headers } });
}

/** POST {base}/plants with a body; an empty value of a header leaves that header out. */
export function post(
  target: Target,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const all = { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json", ...headers };
  const sent = Object.entries(all).filter(([, value]) => value !== "");
  return send(`${target.url}/plants`, {
    method: "POST",
    headers: Object.fromEntries(sent),
    body: new Blob([body]),
    ...(target.ca === undefined ? {} : { tls: { ca: target.ca } }),
  });
}

/** A plant as JSON with an exact id. */
export function plantJson(id: bigint, name: string, tag?: string): string {
  const rest = JSON.stringify(tag === undefined ? { name } : { name, tag });
  return `{"id":${id},${rest.slice(1)}`;
}

/** A random id, unique among all tests. */
export function freshId(): bigint {
  const [bits = 0n] = crypto.getRandomValues(new BigInt64Array(1));
  return bits;
}
