// plantstore get ID: prints one plant as JSON.

import { Command } from "commander";
import { OperatorError } from "../../base/operator-error.ts";
import { plantJson } from "../../contract/plant.ts";
import { creatorNames } from "../../plants/stored-plants.ts";
import { parseId } from "../../process/config/parsers.ts";
import { printStoredLines } from "../../process/output.ts";
import { findPlants } from "../../store/shared/plant-rows.ts";
import { withCreationJson } from "../../transfer/export.ts";
import { withSettings } from "../command-options.ts";
import { chosenCollection } from "./collection-setting.ts";
import { noSuchPlant } from "./edit-plants.ts";
import { withStore } from "./with-store.ts";

export function getCommand(): Command {
  const command = new Command("get")
    .description("print one resource as JSON")
    .argument("<id>", "id of the resource");
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
          withCreation
            ? withCreationJson(collection, plant, await creatorNames(sql, [plant]))
            : plantJson(collection, plant),
        ]);
      });
    },
  );
}
