// Says how callers of an operation identify themselves: where a request has its token.

/** Says where an operation takes a token. */
export interface Access {
  /** Whether the token may be sent as a bearer token (RFC 6750). */
  readonly bearer: boolean;
  /** The header field of an API key, which may hold the same tokens; undefined for none. */
  readonly keyHeader: string | undefined;
  /**
   * Whether the token may be sent as the password of any user (Basic, RFC 7617): that of the store, or any
   * password; undefined for none.
   */
  readonly basic?: "token" | "any" | undefined;
  /** The word before an API key in the field Authorization, such as "Token"; undefined for none. */
  readonly scheme?: string | undefined;
  /** Whether a request without a token is served. */
  readonly isOpen: boolean;
  /** Lists of scopes, of which a token must have all of one; undefined if it needs none. */
  readonly scopes?: readonly (readonly string[])[] | undefined;
}

/** Whether a text is some scopes with a space between two (RFC 6749, section 3.3). */
export function isScopes(text: string): boolean {
  return /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/.test(text);
}

/** The scopes of a text in which spaces separate them. */
export function scopesOf(text: string): string[] {
  return text.split(" ").filter((scope) => scope !== "");
}

export const bearerAccess: Access = { bearer: true, keyHeader: undefined, isOpen: false };

/** A header field, and what goes before the token in it. */
export type TokenField = readonly [name: string, prefix: string];

const basicPrefix = "Basic ";

/** The header field in which a program sends a token; undefined for none. */
export function tokenField({ bearer, basic, keyHeader, scheme }: Access): TokenField | undefined {
  if (scheme !== undefined) return ["Authorization", `${scheme} `];
  if (bearer) return ["Authorization", "Bearer "];
  if (basic !== undefined) return ["Authorization", basicPrefix];
  return keyHeader === undefined ? undefined : [keyHeader, ""];
}

/** Whether the field has the token as the password of a user, in base64. */
export function isBasicField([, prefix]: TokenField): boolean {
  return prefix === basicPrefix;
}

/** The value of the field. */
export function fieldValue(field: TokenField, token: string): string {
  return field[1] + (isBasicField(field) ? btoa(`token:${token}`) : token);
}
