// plantstore get ID: prints one plant as JSON.

import { Command } from "commander";
import { withSettings } from "../config/command-options.ts";
import { parseInt64 } from "../contract/int64.ts";
import { newPlantJson } from "../contract/plant.ts";
import { OperatorError } from "../operator-error.ts";
import { printLines } from "../output.ts";
import { withStore } from "./with-store.ts";

export function getCommand(): Command {
  const command = new Command("get")
    .description("print one plant as JSON; works while the server runs")
    .argument("<id>", "id of the plant, a 64-bit integer");
  return withSettings(command, ["database"], async ({ database }, text: string) => {
    const id = parseInt64(text);
    if (id === undefined)
      throw new OperatorError(`the id "${text}" is not a 64-bit integer such as 42 or -7`, 2);
    await withStore(database, "existing", async (store) => {
      const plant = await store.get(id);
      if (plant === undefined) throw new OperatorError(`there is no plant with the id ${id} in this store`);
      await printLines([newPlantJson(plant)]);
    });
  });
}
