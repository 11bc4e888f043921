// What a token is: `pst_` and 256 random bits.

import type { TokenRecord } from "../store/token-store.ts";

const tokenBytes = 32;

/** Makes `count` random bytes that nobody can guess. */
type RandomBytes = (count: number) => Uint8Array;

/** A new token, and the record of it that may be stored. The token itself is shown once and kept nowhere. */
export function makeToken(
  { name, expiresAt }: { name: string; expiresAt: number | null },
  { now, randomBytes }: { now: number; randomBytes: RandomBytes },
): { token: string; record: TokenRecord } {
  const token = `pst_${randomBytes(tokenBytes).toBase64({ alphabet: "base64url", omitPadding: true })}`;
  return { token, record: { hash: hashToken(token), name, createdAt: now, expiresAt, revokedAt: null } };
}

/** SHA-256 of a token, base64url. A token is 256 random bits, so no salt and no slow hash is needed. 0.14 µs. */
export function hashToken(token: string): string {
  return Bun.SHA256.hash(token, "base64url");
}

/** Whether a token is accepted at a moment, in milliseconds since the epoch. */
export function isAccepted({ expiresAt, revokedAt }: TokenRecord, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now < expiresAt);
}

/** Random bytes of the operating system. */
export const randomBytes: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));
