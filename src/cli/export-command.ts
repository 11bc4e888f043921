// plantstore export: prints plants as NDJSON or CSV, all of them or a selection.

import { Command } from "commander";
import { type Collection, onlyCollection } from "../core/contract/contract.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { PlantStore } from "../core/store/plant-store.ts";
import { exportText } from "../operations/export.ts";
import { Progress } from "../operations/progress.ts";
import { readPlants } from "../operations/stored-plants.ts";
import { withSettings } from "./config/command-options.ts";
import { parseId } from "./config/parsers.ts";
import type { Config } from "./config/resolve.ts";
import { assertFlags, flagOf, parseFieldFlags } from "./field-flags.ts";
import { host } from "./host.ts";
import { printStored } from "./output.ts";
import { withStore } from "./with-store.ts";

const settingNames = ["format", "sinceId", "withCreation", "quiet", "database"] as const;

export function exportCommand(): Command {
  const command = new Command("export")
    .description("print plants, ordered by id")
    .argument("[group...]", "export only those of a group, as --FIELD VALUE, such as --tag tree")
    .allowUnknownOption()
    .addHelpText(
      "after",
      `
A plant that is created or edited meanwhile is printed as it was or as it is.
To continue an interrupted export, give --since-id with the last id that was
printed. Ids are not ordered by time: a plant that was created later may have a
smaller id. CSV holds exactly what clients sent: import it into a spreadsheet
with all columns as text, or it evaluates names that begin with =, +, - or @,
and rounds ids of more than 15 digits.`,
    );
  return withSettings(command, settingNames, (config, args: string[]) => {
    assertFlags(args);
    return withStore(config.database, "existing", (store) => exportPlants(store, config, args));
  });
}

async function exportPlants(
  store: PlantStore,
  { format = "ndjson", sinceId, withCreation, quiet }: Config<(typeof settingNames)[number]>,
  args: readonly string[],
): Promise<void> {
  const collection = onlyCollection(store.contract);
  const group = groupOf(collection, args);
  await using sql = await store.openSql();
  const since = sinceId === undefined ? undefined : parseId(collection, sinceId);
  const selection = { group, sinceId: since, withCreation };
  // The reader of a pipe may write to the same terminal.
  using progress = new Progress(quiet || !host().output.isFile ? undefined : host().error);
  async function* plants() {
    let count = 0;
    for await (const some of readPlants(collection, sql, selection)) {
      yield some;
      count += some.length;
      progress.update(count, undefined);
    }
  }
  const texts = exportText(collection, plants(), format, withCreation);
  await printStored(texts, "the export", "run it again");
}

/** The value of the group that is exported; undefined for all. */
function groupOf(collection: Collection, args: readonly string[]): string | undefined {
  const [flag, ...more] = parseFieldFlags(collection, args);
  if (flag === undefined) return undefined;
  const { groupField, words } = collection;
  if (flag.field === groupField && !flag.isRemoved && more.length === 0) return flag.text;
  const advice =
    groupField === undefined ? `${words.many} have no group` : `only --${flagOf(groupField)} selects, once`;
  throw new OperatorError(`--${flagOf(flag.field)} cannot be used here: ${advice}`, 2);
}
