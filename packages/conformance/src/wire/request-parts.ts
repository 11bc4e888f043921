// Declares a request as a rule gives it: what differs from a create with a token and a body of
// JSON.

export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** Replaces the default fields of the same names; null leaves a field out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string | Uint8Array;
}

/** Whether a request has fields that curl would change or leave out. */
export function isRaw({ headers = {} }: RequestParts): boolean {
  return ["Transfer-Encoding", "Content-Length", "Expect", "Host"].some((name) => name in headers);
}

/** The header fields of a chunked body. */
export const chunkedHeaders = { "Content-Length": null, "Transfer-Encoding": "chunked" };

/** A chunked body (RFC 9112, section 7.1). */
export function chunked(chunks: readonly string[]): string {
  return [...chunks, ""].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
}
