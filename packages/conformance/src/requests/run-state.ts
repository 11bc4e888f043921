// Declares what the rules of a run share: the server under test, the contract, the ids, and
// findings.

import type { Watch } from "../failures/watch.ts";
import type { IdSource } from "../plants/ids.ts";
import type { Address, ConnectionLimits, HttpResponse } from "../wire/exchange.ts";
import type { Contents } from "./contents.ts";

export interface Target extends Address {
  readonly token: string;
  /** A body of more bytes gets 41300. */
  readonly bodyBytesMax: number;
}

/** How a server responds to another plant with an id that is taken. */
export interface Conflict {
  /** Whether it accepts the other plant, as a mock does, and does not return the stored one. */
  readonly isAccepted: boolean;
  /** Whether a response is a conflict; undefined if an invalid body gets the same response. */
  readonly recognize: (response: HttpResponse) => boolean | undefined;
}

export interface RunState {
  readonly contents: Contents;
  readonly target: Target;
  readonly ids: IdSource;
  readonly limits: ConnectionLimits;
  /** Texts that no report may contain: the token, and tokens that were derived from it. */
  readonly secrets: Set<string>;
  readonly watches: readonly Watch[];
  /** Faults of plain creates. They block the rules that would run into them again. */
  readonly plainFaults: Set<string>;
  /** Requests without a response since the last response. */
  unanswered: number;
  /** Learnt from the server when a rule first needs it. */
  conflict: Conflict | undefined;
}
