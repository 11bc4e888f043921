// plantstore conformance: checks any server against the rules of the contract, and reports.

import { Command } from "commander";
import { description, help, options, runCommand } from "../../../packages/conformance/src/command.ts";
import { host } from "../../process/host.ts";
import { printLines } from "../../process/output.ts";

export function conformanceCommand(): Command {
  const command = new Command("conformance").description(description).addHelpText("after", `\n${help}`);
  for (const [option, description] of Object.entries(options)) command.option(option, description);
  return command.action(async () => {
    const given: Readonly<Record<string, string | true | undefined>> = command.opts();
    const values = Object.fromEntries(
      command.options.map((option) => [option.name(), given[option.attributeName()]]),
    );
    const { environment, setExitCode } = host();
    setExitCode(await runCommand(values, { environment, print: printLines }));
  });
}
