// plantstore delete ID…: deletes plants.

import { Command } from "commander";
import { withSettings } from "../command-options.ts";
import { replacePlants } from "./edit-plants.ts";

export function deleteCommand(): Command {
  const command = new Command("delete")
    .description("delete resources")
    .argument("<ids...>", "ids of the resources")
    .addHelpText(
      "after",
      `
A later create with the id of a deleted plant creates it. "plantstore history"
shows what was deleted, and undoes it.`,
    );
  return withSettings(command, ["collection", "database"], (config, ids: string[]) =>
    replacePlants(config, ids, () => () => undefined),
  );
}
