// plantstore licenses: prints the licences of what an executable contains.

import { Command } from "commander";
import { OperatorError } from "../core/operator-error.ts";
import { licenses } from "./build-info.ts";
import { printLines } from "./output.ts";

export function licensesCommand(): Command {
  return new Command("licenses")
    .description("print the licences of this service and of every package in its executable")
    .action(async () => {
      if (licenses === undefined)
        throw new OperatorError(
          "this is not the single-file executable; the licences are in LICENSE and in node_modules/*/LICENSE",
        );
      await printLines([licenses.trimEnd()]);
    });
}
