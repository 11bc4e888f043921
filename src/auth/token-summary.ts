// Tokens as an operator sees them listed, on the command line and in the console.

import { effectiveExpiry, type TokenRecord } from "../store/token-store.ts";
import { isActive } from "./token.ts";

/** What is shown of a token; its keys are those of the JSON, and the table's columns are in their order. */
export interface TokenSummary {
  readonly name: string;
  /** `rotated`: it works until it expires, but a newer token has taken its place. */
  readonly state: "active" | "rotated" | "expired" | "revoked";
  readonly created: string;
  /** When it ends by itself or because it was rotated, whichever comes first. */
  readonly expires: string | null;
  readonly revoked: string | null;
  /** To the minute. */
  readonly lastUsed: string | null;
}

export function listed(token: TokenRecord, now: number): TokenSummary {
  return {
    name: token.name,
    state: stateOf(token, now),
    created: iso(token.createdAt),
    expires: isoOrNull(effectiveExpiry(token)),
    revoked: isoOrNull(token.revokedAt),
    lastUsed: isoOrNull(token.lastUsedAt),
  };
}

/** A moment as operators read it, in UTC. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

function stateOf(token: TokenRecord, now: number): TokenSummary["state"] {
  if (token.revokedAt !== null) return "revoked";
  if (!isActive(token, now)) return "expired";
  return token.overlapEndsAt === null ? "active" : "rotated";
}
