// plantstore get ID: prints one plant as JSON.

import { Command } from "commander";
import { onlyCollection } from "../core/contract/contract.ts";
import { plantJson } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import { withCreationJson } from "../operations/export.ts";
import { findPlants } from "../operations/stored-plants.ts";
import { withSettings } from "./config/command-options.ts";
import { parseId } from "./config/parsers.ts";
import { noSuchPlant } from "./edit-plants.ts";
import { printStoredLines } from "./output.ts";
import { withStore } from "./with-store.ts";

export function getCommand(): Command {
  const command = new Command("get")
    .description("print one plant as JSON")
    .argument("<id>", "id of the plant");
  return withSettings(
    command,
    ["database", "withCreation"],
    async ({ database, withCreation }, text: string) => {
      await withStore(database, "existing", async (store) => {
        const collection = onlyCollection(store.contract);
        const id = parseId(collection, text);
        await using sql = await store.openSql();
        const plant = (await findPlants(collection, sql, [id])).get(id);
        if (plant === undefined) throw new OperatorError(noSuchPlant(collection, id));
        await printStoredLines([
          withCreation ? withCreationJson(collection, plant) : plantJson(collection, plant),
        ]);
      });
    },
  );
}
