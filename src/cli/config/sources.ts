// The sources of settings other than flags: environment variables, files that _FILE variables name
// (as Docker and Kubernetes mount secrets), and the file that --config names.

import { closeSync, openSync, readSync } from "node:fs";
import { parseEnv } from "node:util";
import { closestMatch } from "leven";
import { decodeUtf8 } from "../../core/contract/utf8.ts";
import { OperatorError } from "../../core/operator-error.ts";
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

/** Returns at most the first `bytesMax` bytes of a file. Throws the system's error. */
export type ReadFile = (path: string, bytesMax: number) => Uint8Array;

const prefix = "PLANTSTORE_";
/** Variables of the command conformance and of the test suites. */
const otherNames = /^PLANTSTORE_(?:CONFORMANCE|TEST)_/;
const fileSuffix = "_FILE";
const configVariable = settings.config.environment;
const variableNames = Object.values(settings).map(({ environment }) => environment);
const fileVariableNames = variableNames
  .filter((name) => name !== configVariable)
  .map((name) => name + fileSuffix);
const knownNames: ReadonlySet<string> = new Set([...variableNames, ...fileVariableNames]);

/** Throws an OperatorError for a variable that starts with PLANTSTORE_ and is not a setting. */
export function readEnvironment(environment: NodeJS.ProcessEnv): Variables {
  const ours = Object.entries(environment)
    .filter(([name]) => name.startsWith(prefix) && !otherNames.test(name))
    .map(([name, value]): [string, string] => [name, value ?? ""]);
  const variables = Array.from(withoutKubernetesLinks(new Map(ours)), ([name, text]) => {
    return [name, { text, source: "environment", origin: name, isQuotable: true }] as const;
  });
  return assertKnown(new Map(variables));
}

/**
 * Reads a configuration file: an assignment per line, as in a .env file.
 *
 * @param origin The flag or variable that names the file.
 * @throws OperatorError with the number of the invalid line.
 */
export function readConfigFile(path: string, origin: string, readFile: ReadFile): Variables {
  const variables = parseAssignments(path, readText(path, origin, readFile));
  const config = variables.get(configVariable);
  if (config !== undefined)
    throw new OperatorError(`${config.origin} is not allowed in a configuration file`, 2);
  return assertKnown(variables);
}

/** The value of the variable NAME, or the content of the file that NAME_FILE names. */
export function lookup(variables: Variables, name: string, readFile: ReadFile): RawValue | undefined {
  const fileName = name + fileSuffix;
  const file = variables.get(fileName);
  if (file === undefined) return variables.get(name);
  const { text: path, source, origin } = file;
  return {
    text: readText(path, origin, readFile).replace(/\r?\n$/, ""),
    source: source === "environment" ? fileName : `${source}, ${fileName}`,
    origin: `${origin}: ${path}`,
    isQuotable: false,
  };
}

/** Reads up to the limit, so that an endless device such as /dev/zero ends, and pipes work. */
export const readFileSystem: ReadFile = (path, bytesMax) => {
  const bytes = new Uint8Array(bytesMax);
  const file = openSync(path, "r");
  try {
    let length = 0;
    for (let read = -1; read !== 0; length += read)
      read = readSync(file, bytes, length, bytesMax - length, null);
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
};

/** The limit that Kubernetes has for a Secret or ConfigMap. */
const fileBytesMax = 2 ** 20;

function readText(path: string, origin: string, readFile: ReadFile): string {
  const error = (reason: string) => new OperatorError(`${origin}: ${path} ${reason}`, 2);
  if (path === "") throw new OperatorError(`${origin} is empty; it must name a file`, 2);
  let bytes: Uint8Array;
  try {
    bytes = readFile(path, fileBytesMax + 1);
  } catch (cause) {
    // Node's message continues with the system call and the path.
    throw error(`cannot be read (${(cause as Error).message.split(",")[0]})`);
  }
  if (bytes.length > fileBytesMax) throw error(`is larger than ${fileBytesMax} bytes; is it the right file?`);
  const text = decodeUtf8(bytes);
  if (text === undefined || text.includes("\0")) throw error("is not UTF-8 text; is it the right file?");
  return text;
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
  const upperCase = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
  const nearest = nearestName(upperCase.startsWith(prefix) ? upperCase : prefix + upperCase);
  return nearest === undefined
    ? '"plantstore config" prints the settings of the server'
    : `did you mean ${nearest}?`;
}

function nearestName(name: string): string | undefined {
  // Two edits for a short name, such as PROT for PORT, and one for every three letters beyond.
  const maxDistance = Math.max(2, Math.floor((name.length - prefix.length) / 3));
  const nearest = closestMatch(name.replace(/_FILE$/, ""), variableNames, { maxDistance });
  if (nearest === undefined) return closestMatch(name, [...knownNames], { maxDistance });
  const fileName = nearest + fileSuffix;
  return name.endsWith(fileSuffix) && knownNames.has(fileName) ? fileName : nearest;
}

/**
 * Drops the variables that Kubernetes sets in every pod for a Service named plantstore, such as
 * PLANTSTORE_PORT=tcp://10.96.0.12:8080.
 */
function withoutKubernetesLinks(variables: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const services = [...variables.keys()]
    .filter((name) => name.endsWith("_SERVICE_HOST"))
    .map((name) => name.slice(0, -"_SERVICE_HOST".length))
    .filter((service) => variables.has(`${service}_SERVICE_PORT`));
  const isLinkOf = (service: string, name: string, value: string) =>
    name.startsWith(`${service}_`) && isKubernetesLink(name.slice(service.length + 1), value);
  return new Map(
    [...variables].filter(([name, value]) => !services.some((service) => isLinkOf(service, name, value))),
  );
}

/** Whether a variable has one of the kubelet's names (Kubernetes documentation, "Service"). */
function isKubernetesLink(suffix: string, value: string): boolean {
  if (/^SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(suffix)) return true;
  if (/^PORT_\d+_(?:TCP|UDP|SCTP)_(?:PROTO|PORT|ADDR)$/.test(suffix)) return true;
  // Kubernetes does not overwrite a PLANTSTORE_PORT that the pod sets itself.
  return /^PORT(?:_\d+_(?:TCP|UDP|SCTP))?$/.test(suffix) && /^(?:tcp|udp|sctp):\/\//.test(value);
}
