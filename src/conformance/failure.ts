// A failure of a rule as reports show it: in words, with its requests, and with commands that send
// them again.

import { type Reproduction, reproduce } from "./reproduce.ts";
import { reportText, type Transcript, transcriptLines } from "./transcript-text.ts";

/** A violation of a rule, with the requests that led to it, oldest first. */
export interface RuleFailure {
  /** The case of a rule that has several. */
  readonly case: string | undefined;
  readonly message: string;
  /** The lines of each request and of what came back; none where there were no bytes. */
  readonly requests: readonly {
    readonly sent: readonly string[];
    readonly received: readonly string[];
    readonly problem: string | undefined;
  }[];
  /** Commands of a shell. */
  readonly commands: readonly string[];
  /** Whether one of the responses was a 5xx, which may not come again. */
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
  return {
    case: label && reportText(label, secrets),
    message: reportText(message, secrets),
    requests: last.map(({ sent, received, problem }) => ({
      sent: transcriptLines(sent, secrets),
      received: transcriptLines(received, secrets),
      problem: problem && reportText(problem, secrets),
    })),
    commands: reproduce(last, target),
    isServerError: last.some(({ received }) =>
      /^HTTP\/1\.. 5/.test(Buffer.from(received.subarray(0, 10)).toString("latin1")),
    ),
  };
}
