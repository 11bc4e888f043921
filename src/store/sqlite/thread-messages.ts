// What the server's thread and the thread that owns the SQLite file say to each other.

import type { NewPlant } from "../../contract/plant.ts";
import type { Outcome } from "../plant-store.ts";
import type { TokenRecord } from "../token-store.ts";

/** The calls that the SQLite thread answers, by name. */
export interface ThreadCalls {
  open(path: string): void;
  create(batch: readonly NewPlant[]): Outcome[];
  addToken(token: TokenRecord): boolean;
  addFirstToken(token: TokenRecord): boolean;
  revokeToken(name: string, revokedAt: number): boolean;
  listTokens(): TokenRecord[];
  close(): void;
}

export type CallName = keyof ThreadCalls;

export interface ThreadRequest {
  readonly call: CallName;
  readonly args: readonly unknown[];
}

/** Replies come in the order of the requests; what the thread observes may come between them. */
export type ThreadReply =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "failure"; readonly message: string; readonly forOperator: boolean }
  | { readonly kind: "unavailable"; readonly reason: string };
