// Reads settings from where no flag gives them: environment variables, files that _FILE variables
// name (as Docker and Kubernetes mount secrets), and the file that --config names.

import { readFileSync, statSync } from "node:fs";
import { parseEnv } from "node:util";
import { closestMatch } from "leven";
import { OperatorError } from "../../base/operator-error.ts";
import { decodeUtf8 } from "../../json/utf8.ts";
import { settings } from "./settings.ts";

/** The text of a setting, and where it was found. */
export interface RawValue {
  readonly text: string;
  /** flag, environment, config file, or the variable that names the file. */
  readonly source: string;
  /** The place that an error message names: a flag, a variable, or a file and its line. */
  readonly origin: string;
  /** Whether an error may quote the text; false for a file, which may be the wrong one. */
  readonly isQuotable: boolean;
}

/** Variables of the environment or of a configuration file. Every name is a setting's. */
export type Variables = ReadonlyMap<string, RawValue>;

const prefix = "PLANTSTORE_";
/** Variables of the command conformance and of the test suites. */
const otherNames = /^PLANTSTORE_(?:CONFORMANCE|TEST)_/;
const fileSuffix = "_FILE";
const configVariable = settings.config.environment;
const knownNames: ReadonlySet<string> = new Set(
  Object.values(settings).flatMap(({ environment: name }) =>
    name === configVariable ? [name] : [name, name + fileSuffix],
  ),
);

/** Throws an OperatorError for a variable that starts with PLANTSTORE_ and is not a setting. */
export function readEnvironment(environment: NodeJS.ProcessEnv): Variables {
  const variables = new Map<string, RawValue>();
  for (const [name, text = ""] of Object.entries(environment))
    if (name.startsWith(prefix) && !otherNames.test(name))
      variables.set(name, { text, source: "environment", origin: name, isQuotable: true });
  return assertKnown(variables);
}

/**
 * Reads a configuration file: an assignment per line, as in a .env file.
 *
 * @param origin The flag or variable that names the file.
 * @throws OperatorError with the number of the invalid line.
 */
export function readConfigFile(path: string, origin: string): Variables {
  const variables = parseAssignments(path, readText(path, origin));
  const config = variables.get(configVariable);
  if (config !== undefined)
    throw new OperatorError(`${config.origin} is not allowed in a configuration file`, 2);
  return assertKnown(variables);
}

/** The value of the variable NAME, or the content of the file that NAME_FILE names. */
export function lookup(variables: Variables, name: string): RawValue | undefined {
  const fileName = name + fileSuffix;
  const file = variables.get(fileName);
  if (file === undefined) return variables.get(name);
  const { text: path, source, origin } = file;
  return {
    text: readText(path, origin).replace(/\r?\n$/, ""),
    source: source === "environment" ? fileName : `${source}, ${fileName}`,
    origin: `${origin}: ${path}`,
    isQuotable: false,
  };
}

/** The limit that Kubernetes has for a Secret or ConfigMap. */
const fileBytesMax = 2 ** 20;

/** Reads a regular file: a pipe or a device may never end. */
function readText(path: string, origin: string): string {
  const error = (reason: string) => new OperatorError(`${origin}: ${path} ${reason}`, 2);
  if (path === "") throw new OperatorError(`${origin} is empty; it must name a file`, 2);
  try {
    const stat = statSync(path);
    if (!stat.isFile()) throw error("is not a regular file; is it the right path?");
    if (stat.size > fileBytesMax) throw error(`is larger than ${fileBytesMax} bytes; is it the right file?`);
    const text = decodeUtf8(readFileSync(path));
    if (text === undefined || text.includes("\0")) throw error("is not UTF-8 text; is it the right file?");
    return text;
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    // Node's message continues with the system call and the path.
    throw error(`cannot be read (${(cause as Error).message.split(",")[0]})`);
  }
}

/** The variables that a text assigns, one a line. */
function parseAssignments(path: string, text: string): Variables {
  const variables = new Map<string, RawValue>();
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const place = `${path}, line ${index + 1}`;
    const [assignment] = Object.entries(parseEnv(line));
    if (assignment === undefined)
      throw new OperatorError(`${place} is not NAME=value; put a value that contains # in single quotes`, 2);
    const [name, value = ""] = assignment;
    const origin = `${place}: ${name}`;
    if (variables.has(name)) throw new OperatorError(`${origin} is already set above`, 2);
    variables.set(name, { text: value, source: "config file", origin, isQuotable: true });
  }
  return variables;
}

function assertKnown(variables: Variables): Variables {
  for (const [name, { origin }] of variables) {
    if (!knownNames.has(name)) {
      const place = origin.slice(0, -name.length);
      throw new OperatorError(`${place}unknown setting ${name}; ${suggestion(name)}`, 2);
    }
    const fileName = name + fileSuffix;
    if (variables.has(fileName))
      throw new OperatorError(`${origin} and ${fileName} are both set; remove one of them`, 2);
  }
  return variables;
}

function suggestion(name: string): string {
  const nearest = closestMatch(name, [...knownNames], { maxDistance: 4 });
  return nearest === undefined
    ? '"plantstore config" prints the settings of the server'
    : `did you mean ${nearest}?`;
}
