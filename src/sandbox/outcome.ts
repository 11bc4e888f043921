// The outcome that is forced on a request: what the request asks for, or what a rule has for it.

import type { Outcome } from "../../packages/sandbox/src/control-types.ts";
import type { ForcedBy } from "./request-log.ts";

export interface ForcedOutcome {
  readonly outcome: Outcome;
  /** The rule or the preferences that force it. */
  readonly by: ForcedBy;
  /** The preferences that are met; undefined for a rule. */
  readonly applied?: string;
}

export function drawDelayMs({ seconds }: NonNullable<Outcome["delay"]>, random: { next(): number }): number {
  if (typeof seconds === "number") return seconds * 1_000;
  const [least, most] = seconds;
  return (least + random.next() * (most - least)) * 1_000;
}
