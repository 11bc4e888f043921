// plantstore delete ID…: deletes plants.

import { Command } from "commander";
import { OperatorError } from "../core/operator-error.ts";
import { withSettings } from "./config/command-options.ts";
import { editPlants } from "./edit-plants.ts";
import { parseIdArgument } from "./id-argument.ts";

export function deleteCommand(): Command {
  const command = new Command("delete")
    .description("delete plants, and log each with its time and user to standard error")
    .argument("<ids...>", "ids of the plants, 64-bit integers")
    .addHelpText(
      "after",
      `
A later create with the id of a deleted plant creates it. "plantstore history"
shows what was deleted, and undoes it.`,
    );
  return withSettings(command, ["database"], async ({ database }, ...positional: string[]) => {
    const ids = positional.flat().map(parseIdArgument);
    const left = await editPlants(database, ids, () => undefined);
    if (left > 0)
      throw new OperatorError(`${left} of ${ids.length} plants were not deleted; the lines above say why`);
  });
}
