// The command that checks a server: its options, its files and its exit codes.

import { randomInt } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { readContractFile } from "../contract-file/read-contract-file.ts";
import { plantStoreSource } from "../core/contract/default-contract.ts";
import { readContract } from "../core/contract/description/read-contract.ts";
import { OperatorError } from "../core/operator-error.ts";
import { rulesFor, selectRules } from "./all-rules.ts";
import { Contents } from "./contents.ts";
import { formatJsonReport } from "./json-report.ts";
import { type Basis, bases, describeBasis, levels, type Rule } from "./rule.ts";
import { type ConformanceReport, conforms, countOutcomes, runConformance } from "./run.ts";
import type { Target } from "./run-state.ts";
import { formatTextReport, uncheckedLines } from "./text-report.ts";

export const description = "check any server against the rules of a contract, and print which hold";

/** The options with their descriptions. One without an argument is a switch. */
export const options = {
  "--url <url>":
    "base URL of the server to check, such as https://plants.example/v1; the path of the collection is appended",
  "--token <token>": "bearer token that the server accepts",
  "--contract <file>": "OpenAPI description of the contract, in YAML or JSON (default: the Plant Store's)",
  "--collection <path>": "path of the collection, such as /plants, if the contract has several",
  "--basis <bases>": `check the rules of: ${bases.join(", ")}, separated by commas, or all (default: contract; all with --rule)`,
  "--rule <names>": `check only these rules, such as ids.limits, or these levels: ${levels.join(", ")}`,
  "--skip <names>": "leave these rules or levels out",
  "--seed <number>": "repeat the ids of the run with this seed, on a server without its plants",
  "--list": "print the rules that would be checked, and check nothing",
  "--json <file>": "also write the report as JSON to this file; - prints it instead of the text",
  "--ca <file>": "certificates in PEM to trust for https instead of the system's",
  "--response-seconds-max <seconds>":
    "time to connect, and for each response; a slower one is a failure (default: 5)",
  "--body-bytes-max <bytes>": "the server's limit of a body, for the rules of that limit (default: 1048576)",
} as const;

type NameOf<Option> = Option extends `--${infer Name} <${string}>`
  ? Name
  : Option extends `--${infer Name}`
    ? Name
    : never;
type OptionName = NameOf<keyof typeof options>;

/** The name of an option: `url` of `--url <url>`. */
export function nameOf(option: string): OptionName {
  return option.replace(/^--| <.*/g, "") as OptionName;
}

export const help = `The run creates plants with random ids, which the report names, and changes and
deletes only those. Other users of a machine can read the arguments of a
command, so give a token that matters as PLANTSTORE_CONFORMANCE_TOKEN.

Exit codes: 0 if every rule that was checked holds, 1 if one does not, 2 if the
command was called incorrectly, 3 if the server could not be checked.`;

export type OptionValues = Readonly<Partial<Record<OptionName, string | true>>>;

export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly print: (lines: readonly string[]) => Promise<void>;
}

const standardOutput = "-";
const tokenVariable = "PLANTSTORE_CONFORMANCE_TOKEN";

/** Runs the command, and returns its exit code. Rejects with an OperatorError. */
export async function runCommand(given: OptionValues, context: CommandContext): Promise<0 | 1 | 3> {
  const values = withEnvironment(given, context.environment);
  const contents = await contentsFor(values);
  const rules = rulesToRun(values, rulesFor(contents));
  if (values.list !== undefined) {
    await context.print(listLines(rules));
    return 0;
  }
  const target = targetOf(values, contents);
  const timeoutMs = 1_000 * integerOf(values, "response-seconds-max", 5, 1, 600);

  const report = await runConformance({
    contents,
    target,
    rules,
    timeoutMs,
    seed: integerOf(values, "seed", randomInt(2 ** 32), 0, 2 ** 32 - 1),
  });
  if ("problem" in report) throw new OperatorError(`${report.problem}${adviceFor(report.problem)}`, 3);
  await writeReports(report, values, context);
  if (conforms(report)) return 0;
  return countOutcomes(report.results).fails > 0 ? 1 : 3;
}

/** The command was called incorrectly. */
function usageError(message: string): OperatorError {
  return new OperatorError(message, 2);
}

function withEnvironment(given: OptionValues, environment: CommandContext["environment"]): OptionValues {
  const token = given.token ?? environment[tokenVariable];
  return token === undefined ? given : { ...given, token };
}

async function contentsFor(values: OptionValues): Promise<Contents> {
  const { contract: file } = values;
  const collection = typeof values.collection === "string" ? values.collection : undefined;
  const source =
    typeof file === "string" ? await readContractFile(file, collection) : { ...plantStoreSource, collection };
  try {
    // A server of its own may have what this one has not.
    return new Contents(await readContract({ ...source, fills: true }));
  } catch (error) {
    throw error instanceof OperatorError ? usageError(`--contract: ${error.message}`) : error;
  }
}

/** The rules that are chosen, of which at least one fits the contract. */
function rulesToRun(values: OptionValues, all: readonly Rule[]): readonly Rule[] {
  const only = namesOf(values, "rule", all);
  const skip = namesOf(values, "skip", all);
  const rules = selectRules(all, { bases: basesOf(values), only, skip });
  if (rules.some(({ unfit }) => unfit === undefined)) return rules;
  const [first] = rules;
  throw usageError(
    first === undefined
      ? "--basis, --rule and --skip leave no rule to check"
      : `${first.id} does not apply to this contract: ${first.unfit}`,
  );
}

function basesOf(values: OptionValues): readonly Basis[] {
  const names =
    values.basis === undefined ? [values.rule === undefined ? "contract" : "all"] : listOf(values, "basis");
  if (names.length === 1 && names[0] === "all") return bases;
  return names.map((name) => {
    const basis = bases.find((each) => each === name);
    if (basis === undefined)
      throw usageError(`--basis: ${JSON.stringify(name)} is none of ${bases.join(", ")} and all`);
    return basis;
  });
}

/** Ids of rules, or names of levels. */
function namesOf(values: OptionValues, option: "rule" | "skip", all: readonly Rule[]): readonly string[] {
  const names = values[option] === undefined ? [] : listOf(values, option);
  const unknown = names.find((name) => !all.some(({ id, level }) => id === name || level === name));
  if (unknown === undefined) return names;
  throw usageError(
    `--${option}: there is no rule ${JSON.stringify(unknown)}, and no such level; --list names them`,
  );
}

function listOf(values: OptionValues, name: OptionName): string[] {
  return String(values[name])
    .split(",")
    .map((each) => each.trim());
}

function integerOf(
  values: OptionValues,
  name: OptionName,
  byDefault: number,
  min: number,
  max: number,
): number {
  const value = Number(values[name] ?? byDefault);
  if (!Number.isInteger(value) || value < min || value > max)
    throw usageError(`--${name}: ${JSON.stringify(values[name])} is not an integer from ${min} to ${max}`);
  return value;
}

function targetOf(values: OptionValues, { access }: Contents): Target {
  const url = urlOf(required(values, "url"));
  // One that nobody has, so that the report hides no other text, where none is sent.
  const token = values.token === undefined && access.isOpen ? crypto.randomUUID() : required(values, "token");
  // The message does not repeat it.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw usageError(
      "--token: the value is not a token: one or more visible ASCII characters without spaces",
    );
  return {
    url,
    token,
    ca: typeof values.ca === "string" ? readText(values.ca, "--ca") : undefined,
    // From the size of the requests themselves to what a string of Node can hold.
    bodyBytesMax: integerOf(values, "body-bytes-max", 2 ** 20, 1_000, 2 ** 28),
  };
}

function required(values: OptionValues, name: OptionName): string {
  const value = values[name];
  if (typeof value !== "string")
    throw usageError(`--${name} is required${name === "token" ? `; give it, or set ${tokenVariable}` : ""}`);
  return value;
}

function urlOf(text: string): URL {
  if (!/^https?:\/\//i.test(text) || /[?#@]/.test(text) || !URL.canParse(text))
    throw usageError(
      `--url: ${JSON.stringify(text)} is not a base URL such as https://plants.example/v1, without a user, a query and a fragment`,
    );
  return new URL(text);
}

function listLines(chosen: readonly Rule[]): string[] {
  const rules = chosen.filter(({ unfit }) => unfit === undefined);
  const width = Math.max(...rules.map(({ id }) => id.length));
  return rules.map(
    ({ id, basis, title }) => `${id.padEnd(width)}  ${describeBasis(basis).padEnd(12)}  ${title}`,
  );
}

function readText(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw usageError(`${option}: ${(error as Error).message}`);
  }
}

function adviceFor(problem: string): string {
  if (!problem.startsWith("cannot connect")) return "";
  const isUntrusted = /certificate|self.signed|issuer/i.test(problem);
  return `; start the server, or correct --url${isUntrusted ? ", or give its certificate as --ca" : ""}`;
}

async function writeReports(
  report: ConformanceReport,
  values: OptionValues,
  { print }: CommandContext,
): Promise<void> {
  const { json: path } = values;
  // Who names rules knows what is not checked.
  const unchecked = values.rule === undefined ? uncheckedLines(basesOf(values)) : [];
  const json = formatJsonReport(report);
  await print(path === standardOutput ? [json] : [...formatTextReport(report), ...unchecked]);
  if (typeof path !== "string" || path === standardOutput) return;
  try {
    writeFileSync(path, `${json}\n`);
  } catch (error) {
    throw new OperatorError(
      `the report could not be written: ${(error as Error).message}; choose another file`,
      3,
    );
  }
}
