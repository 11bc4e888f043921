// plantstore delete ID…: deletes plants.

import { Command } from "commander";
import { OperatorError } from "../core/operator-error.ts";
import { withSettings } from "./config/command-options.ts";
import { editPlants } from "./edit-plants.ts";
import { parseIdArgument } from "./id-argument.ts";
import { printError } from "./output.ts";

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
    let failures = 0;
    await editPlants(database, async (edit) => {
      for (const id of ids) {
        try {
          await edit(id, () => undefined);
        } catch (error) {
          // A missing plant does not stop the others; a store that cannot be changed does.
          if (!(error instanceof OperatorError) || ids.length === 1) throw error;
          failures++;
          printError(`plantstore: ${error.message}`);
        }
      }
    });
    if (failures > 0)
      throw new OperatorError(
        `${failures} of ${ids.length} plants were not deleted; the lines above say why`,
      );
  });
}
