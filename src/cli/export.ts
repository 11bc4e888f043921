// plantstore export: prints plants as NDJSON or CSV, all of them or a selection.

import { Command } from "commander";
import { groupField } from "../core/contract/fields.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { exportText } from "../operations/export.ts";
import { Progress } from "../operations/progress.ts";
import { countPlants, readPlants } from "../operations/stored-plants.ts";
import { withSettings } from "./config/command-options.ts";
import type { Config } from "./config/resolve.ts";
import { host } from "./host.ts";
import { formatCount, printError, printStored } from "./output.ts";
import { withStore } from "./with-store.ts";

const settingNames = [
  "format",
  ...(groupField === undefined ? [] : (["group"] as const)),
  "sinceId",
  "withCreation",
  "database",
  "quiet",
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
  return withSettings(command, settingNames, (config) => {
    const { database, quiet } = config;
    return withStore(database, "existing", (store) => exportPlants(store, config), { quiet });
  });
}

async function exportPlants(
  store: PlantStore,
  { format = "ndjson", group, sinceId, withCreation, quiet }: Config<(typeof settingNames)[number]>,
): Promise<void> {
  const selection = { group, sinceId };
  await using sql = await store.openSql("read");
  // Through a pipe, progress would mix with the output of its reader on the same terminal.
  const isQuiet = quiet || !host().output.isFile;
  const total = isQuiet ? undefined : await countPlants(sql, selection);
  let plants = 0;
  {
    using progress = new Progress(isQuiet ? undefined : host().error);
    async function* counted() {
      for await (const some of readPlants(sql, selection)) {
        yield some;
        plants += some.length;
        progress.update(plants, total === undefined ? undefined : Math.min(1, plants / total));
      }
    }
    await printStored(exportText(counted(), format, withCreation), "the export", "run it again");
  }
  if (!isQuiet) printError(`${formatCount(plants)} exported`);
}
