// Everything worth logging or counting, as one closed union. Whoever meets it says so; the logger, the metrics and
// the traces alone interpret it.

import type { ErrorCode } from "../contract/errors.ts";

export type ServerEvent =
  | {
      readonly kind: "configured";
      readonly version: string;
      /** What is in force, and where it came from; nothing secret. */
      readonly settings: readonly {
        readonly name: string;
        readonly value: unknown;
        readonly source: string;
      }[];
    }
  | { readonly kind: "listening"; readonly listener: "public" | "admin"; readonly url: string }
  | { readonly kind: "answered"; readonly exchange: Readonly<RequestRecord> }
  | BatchCommitted
  /** Moments are milliseconds since the epoch. */
  | { readonly kind: "certificateInUse"; readonly subject: string; readonly expiresAt: number }
  | { readonly kind: "certificateReloadFailed"; readonly reason: string }
  | { readonly kind: "storeUnavailable"; readonly reason: string }
  /** Once a wait for a store that is away lasts longer than a moment. */
  | { readonly kind: "storeWaiting"; readonly waitingFor: string }
  | { readonly kind: "storeFailed"; readonly reason: string }
  | { readonly kind: "tokenReloadFailed"; readonly reason: string }
  | { readonly kind: "connectionsShed"; readonly listener: "public" | "admin"; readonly open: number }
  /** The limit on open files is below what the listeners need. */
  | { readonly kind: "descriptorsScarce"; readonly limit: number; readonly needed: number }
  | { readonly kind: "traceExportFailed"; readonly reason: string }
  | { readonly kind: "lastUsedWriteFailed"; readonly reason: string }
  | { readonly kind: "endedTokensUnremoved"; readonly reason: string }
  /** Of an identity provider. */
  | { readonly kind: "jwksRefreshFailed"; readonly reason: string }
  | { readonly kind: "fault"; readonly requestId: string; readonly error: unknown }
  | { readonly kind: "stopping"; readonly signal: string }
  | { readonly kind: "forcedExit"; readonly signal: string }
  | { readonly kind: "stopped" };

/** Takes an event in. Never throws, and costs the caller next to nothing. */
export type Emit = (event: ServerEvent) => void;

/** A batch came back from the store, before any of its plants is answered. Times are those of Clock. */
export interface BatchCommitted {
  readonly kind: "committed";
  readonly plants: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Milliseconds since some fixed moment, with fractions, that no change of the system's time moves: performance.now. */
export type Clock = () => number;

/**
 * What became of a request: a plant `created` or `unchanged`, an error code, `served` for what is neither (the
 * description, CORS preflight), `gone` where the client left before its answer.
 */
export type Result = "created" | "unchanged" | "served" | "gone" | ErrorCode;

/** One request and its answer; filled in on the way. Times are those of Clock. */
export interface RequestRecord {
  readonly requestId: string;
  /** The caller's place in a trace (W3C Trace Context), as it came. */
  readonly traceparent: string | null;
  readonly method: string;
  /** Without the query, where a client may have put what is secret. */
  readonly path: string;
  readonly startedAt: number;
  endedAt: number;
  status: number;
  result: Result;
  /** The name of the token, once it is accepted. */
  caller: string | undefined;
}
