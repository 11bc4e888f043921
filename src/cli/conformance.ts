// plantstore conformance: checks any server against the rules of the contract, and reports.

import { Command, Option } from "commander";
import {
  CommandError,
  description,
  help,
  type OptionName,
  options,
  runCommand,
} from "../conformance/command.ts";
import { textStyle } from "../core/observability/terminal.ts";
import { OperatorError } from "../core/operator-error.ts";
import { host } from "./host.ts";
import { printLines } from "./output.ts";

export function conformanceCommand(): Command {
  const command = new Command("conformance").description(description).addHelpText("after", `\n${help}`);
  const flags = Object.entries(options).map(([name, { description, ...rest }]) => {
    const argument = "argument" in rest ? ` <${rest.argument}>` : "";
    return { name: name as OptionName, flag: new Option(`--${name}${argument}`, description) };
  });
  for (const { flag } of flags) command.addOption(flag);
  return command.action(async () => {
    const given: Readonly<Record<string, string | true | undefined>> = command.opts();
    const values = Object.fromEntries(flags.map(({ name, flag }) => [name, given[flag.attributeName()]]));
    const { environment, output, error: errorStream, setExitCode } = host();
    try {
      const exitCode = await runCommand(values, {
        environment,
        colours: textStyle(output.columns !== undefined, environment).colours,
        print: printLines,
        showProgress: errorStream.isTTY ? (text) => errorStream.write(`\r\x1b[K${text}`) : undefined,
      });
      setExitCode(exitCode);
    } catch (error) {
      throw error instanceof CommandError ? new OperatorError(error.message, error.exitCode) : error;
    }
  });
}
