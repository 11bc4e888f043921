// plantstore get ID: prints one plant as JSON.

import { Command } from "commander";
import { newPlantJson } from "../core/contract/plant.ts";
import { withSettings } from "./config/command-options.ts";
import { noSuchPlant, parseIdArgument } from "./id-argument.ts";
import { printStoredLines } from "./output.ts";
import { withStore } from "./with-store.ts";

export function getCommand(): Command {
  const command = new Command("get")
    .description("print one plant as JSON; works while the server runs")
    .argument("<id>", "id of the plant, a 64-bit integer");
  return withSettings(command, ["database"], async ({ database }, text: string) => {
    const id = parseIdArgument(text);
    await withStore(database, "existing", async (store) => {
      const plant = await store.get(id);
      if (plant === undefined) throw noSuchPlant(id);
      await printStoredLines([newPlantJson(plant)]);
    });
  });
}
