// plantstore get ID: one plant as JSON.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { parseInt64 } from "../contract/int64.ts";
import { newPlantJson } from "../contract/plant.ts";
import { OperatorError } from "../operator-error.ts";
import { printError, printLines, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";

export function getCommand(): Command {
  const command = new Command("get")
    .description("print one plant as JSON; works while the server runs")
    .argument("<id>", "the plant's id, an integer of 64 bits");
  return withSettings(command, ["database"]).action(async (text: string) => {
    const id = parseInt64(text);
    if (id === undefined) {
      throw new OperatorError(
        `the id "${text}" is no integer of 64 bits; give its digits, such as 42 or -7`,
        2,
      );
    }
    const store = await openStore(settingOf(command, "database"), "existing", printError, {
      report: tellWaiting,
    });
    try {
      const plant = await store.get(id);
      if (plant === undefined) throw new OperatorError(`there is no plant with the id ${id} in this store`);
      await printLines([newPlantJson(plant)]);
    } finally {
      await store.close();
    }
  });
}
