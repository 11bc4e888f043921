// plantstore conformance: checks any server against the rules of the Plant Store contract, and prints a report.

import { readFileSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { version } from "../../package.json";
import type { Target } from "../conformance/context.ts";
import { formatJsonReport } from "../conformance/json-report.ts";
import { formatJunitReport } from "../conformance/junit-report.ts";
import type { Rule } from "../conformance/rule.ts";
import { isRuleId, selectRules } from "../conformance/rules.ts";
import {
  type ConformanceReport,
  conforms,
  findConnectionProblem,
  runConformance,
} from "../conformance/run.ts";
import { formatTextReport } from "../conformance/text-report.ts";
import { textStyle } from "../core/observability/terminal.ts";
import { errorMessage, OperatorError } from "../core/operator-error.ts";
import { withSettings } from "./config/command-options.ts";
import type { Config } from "./config/resolve.ts";
import { isErrorTerminal, outputColumns, printLines, standardError } from "./output.ts";

/** The name of a file that means standard output. */
const standardOutput = "-";

const settingNames = [
  "conformanceUrl",
  "conformanceToken",
  "conformanceLevel",
  "conformanceRule",
  "conformanceJunit",
  "conformanceJson",
  "conformanceCa",
  "responseSecondsMax",
  "bodyBytesMax",
] as const;
type ConformanceConfig = Config<(typeof settingNames)[number]>;

export function conformanceCommand(): Command {
  const command = new Command("conformance")
    .description(
      "check any server against the rules of the Plant Store contract, and print which hold; exit with 1 if one does not",
    )
    .addHelpText(
      "after",
      `
The run creates plants with random ids, which the report names, and changes and
deletes nothing. Other users of a machine can read the arguments of a command,
so give a token that matters as PLANTSTORE_CONFORMANCE_TOKEN, or the name of a
file with it as PLANTSTORE_CONFORMANCE_TOKEN_FILE.`,
    );
  return withSettings(command, settingNames, checkServer);
}

async function checkServer(config: ConformanceConfig): Promise<void> {
  const { conformanceJunit, conformanceJson, responseSecondsMax } = config;
  if (conformanceJunit === standardOutput && conformanceJson === standardOutput)
    throw new OperatorError(
      "--junit - and --json - both print to standard output; give one of them a file",
      2,
    );
  const rules = rulesToRun(config);
  const target = targetOf(config);
  const timeoutMs = 1_000 * responseSecondsMax;
  const problem = await findConnectionProblem(target, timeoutMs);
  if (problem !== undefined)
    throw new OperatorError(`${problem}; start the server, or correct --url${caAdvice(problem)}`);

  const report = await runConformance({
    ...{ target, rules, timeoutMs, version },
    now: Date.now,
    randomBits: (bits) => crypto.getRandomValues(bits),
    wait: (ms) => Bun.sleep(ms),
    onRule: isErrorTerminal()
      ? (rule, index) => showProgress(`${index + 1}/${rules.length} ${rule.id}`)
      : undefined,
  });
  if (isErrorTerminal()) showProgress("");
  await output(report, config);
  if (!conforms(report)) process.exitCode = 1;
}

function rulesToRun({ conformanceLevel, conformanceRule = [] }: ConformanceConfig): readonly Rule[] {
  const unknown = conformanceRule.find((id) => !isRuleId(id));
  if (unknown !== undefined)
    throw new OperatorError(
      `--rule: there is no rule ${JSON.stringify(unknown)}; the report and docs/conformance.md name them`,
      2,
    );
  const rules = selectRules(conformanceLevel, conformanceRule);
  if (rules.length === 0) throw new OperatorError("--rule names no rule of the levels that --level names", 2);
  return rules;
}

function targetOf({
  conformanceUrl,
  conformanceToken,
  conformanceCa,
  bodyBytesMax,
}: ConformanceConfig): Target {
  return {
    url: conformanceUrl,
    token: conformanceToken,
    ca: conformanceCa === undefined ? undefined : readCa(conformanceCa),
    bodyBytesMax,
  };
}

function readCa(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new OperatorError(`--ca: ${errorMessage(error)}`, 2);
  }
}

function caAdvice(problem: string): string {
  return /certificate|self.signed|issuer/i.test(problem) ? ", or give its certificate as --ca" : "";
}

/** Replaces the line of the progress. */
function showProgress(text: string): void {
  standardError().write(`\r\x1b[K${text}`);
}

async function output(report: ConformanceReport, config: ConformanceConfig): Promise<void> {
  const { conformanceJunit: junit, conformanceJson: json } = config;
  const formats = [
    { file: junit, lines: () => formatJunitReport(report) },
    { file: json, lines: () => [formatJsonReport(report)] },
  ];
  for (const { file, lines } of formats)
    if (file !== undefined && file !== standardOutput) writeReport(file, lines());
  const printed = formats.find(({ file }) => file === standardOutput);
  const style = textStyle(outputColumns() !== undefined, process.env);
  await printLines(printed === undefined ? formatTextReport(report, style) : printed.lines());
}

function writeReport(path: string, lines: readonly string[]): void {
  try {
    writeFileSync(path, `${lines.join("\n")}\n`);
  } catch (error) {
    throw new OperatorError(`the report could not be written: ${errorMessage(error)}; choose another file`);
  }
}
