// Everything that is logged, counted or traced, as one closed union, which sinks interpret.

import type { ErrorCode } from "../contract/errors.ts";

export type ServerEvent =
  | {
      readonly kind: "configured";
      readonly version: string;
      /** The effective settings with their sources; without secrets. */
      readonly settings: readonly {
        readonly name: string;
        readonly value: unknown;
        readonly source: string;
      }[];
      /** Settings that differ from their defaults, each as a flag with its value. */
      readonly changed: readonly string[];
    }
  | { readonly kind: "listening"; readonly listener: "public" | "admin"; readonly url: string }
  | { readonly kind: "requestCompleted"; readonly request: Readonly<RequestRecord> }
  | BatchCommitted
  | PlantsImported
  | ImportEnded
  /** `expiresAt` is in milliseconds since the epoch. */
  | { readonly kind: "certificateLoaded"; readonly subject: string; readonly expiresAt: number }
  | { readonly kind: "certificateReloadFailed"; readonly reason: string }
  | { readonly kind: "storeUnavailable"; readonly reason: string }
  /** A wait for a store that cannot be reached has lasted 800 ms. */
  | { readonly kind: "storeWaiting"; readonly waitingFor: string }
  /** The store works, but slower than it could. */
  | { readonly kind: "storeDegraded"; readonly reason: string }
  /** The store can serve no more calls. */
  | { readonly kind: "storeFailed"; readonly reason: string }
  | { readonly kind: "tokenReloadFailed"; readonly reason: string }
  | { readonly kind: "connectionsShed"; readonly open: number }
  /** The limit on open files is lower than the listeners need. */
  | { readonly kind: "openFileLimitTooLow"; readonly limit: number; readonly needed: number }
  | { readonly kind: "traceExportFailed"; readonly reason: string }
  | { readonly kind: "lastUsedWriteFailed"; readonly reason: string }
  | { readonly kind: "tokenRemovalFailed"; readonly reason: string }
  | { readonly kind: "jwksRefreshFailed"; readonly reason: string }
  | PlantEdited
  | PlantsEdited
  | { readonly kind: "internalError"; readonly requestId: string; readonly error: unknown }
  | { readonly kind: "shuttingDown"; readonly signal: string }
  | { readonly kind: "forcedExit"; readonly signal: string }
  | { readonly kind: "stopped" };

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

/** The store has returned the outcomes of a batch; emitted before any response to its plants. */
export interface BatchCommitted {
  readonly kind: "batchCommitted";
  readonly plants: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** A part of an import into the running server is committed. */
export interface PlantsImported {
  readonly kind: "plantsImported";
  readonly created: number;
  readonly unchanged: number;
  readonly endedAt: number;
}

/** An import in the console has ended, or was interrupted for a reason. */
interface ImportEnded {
  readonly kind: "importEnded";
  readonly created: number;
  readonly unchanged: number;
  readonly replaced: number;
  readonly rejected: number;
  readonly reason: string | undefined;
}

/** An operator has changed or deleted a plant. */
export interface PlantEdited {
  readonly kind: "plantEdited";
  readonly change: "created" | "updated" | "deleted";
  readonly id: bigint;
  /** The console, or a command with the user of the operating system that ran it. */
  readonly by: "console" | "command";
  /** The address of the operator's browser. */
  readonly client?: string;
  readonly user?: string;
  /** The user who called sudo, from the environment. */
  readonly sudoUser?: string | undefined;
}

/** Edits in the console of many plants, which are one run of the history. */
interface PlantsEdited {
  readonly kind: "plantsEdited";
  readonly run: string;
  readonly updated: number;
  readonly deleted: number;
  readonly restored: number;
  /** The address of the operator's browser. */
  readonly client: string;
}

/** A monotonic clock in milliseconds with fractions: performance.now. */
export type Clock = () => number;

/** The result of a request: `clientAborted` if the client left before its response. */
export type Result = "created" | "unchanged" | "clientAborted" | ErrorCode;

/** One request and its response. Times are those of Clock. */
export interface RequestRecord {
  readonly requestId: string;
  /** The request's traceparent (W3C Trace Context), unchanged. */
  readonly traceparent: string | null;
  readonly method: string;
  /** Without the query, which may contain a secret. */
  readonly path: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly status: number;
  readonly result: Result;
  /** The message of the error in the response, which has no name and no tag of a plant. */
  readonly message?: string | undefined;
  /** The name of the token, once it is authenticated. */
  readonly caller: string | undefined;
}
