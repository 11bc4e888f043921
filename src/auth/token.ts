// Makes tokens, of the prefix `pst_` and 256 random bits, and says when one is accepted.

import { printable } from "../base/terminal.ts";
import { effectiveExpiry, type NewToken, type TokenRecord } from "../store/shared/token-record.ts";

/** Shows people and secret scanners that a text is a token; no JWT starts with it. */
export const tokenPrefix = "pst_";

const tokenBytes = 32;

/** Returns `count` cryptographically secure random bytes. */
type RandomBytes = (count: number) => Uint8Array;

/** A new token, and its record for the store. The token itself is stored nowhere. */
export function makeToken(
  { name, expiresAt, scopes }: Pick<NewToken, "name" | "expiresAt" | "scopes">,
  { now, randomBytes }: { now: number; randomBytes: RandomBytes },
): { token: string; record: NewToken } {
  const token = `${tokenPrefix}${randomBytes(tokenBytes).toBase64({ alphabet: "base64url", omitPadding: true })}`;
  return { token, record: { hash: hashToken(token), name, createdAt: now, expiresAt, scopes } };
}

/** Whether a text may name a token: not empty, and shown by a terminal and the log as it is. */
export function isTokenName(text: string): boolean {
  return text !== "" && printable(text) === text;
}

/** SHA-256, base64url. 256 random bits need neither a salt nor a slow hash. */
export function hashToken(token: string): string {
  return Bun.SHA256.hash(token, "base64url");
}

/** When a token ends, in milliseconds since the epoch: Infinity for never, -Infinity if revoked. */
export function activeUntil(token: TokenRecord): number {
  if (token.revokedAt !== null) return Number.NEGATIVE_INFINITY;
  return effectiveExpiry(token) ?? Number.POSITIVE_INFINITY;
}

/** Whether a token is accepted at a time, in milliseconds since the epoch. */
export function isActive(token: TokenRecord, now: number): boolean {
  return now < activeUntil(token);
}

export const randomBytes: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));
