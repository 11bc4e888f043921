// Summarizes a token for lists, on the command line and in the console.

import { effectiveExpiry, type TokenRecord } from "../store/shared/token-record.ts";
import { isActive } from "./token.ts";

/** The keys of the JSON output, in the order of the table's columns. */
export interface TokenSummary {
  readonly name: string;
  /** `rotated`: accepted until it expires, but replaced by a newer token. */
  readonly state: "active" | "rotated" | "expired" | "revoked";
  /** With a space between two; null for a token that may do everything. */
  readonly scopes: string | null;
  readonly created: string;
  /** The earlier of its own expiry and the end of the overlap of a rotation. */
  readonly expires: string | null;
  readonly revoked: string | null;
  /** To the minute. */
  readonly lastUsed: string | null;
}

export function toTokenSummary(token: TokenRecord, now: number): TokenSummary {
  return {
    name: token.name,
    state: getState(token, now),
    scopes: token.scopes ?? null,
    created: new Date(token.createdAt).toISOString(),
    expires: toIsoStringOrNull(effectiveExpiry(token)),
    revoked: toIsoStringOrNull(token.revokedAt),
    lastUsed: toIsoStringOrNull(token.lastUsedAt),
  };
}

function toIsoStringOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function getState(token: TokenRecord, now: number): TokenSummary["state"] {
  if (token.revokedAt !== null) return "revoked";
  if (!isActive(token, now)) return "expired";
  return token.overlapEndsAt === null ? "active" : "rotated";
}
