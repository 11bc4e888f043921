// Describes a failure of a rule for reports: in words, with commands that send its requests again,
// and with the last response.

import { type Reproduction, reproduce } from "./reproduce.ts";
import { reportText, type Transcript } from "./transcript-text.ts";

export interface RuleFailure {
  /** The case of a rule that has several. */
  readonly case: string | undefined;
  readonly message: string;
  /** Commands of a shell. */
  readonly commands: readonly string[];
  /** The status and the body of the last response; undefined if there was none. */
  readonly response: string | undefined;
}

const requestsReportedMax = 4;

/** The maximum length of a response in a report. */
const charactersMax = 2_000;

export function describeFailure(
  label: string | undefined,
  message: string,
  transcripts: readonly Transcript[],
  target: Reproduction,
): RuleFailure {
  const { secrets } = target;
  const last = transcripts.slice(-requestsReportedMax);
  const { response } = last.at(-1) ?? {};
  const body = Buffer.from(response?.body ?? []).toString("utf8");
  return {
    case: label && reportText(label, secrets),
    message: reportText(message, secrets),
    commands: reproduce(last, target),
    // Redacted before it is cut: a part of a token is a secret, too.
    response: response && reportText(`${response.status} ${body}`, secrets).slice(0, charactersMax).trimEnd(),
  };
}
