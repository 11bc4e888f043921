// plantstore export: prints plants as NDJSON or CSV, all of them or a selection.

import { Command } from "commander";
import { groupField } from "../core/contract/fields.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { exportText } from "../operations/export.ts";
import { readPlants } from "../operations/stored-plants.ts";
import { withSettings } from "./config/command-options.ts";
import type { Config } from "./config/resolve.ts";
import { printStored } from "./output.ts";
import { withStore } from "./with-store.ts";

const settingNames = [
  "format",
  ...(groupField === undefined ? [] : (["group"] as const)),
  "sinceId",
  "withCreation",
  "database",
] as const;

export function exportCommand(): Command {
  const command = new Command("export").description("print plants, ordered by id").addHelpText(
    "after",
    `
A plant that is created or edited meanwhile is printed as it was or as it is.
To continue an interrupted export, give --since-id with the last id that was
printed. Ids are not ordered by time: a plant that was created later may have a
smaller id. CSV holds exactly what clients sent: import it into a spreadsheet
with all columns as text, or it evaluates names that begin with =, +, - or @,
and rounds ids of more than 15 digits.`,
  );
  return withSettings(command, settingNames, (config) =>
    withStore(config.database, "existing", (store) => exportPlants(store, config)),
  );
}

async function exportPlants(
  store: PlantStore,
  { format = "ndjson", group, sinceId, withCreation }: Config<(typeof settingNames)[number]>,
): Promise<void> {
  await using sql = await store.openSql();
  const texts = exportText(readPlants(sql, { group, sinceId }), format, withCreation);
  await printStored(texts, "the export", "run it again");
}
