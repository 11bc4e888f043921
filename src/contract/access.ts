// Says how callers of an operation identify themselves: where a request has its token.

/** Where an operation takes a token. */
export interface Access {
  /** Whether the token may be sent as a bearer token (RFC 6750). */
  readonly bearer: boolean;
  /** The header field of an API key, which may hold the same tokens; undefined for none. */
  readonly keyHeader: string | undefined;
  /** The word before an API key in the field Authorization, such as "Token"; undefined for none. */
  readonly scheme?: string | undefined;
  /** Whether a request without a token is served. */
  readonly isOpen: boolean;
}

export const bearerAccess: Access = { bearer: true, keyHeader: undefined, isOpen: false };

/**
 * The header field in which a program sends a token, and what goes before the token; undefined for
 * none.
 */
export function tokenField({
  bearer,
  keyHeader,
  scheme,
}: Access): readonly [name: string, prefix: string] | undefined {
  if (scheme !== undefined) return ["Authorization", `${scheme} `];
  if (bearer) return ["Authorization", "Bearer "];
  return keyHeader === undefined ? undefined : [keyHeader, ""];
}
