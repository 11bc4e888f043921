// The report for people.

import type { RuleFailure, Transcript } from "./context.ts";
import { describeBasis, describeSource, type Level, levels, levelTitles } from "./rule.ts";
import { type ConformanceReport, countOutcome, type Outcome, type RuleResult } from "./run.ts";
import { reportText, transcriptLines } from "./transcript-text.ts";

/** ECMA-48, Select Graphic Rendition. */
const sgr = { bold: 1, red: 31, green: 32, yellow: 33 } as const;
type Colour = keyof typeof sgr;

interface TextStyle {
  readonly colours: boolean;
}

const words: Readonly<Record<Outcome, string>> = { holds: "ok", fails: "FAIL", skipped: "skip" };
const colours: Readonly<Record<Outcome, Colour>> = { holds: "green", fails: "red", skipped: "yellow" };

/** The lines of a report: every rule with its outcome, each failure with its requests and responses, and the sum. */
export function formatTextReport(report: ConformanceReport, style: TextStyle): string[] {
  const { results, hints, secrets } = report;
  const failed = results.filter(({ outcome }) => outcome === "fails");
  return [
    ...heading(report, style),
    ...levels.flatMap((level) => levelLines(level, results, secrets, style)),
    ...failed.flatMap((result) => failureLines(result, secrets, style)),
    ...hints.flatMap((hint) => [hint, ""]),
    summary(report, style),
  ];
}

function heading({ url, version, startedAt, ids, secrets }: ConformanceReport, style: TextStyle): string[] {
  const ranges = ids.map(({ from, to }) => `${from} to ${to}`);
  return [
    paint(`Plant Store conformance of ${reportText(url, secrets)}`, "bold", style),
    `plantstore ${version}, ${startedAt}`,
    `Ids of this run: ${ranges.join(", ")}, 0, and the limits of int64`,
    "",
  ];
}

function levelLines(
  level: Level,
  all: readonly RuleResult[],
  secrets: ReadonlySet<string>,
  style: TextStyle,
): string[] {
  const results = all.filter(({ rule }) => rule.level === level);
  if (results.length === 0) return [];
  const holds = countOutcome(results, "holds");
  const width = Math.max(...results.map(({ rule }) => rule.id.length));
  return [
    paint(`${levelTitles[level]} (${level}: ${holds} of ${results.length} hold)`, "bold", style),
    ...results.map(({ rule, outcome, reason }) => {
      const word = paint(words[outcome].padEnd(4), colours[outcome], style);
      const note = outcome === "skipped" ? `  (skipped: ${reportText(reason ?? "", secrets)})` : "";
      return `  ${word}  ${rule.id.padEnd(width)}  ${rule.title}${note}`;
    }),
    "",
  ];
}

function failureLines(
  { rule, failures }: RuleResult,
  secrets: ReadonlySet<string>,
  style: TextStyle,
): string[] {
  return [
    `${paint("FAIL", "red", style)} ${paint(rule.id, "bold", style)}: ${rule.title}`,
    `  Required by ${describeBasis(rule.basis)}: ${rule.sources.map(describeSource).join("; ")}`,
    ...failures.flatMap((failure) => formatFailure(failure, secrets).map((line) => `  ${line}`.trimEnd())),
    "",
  ];
}

/** The lines of one failure: the case, the message, and what was sent (>) and received (<). */
export function formatFailure(failure: RuleFailure, secrets: ReadonlySet<string>): string[] {
  const { case: label, message, transcripts, omitted } = failure;
  const name = label === undefined ? "" : `${reportText(label, secrets)}: `;
  return [
    "",
    `${name}${reportText(message, secrets)}`,
    ...(omitted === 0 ? [] : [`  (after ${omitted} earlier ${omitted === 1 ? "request" : "requests"})`]),
    ...transcripts.flatMap((transcript) => formatTranscript(transcript, secrets)),
  ];
}

function formatTranscript({ sent, received, problem }: Transcript, secrets: ReadonlySet<string>): string[] {
  const prefixed = (bytes: Uint8Array, prefix: string) =>
    bytes.length === 0 ? [] : transcriptLines(bytes, secrets).map((line) => `  ${prefix} ${line}`);
  return [
    ...prefixed(sent, ">"),
    ...prefixed(received, "<"),
    ...(received.length === 0
      ? [`  < (nothing${problem === undefined ? "" : `: ${reportText(problem, secrets)}`})`]
      : []),
  ];
}

function summary({ results, durationMs }: ConformanceReport, style: TextStyle): string {
  const [holds, fails, skipped] = (["holds", "fails", "skipped"] as const).map((outcome) =>
    countOutcome(results, outcome),
  );
  const text = `${holds} of ${results.length} rules hold, ${fails} do not, ${skipped} were skipped, in ${(durationMs / 1_000).toFixed(1)} s`;
  return paint(text, fails === 0 ? "green" : "red", style);
}

function paint(text: string, colour: Colour, { colours }: TextStyle): string {
  return colours ? `\x1b[${sgr[colour]}m${text}\x1b[0m` : text;
}
