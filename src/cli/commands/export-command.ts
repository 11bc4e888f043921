// plantstore export: prints plants as NDJSON or CSV, all of them or a selection, or writes a file for
// each collection.

import { appendFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { OperatorError } from "../../base/operator-error.ts";
import type { Collection, Plant } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { readPlants, readStoredPlants } from "../../plants/stored-plants.ts";
import { parseId } from "../../process/config/parsers.ts";
import type { Config } from "../../process/config/resolve.ts";
import { host } from "../../process/host.ts";
import { formatCount, printError, printStored, unwritten } from "../../process/output.ts";
import type { PlantStore } from "../../store/plant-store.ts";
import type { SqlConnection } from "../../store/sql-connection.ts";
import { fileNameOf } from "../../transfer/collection-files.ts";
import { exportText, exportTextWithCreation } from "../../transfer/export.ts";
import { PartialFile } from "../../transfer/partial-file.ts";
import { Progress } from "../../transfer/progress.ts";
import { withSettings } from "../command-options.ts";
import { chosenCollection } from "./collection-setting.ts";
import { assertFlags, flagOf, parseFieldFlags } from "./field-flags.ts";
import { withStore } from "./with-store.ts";

const settingNames = [
  "collection",
  "allFolder",
  "format",
  "sinceId",
  "withCreation",
  "quiet",
  "database",
] as const;
type ExportConfig = Config<(typeof settingNames)[number]>;

export function exportCommand(): Command {
  const command = new Command("export")
    .description("print resources, ordered by id")
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
    const run = config.allFolder === undefined ? exportPlants : exportAll;
    return withStore(config.database, "existing", (store) => run(store, config, args));
  });
}

async function exportPlants(store: PlantStore, config: ExportConfig, args: readonly string[]): Promise<void> {
  const collection = chosenCollection(store.contract, config.collection);
  const group = groupOf(collection, args);
  const sinceId = config.sinceId === undefined ? undefined : parseId(collection, config.sinceId);
  await using sql = await store.openSql();
  // The reader of a pipe may write to the same terminal.
  using progress = new Progress(config.quiet || !host().output.isFile ? undefined : host().error);
  const counted = { count: 0 };
  const texts = textsOf(collection, sql, config, { group, sinceId }, counted, progress);
  await printStored(texts, "the export", "run it again");
}

/** Writes a file for each collection. Rejects with an OperatorError if one is there already. */
async function exportAll(store: PlantStore, config: ExportConfig, args: readonly string[]): Promise<void> {
  const { allFolder: folder = "", format = "ndjson", quiet } = config;
  if ((config.collection ?? config.sinceId ?? args[0]) !== undefined)
    throw new OperatorError("--all exports every collection as a whole; leave the selection out", 2);
  const { collections } = store.contract;
  const pathOf = (each: Collection) => join(folder, `${fileNameOf(each)}.${format}`);
  const taken = collections.map(pathOf).find((path) => existsSync(path));
  if (taken !== undefined) throw new OperatorError(`${taken} exists already; name another folder with --all`);
  await using sql = await store.openSql();
  using progress = new Progress(quiet ? undefined : host().error);
  for (const collection of collections) {
    const path = pathOf(collection);
    const counted = { count: 0 };
    try {
      mkdirSync(folder, { recursive: true });
      await writeWhole(path, textsOf(collection, sql, config, {}, counted, progress));
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw unwritten(path, (error as NodeJS.ErrnoException).code, "run it again");
    }
    if (!quiet) printError(`${path}: ${formatCount(counted.count, collection.words)}`);
  }
}

/** An interrupted export leaves no file that looks whole. */
async function writeWhole(path: string, texts: AsyncIterable<string>): Promise<void> {
  using file = new PartialFile(path);
  // Bun's writeFile pads the texts of a generator with NUL bytes.
  for await (const text of texts) appendFileSync(file.path, text);
  file.rename();
}

/** The texts of an export, which count its plants. */
function textsOf(
  collection: Collection,
  sql: SqlConnection,
  { format = "ndjson", withCreation }: ExportConfig,
  selection: { readonly group?: string | undefined; readonly sinceId?: PlantId | undefined },
  counted: { count: number },
  progress: Progress,
): AsyncGenerator<string> {
  async function* counting<Read extends Plant>(plants: AsyncIterable<readonly Read[]>) {
    for await (const some of plants) {
      yield some;
      counted.count += some.length;
      progress.update(counted.count, undefined);
    }
  }
  return withCreation
    ? exportTextWithCreation(collection, counting(readStoredPlants(collection, sql, selection)), format, sql)
    : exportText(collection, counting(readPlants(collection, sql, selection)), format);
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
