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
