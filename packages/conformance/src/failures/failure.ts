// Describes a failure of a rule for reports: in words, with commands that send its requests again,
// and with the last response.

import { type Reproduction, reproduce } from "./reproduce.ts";
import { reportText, type Transcript, transcriptLines } from "./transcript-text.ts";

export interface RuleFailure {
  /** The case of a rule that has several. */
  readonly case: string | undefined;
  readonly message: string;
  /** Commands of a shell. */
  readonly commands: readonly string[];
  /** The lines of the last response; none if there were no bytes. */
  readonly response: readonly string[];
  /** Whether a response was a 5xx, which may not come again. */
  readonly isServerError: boolean;
}

const requestsReportedMax = 4;

export function describeFailure(
  label: string | undefined,
  message: string,
  transcripts: readonly Transcript[],
  target: Reproduction,
): RuleFailure {
  const { secrets } = target;
  const last = transcripts.slice(-requestsReportedMax);
  const responses = last.map(({ received }) => transcriptLines(received, secrets));
  return {
    case: label && reportText(label, secrets),
    message: reportText(message, secrets),
    commands: reproduce(last, target),
    response: responses.at(-1) ?? [],
    isServerError: responses.some(([start = ""]) => /^HTTP\/1\.\d 5/.test(start)),
  };
}
