// The file that --config names: a variable a line, as in a .env file.

import { parseEnv } from "node:util";
import { OperatorError } from "../operator-error.ts";
import { settings } from "./settings.ts";
import { readTextFile } from "./text-file.ts";
import { judged, type Variables } from "./variables.ts";

// A backslash in double quotes, or in front of the last quote, means something else to each reader of such files.
const quoted = /"[^"\\]*"|'[^']*(?<!\\)'|`[^`]*(?<!\\)`/.source;
const unquoted = /[^\s"'`#][^\r\n\v\f#]*/.source;
const name = /(?:export[ \t]+)?([\w.-]{1,100})/.source;
const comment = /(?<!\S)#[^\r\n]*/.source;

/**
 * A line that the runtime's parseEnv reads as it was meant: an assignment, whose quoted value may go on in the next
 * lines, a comment, both or neither. parseEnv itself passes over what it cannot read, and takes half of `NAME=a#b`.
 */
const statement = new RegExp(
  String.raw`[ \t]*(?:${name}[ \t]*=[ \t]*(?:(?:${quoted})[ \t]*|${unquoted})?)?(?:${comment})?(?:\r?\n|$)`,
  "y",
);

/** Reads a configuration file that `by` named. Throws an OperatorError with the line that is wrong. */
export function readConfigFile(path: string, by: string): Variables {
  const text = readTextFile(path, by);
  const lines = linesOfNames(path, text);
  const values = new Map(Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? ""]));
  if (values.size !== lines.size) throw new Error("parseEnv did not read what stands in the lines");
  const named = (name: string) => `${path}, line ${lines.get(name)}: ${name}`;
  const { environment: config } = settings.config;
  if (values.has(config)) throw new OperatorError(`${named(config)} has no place in a configuration file`, 2);
  return judged({ source: "config file", values, named });
}

/** The line of each name that the text assigns. */
function linesOfNames(path: string, text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  let line = 1;
  for (let start = 0; start < text.length; start = statement.lastIndex) {
    statement.lastIndex = start;
    const [whole, name] = statement.exec(text) ?? [];
    if (whole === undefined) {
      throw new OperatorError(
        `${path}, line ${line} is not NAME=value; put a value that holds #, quotes or backslashes in single quotes`,
        2,
      );
    }
    if (name !== undefined) {
      const first = lines.get(name);
      if (first !== undefined)
        throw new OperatorError(`${path}, line ${line}: ${name} is set already, in line ${first}`, 2);
      lines.set(name, line);
    }
    line += whole.split("\n").length - 1;
  }
  return lines;
}
