// Runs the command that checks a server: reads its options and files, and chooses its exit code.

import { randomInt } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { OperatorError } from "../../../src/base/operator-error.ts";
import type { Contract } from "../../../src/contract/contract.ts";
import { plantStoreSource } from "../../../src/openapi/default-contract.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { readContractFile } from "../../../src/openapi/files/read-contract-file.ts";
import { formatJsonReports } from "./reports/json-report.ts";
import { formatTextReports, uncheckedLines } from "./reports/text-report.ts";
import type { Target } from "./requests/run-state.ts";
import { selectRules } from "./rules/all-rules.ts";
import { type Basis, bases, type ConformanceRule, describeBasis, levels } from "./rules/rule.ts";
import { type CheckedCollection, checkable, chooseCollections } from "./run/checked-collections.ts";
import { type CollectionReport, conformsInAll, countOutcomes, runConformance } from "./run/run.ts";

export const description = "check any server against the rules of a contract, and print which hold";

/** The options with their descriptions. One without an argument is a switch. */
export const options = {
  "--url <url>":
    "base URL of the server to check, such as https://plants.example/v1; the path of the collection is appended, and the path of the contract's server if there is nothing without it",
  "--token <token>": "bearer token that the server accepts",
  "--contract <file>": "OpenAPI description of the contract, in YAML or JSON (default: the Plant Store's)",
  "--collection <name>":
    "name or path of the collection to check, such as plants, if the contract has several (default: all)",
  "--basis <bases>": `check the rules of: ${bases.join(", ")}, separated by commas, or all (default: contract; all with --rule)`,
  "--rule <names>": `check only these rules, such as ids.limits, or these levels: ${levels.join(", ")}`,
  "--skip <names>": "leave these rules or levels out",
  "--seed <number>": "repeat the ids of the run with this seed, on a server without its plants",
  "--list": "print the rules that would be checked, and check nothing",
  "--strict": "fail if a collection of the contract is not checked",
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

export const help = `The run creates plants with random ids, and changes and deletes only those. Other
users of a machine can read the arguments of a command, so give a token that
matters as PLANTSTORE_CONFORMANCE_TOKEN.

Exit codes: 0 if every rule that was checked holds, 1 if one does not, 2 if the
command was called incorrectly, 3 if the server, or with --strict one of the
collections, could not be checked.`;

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
  const collections = await collectionsToCheck(values);
  if (values.list !== undefined) {
    await context.print(listLines(collections));
    return 0;
  }
  const target = targetOf(values, collections);
  const timeoutMs = 1_000 * integerOf(values, "response-seconds-max", 5, 1, 600);
  const seed = integerOf(values, "seed", randomInt(2 ** 32), 0, 2 ** 32 - 1);

  const all: CollectionReport[] = [];
  for (const each of collections) {
    const { name } = each;
    if ("skipped" in each) all.push({ name, skipped: each.skipped.message });
    else {
      const { contents, rules } = each;
      const report = await runConformance({ contents, target, rules, timeoutMs, seed });
      all.push("problem" in report ? { name, ...report } : { name, report });
    }
  }
  const reports = all.flatMap((each) => ("report" in each ? [each.report] : []));
  const problem = all.find((each) => "problem" in each)?.problem;
  if (reports.length === 0 && problem !== undefined)
    throw new OperatorError(`${problem}${adviceFor(problem)}`, 3);
  await writeReports(all, values, context);
  const isWhole = values.strict === undefined || all.every((each) => !("skipped" in each));
  if (conformsInAll(all) && isWhole) return 0;
  return reports.some(({ results }) => countOutcomes(results).fails > 0) ? 1 : 3;
}

/** The command was called incorrectly. */
function usageError(message: string): OperatorError {
  return new OperatorError(message, 2);
}

function withEnvironment(given: OptionValues, environment: CommandContext["environment"]): OptionValues {
  const token = given.token ?? environment[tokenVariable];
  return token === undefined ? given : { ...given, token };
}

/** The collections with the rules that are chosen. At least one of them is not skipped. */
async function collectionsToCheck(values: OptionValues): Promise<readonly CheckedCollection[]> {
  const contract = await contractFor(values);
  const wanted = typeof values.collection === "string" ? values.collection : undefined;
  const all = chooseCollections(contract, wanted).map((each) => checkable(contract, each));
  const known = all.flatMap((each) => ("rules" in each ? each.rules : []));
  const [first] = all;
  if (known.length === 0 && first !== undefined && "skipped" in first)
    throw usageError(`--contract: ${first.skipped.message}`);
  const only = namesOf(values, "rule", known);
  const skip = namesOf(values, "skip", known);
  const bases = basesOf(values);
  const chosen = all.map((each): CheckedCollection => {
    if ("skipped" in each) return each;
    const rules = selectRules(each.rules, { bases, only, skip });
    return rules.some(({ unfit }) => unfit === undefined)
      ? { ...each, rules }
      : { name: each.name, skipped: noRuleOf(rules) };
  });
  const [none] = chosen.flatMap((each) => ("skipped" in each ? [each.skipped] : []));
  if (none !== undefined && chosen.every((each) => "skipped" in each)) throw none;
  return chosen;
}

async function contractFor({ contract: file }: OptionValues): Promise<Contract> {
  const source = typeof file === "string" ? await readContractFile(file) : plantStoreSource;
  try {
    // A server of its own may have what this one has not.
    const contract = await readContract(source, { isLenient: true });
    // Nothing can be checked without a collection; this reading says why there is none.
    return contract.collections.length > 0 ? contract : await readContract(source);
  } catch (error) {
    throw error instanceof OperatorError ? usageError(`--contract: ${error.message}`) : error;
  }
}

/** Says why none of the chosen rules can be checked. */
function noRuleOf([first]: readonly ConformanceRule[]): OperatorError {
  return usageError(
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
function namesOf(
  values: OptionValues,
  option: "rule" | "skip",
  all: readonly ConformanceRule[],
): readonly string[] {
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

function targetOf(values: OptionValues, collections: readonly CheckedCollection[]): Target {
  const url = urlOf(required(values, "url"));
  // One that nobody has, so that the report hides no other text, where none is sent.
  const isOpen = collections.every((each) => "skipped" in each || each.contents.access.isOpen);
  const token = values.token === undefined && isOpen ? crypto.randomUUID() : required(values, "token");
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

function listLines(collections: readonly CheckedCollection[]): string[] {
  return collections.flatMap((each, index) => {
    const lines = "skipped" in each ? [`Not checked: ${each.skipped.message}`] : ruleLines(each.rules);
    return collections.length === 1 ? lines : [...(index === 0 ? [] : [""]), `${each.name}:`, ...lines];
  });
}

function ruleLines(chosen: readonly ConformanceRule[]): string[] {
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
  reports: readonly CollectionReport[],
  values: OptionValues,
  { print }: CommandContext,
): Promise<void> {
  const { json: path } = values;
  // Who names rules knows what is not checked.
  const unchecked = values.rule === undefined ? uncheckedLines(basesOf(values)) : [];
  const json = formatJsonReports(reports);
  await print(path === standardOutput ? [json] : [...formatTextReports(reports), ...unchecked]);
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
