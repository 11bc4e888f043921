// Runs the command on Node, as the program of the package @plantstore/conformance.

import { parseArgs } from "node:util";
import { version } from "../../../package.json";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { description, help, nameOf, type OptionValues, options, runCommand } from "./command.ts";

const name = "plantstore-conformance";

function helpText(): string {
  const width = Math.max(...Object.keys(options).map(({ length }) => length));
  const lines = Object.entries(options).map(([option, text]) => `  ${option.padEnd(width)}  ${text}`);
  return `Usage: ${name} --url <url> --token <token> [options]\n\n${description}\n\n${lines.join("\n")}\n\n${help}`;
}

type Arguments = OptionValues & { readonly help?: boolean; readonly version?: boolean };

function parse(): Arguments {
  const types = Object.keys(options).map((option) => [
    nameOf(option),
    { type: option.endsWith(">") ? "string" : "boolean" },
  ]);
  const switches = { help: { type: "boolean", short: "h" }, version: { type: "boolean" } };
  try {
    return parseArgs({ options: { ...Object.fromEntries(types), ...switches } }).values;
  } catch (error) {
    throw new OperatorError((error as Error).message, 2);
  }
}

async function print(lines: readonly string[]): Promise<void> {
  // Its reader may exit.
  process.stdout.on("error", () => undefined);
  process.stdout.write(`${lines.join("\n")}\n`);
}

async function main(): Promise<number> {
  const { help: isHelp, version: isVersion, ...values } = parse();
  if (isHelp === true || isVersion === true) {
    await print([isHelp === true ? helpText() : version]);
    return 0;
  }
  return runCommand(values, { environment: process.env, print });
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`${name}: ${error.message}\n`);
  process.exitCode = error.exitCode;
}
