// Settings given as variables, in the environment or in a configuration file: NAME holds the value, or NAME_FILE
// names a file that does, as Docker and Kubernetes mount secrets.

import { closestMatch } from "leven";
import { OperatorError } from "../operator-error.ts";
import { dropKubernetesServiceLinks } from "./kubernetes-service-links.ts";
import { settings } from "./settings.ts";
import { readTextFile } from "./text-file.ts";

export interface Variables {
  /** As `plantstore config` names this source. */
  readonly source: "environment" | "config file";
  readonly values: ReadonlyMap<string, string>;
  /** How an error names one of them. */
  readonly named: (name: string) => string;
}

/** The text that a setting was given. */
export interface Given {
  readonly text: string;
  /** As `plantstore config` names it. */
  readonly source: string;
  /** How an error names what gave it. */
  readonly by: string;
  /** Whether the text may be repeated in an error; a file may have been taken for another. */
  readonly isRepeatable: boolean;
}

const prefix = "PLANTSTORE_";
const configVariable = settings.config.environment;
const plainNames = Object.values(settings).map(({ environment }) => environment);
const knownNames = new Set([
  ...plainNames,
  ...plainNames.filter((name) => name !== configVariable).map(fileVariable),
]);

/** The settings in an environment. Throws an OperatorError if it holds what looks like one and is none. */
export function environmentVariables(environment: NodeJS.ProcessEnv): Variables {
  const own = new Map<string, string>();
  for (const [name, value] of Object.entries(environment)) {
    // PLANTSTORE_TEST_… are told to the test suites.
    if (name.startsWith(prefix) && !name.startsWith(`${prefix}TEST_`)) own.set(name, value ?? "");
  }
  return judged({ source: "environment", values: dropKubernetesServiceLinks(own), named: (name) => name });
}

/** The variables themselves, if each is a setting and none is given twice; throws an OperatorError otherwise. */
export function judged(variables: Variables): Variables {
  const { values, named } = variables;
  for (const name of values.keys()) {
    if (!knownNames.has(name)) throw new OperatorError(`${named(name)} is no setting; ${adviceOn(name)}`, 2);
    const file = fileVariable(name);
    if (values.has(file))
      throw new OperatorError(`${named(name)} and ${file} are both set; keep one of them`, 2);
  }
  return variables;
}

/** What the variables give for a setting; undefined if nothing. Throws an OperatorError if its file cannot be read. */
export function givenBy({ source, values, named }: Variables, name: string): Given | undefined {
  const text = values.get(name);
  if (text !== undefined) return { text, source, by: named(name), isRepeatable: true };
  const file = fileVariable(name);
  const path = values.get(file);
  if (path === undefined) return undefined;
  return {
    text: readTextFile(path, named(file)).replace(/\r?\n$/, ""),
    source: source === "environment" ? file : `${source}, ${file}`,
    by: `${named(file)}: ${path}`,
    isRepeatable: false,
  };
}

function fileVariable(name: string): string {
  return `${name}_FILE`;
}

function adviceOn(name: string): string {
  const full = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
  const nearest = nearestName(full.startsWith(prefix) ? full : `${prefix}${full}`);
  return nearest === undefined ? '"plantstore config" shows those of the server' : `did you mean ${nearest}?`;
}

function nearestName(name: string): string | undefined {
  // Two slips for a short name, such as PROT for PORT, and one for every three letters of a long one.
  const maxDistance = Math.max(2, Math.floor((name.length - prefix.length) / 3));
  const nearest = closestMatch(name.replace(/_FILE$/, ""), plainNames, { maxDistance });
  if (nearest === undefined) return closestMatch(name, [...knownNames], { maxDistance });
  const file = fileVariable(nearest);
  return name.endsWith("_FILE") && knownNames.has(file) ? file : nearest;
}
