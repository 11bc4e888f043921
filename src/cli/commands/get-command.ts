// plantstore get ID: prints one plant as JSON.

import { Command } from "commander";
import { plantJson } from "../../core/contract/plant.ts";
import { OperatorError } from "../../core/operator-error.ts";
import { withCreationJson } from "../../operations/export.ts";
import { findPlants } from "../../operations/stored-plants.ts";
import { withSettings } from "../config/command-options.ts";
import { parseId } from "../config/parsers.ts";
import { printStoredLines } from "../process/output.ts";
import { chosenCollection } from "./collection-setting.ts";
import { noSuchPlant } from "./edit-plants.ts";
import { withStore } from "./with-store.ts";

export function getCommand(): Command {
  const command = new Command("get")
    .description("print one plant as JSON")
    .argument("<id>", "id of the plant");
  return withSettings(
    command,
    ["collection", "database", "withCreation"],
    async ({ collection: wanted, database, withCreation }, text: string) => {
      await withStore(database, "existing", async (store) => {
        const collection = chosenCollection(store.contract, wanted);
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
