// A request as a rule gives it: what differs from a create with a token and a body of JSON.

export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** Replaces the default fields of these very names; null leaves a field out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string | Uint8Array;
}

/** Whether a request is for the create. */
export function isCreate({ method = "POST", path }: RequestParts): boolean {
  return method === "POST" && path === undefined;
}

/** Whether a request has fields that curl would not send, or not so. */
export function isRaw({ headers = {} }: RequestParts): boolean {
  return ["Transfer-Encoding", "Content-Length", "Expect", "Host"].some((name) => name in headers);
}

/** The fields of a body in chunks. */
export const chunkedHeaders = { "Content-Length": null, "Transfer-Encoding": "chunked" };

/** A body in chunks (RFC 9112, section 7.1). */
export function chunked(chunks: readonly string[]): string {
  return [...chunks, ""].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
}
