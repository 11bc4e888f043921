// Lists everything that is logged, counted or traced, as one closed union of events.

import type { ErrorCode } from "./errors.ts";

export type ServerEvent =
  | { readonly kind: "requestCompleted"; readonly request: Readonly<RequestRecord> }
  | BatchCommitted
  | { readonly kind: "storeUnavailable"; readonly reason: string }
  /** The store has failed at a task that creates do not wait for, such as a checkpoint. */
  | { readonly kind: "storeTaskFailed"; readonly reason: string }
  /** The store has failed an operation other than the create, such as a list. */
  | { readonly kind: "operationFailed"; readonly operation: string; readonly reason: string }
  /** All ids that a contract allows are taken, in the collection with this path. */
  | { readonly kind: "idsExhausted"; readonly path: string }
  /** A wait for a store that cannot be reached has lasted 800 ms. */
  | { readonly kind: "storeWaiting"; readonly waitingFor: string }
  /** The store can serve no more calls. */
  | { readonly kind: "storeFailed"; readonly reason: string }
  /** The store has another contract, which is served now. */
  | { readonly kind: "contractChanged" }
  /** The store has another contract, which this server cannot serve. */
  | { readonly kind: "contractRefused"; readonly reason: string }
  | { readonly kind: "tokenReloadFailed"; readonly reason: string }
  | { readonly kind: "connectionsShed"; readonly open: number }
  | { readonly kind: "traceExportFailed"; readonly reason: string }
  | { readonly kind: "jwksRefreshFailed"; readonly reason: string }
  /** The certificate of the public listener ends within two weeks, or has ended. */
  | { readonly kind: "certificateEnds"; readonly reason: string }
  | Notice
  | { readonly kind: "internalError"; readonly requestId: string; readonly error: unknown };

/** Emits an event. Never throws, and never waits. */
export type Emit = (event: ServerEvent) => void;

/** Passes each event to all subscribers: the log, the metrics, and whatever else listens. */
export class ServerEvents {
  readonly #subscribers: Emit[] = [];

  /** @param handle must not throw, and must not wait: it is called on the path of a create. */
  subscribe(handle: Emit): void {
    this.#subscribers.push(handle);
  }

  readonly emit: Emit = (event) => {
    for (const handle of this.#subscribers) handle(event);
  };
}

/**
 * The store has committed a batch; emitted before any response to its plants. Not emitted if none of
 * them could be committed: its time would be that of retries, not of a commit.
 */
export interface BatchCommitted {
  readonly kind: "batchCommitted";
  readonly plants: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** A line for the log: what an operator did, or how far a process has come. */
export interface Notice {
  readonly kind: "notice";
  readonly message: string;
  /** Without a token, and without the fields of a plant. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A monotonic clock in milliseconds with fractions: performance.now. */
export type Clock = () => number;

/**
 * The result of a request: `completed` for an operation other than the create, `clientAborted` if
 * the client left before its body had arrived, or its error.
 */
export type Result = "created" | "unchanged" | "completed" | "clientAborted" | ErrorCode | number;

/** The operation of a request, as far as the log, metrics and traces need it. */
export interface CalledOperation {
  /** The name in the interface description and in traces. */
  readonly operationId: string;
  /** The path below the base path, as OpenAPI has it: {id} stands for one segment. */
  readonly path: string;
  /** The kind of operation on a collection, such as a create; undefined for an operation of one's own. */
  readonly serves?: { readonly collection: string; readonly action: string } | undefined;
}

/** One request and its response. Times are those of Clock. */
export interface RequestRecord {
  readonly requestId: string;
  /** The request's traceparent (W3C Trace Context), unchanged. */
  readonly traceparent: string | null;
  readonly method: string;
  /** Without the query, which may contain a secret. */
  readonly path: string;
  /** Undefined if no operation has the method and the path. */
  readonly operation?: CalledOperation | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly status: number;
  readonly result: Result;
  /** The message of the error, without what the client has sent in a body or a query. */
  readonly message?: string | undefined;
  /** The name of the token, once it is authenticated. */
  readonly caller: string | undefined;
}
