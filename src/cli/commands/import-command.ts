// plantstore import FILE|-, or --all FOLDER: creates plants from CSV or JSON, and replaces them on request.

import { basename } from "node:path";
import { Command } from "commander";
import { listed } from "../../base/listed.ts";
import { OperatorError } from "../../base/operator-error.ts";
import { printable } from "../../base/terminal.ts";
import type { Collection } from "../../contract/contract.ts";
import { databaseFlag } from "../../process/command-name.ts";
import type { Config } from "../../process/config/resolve.ts";
import { host } from "../../process/host.ts";
import { printError, printStoredLines } from "../../process/output.ts";
import { InterruptSignal } from "../../process/signals.ts";
import type { PlantStore } from "../../store/plant-store.ts";
import { ContractChanged } from "../../store/shared/plant-edit.ts";
import { findFiles } from "../../transfer/collection-files.ts";
import { formatOfName } from "../../transfer/content.ts";
import { type ImportCounts, newCounts, StoreUnavailable } from "../../transfer/import.ts";
import { ImportJob } from "../../transfer/import-job.ts";
import { Progress } from "../../transfer/progress.ts";
import { RejectedFile } from "../../transfer/rejections.ts";
import { openSource } from "../../transfer/source.ts";
import { withSettings } from "../command-options.ts";
import { chosenCollection } from "./collection-setting.ts";
import { describeChange } from "./describe-change.ts";
import { commandRun } from "./edit-plants.ts";
import { withStore } from "./with-store.ts";

/** The exit code of an import that rejected some records. */
const someRejectedExitCode = 3;

const settingNames = [
  "collection",
  "allFolder",
  "format",
  "importIdsFrom",
  "importUpdate",
  "importCreation",
  "dryRun",
  "quiet",
  "database",
  "bodyBytesMax",
] as const;
type ImportConfig = Config<(typeof settingNames)[number]>;

export function importCommand(): Command {
  const command = new Command("import")
    .description("create resources from CSV or JSON; resumable: run again after an interruption")
    .argument("[file]", "the file, or - for standard input")
    .addHelpText(
      "after",
      `
With --update a record replaces the stored plant of its id; --dry-run shows what
would change, and "plantstore history --undo RUN" restores the replaced plants.

Rejected CSV records go to FILE.rejected.csv, with their columns and the reason;
once corrected, that file can be imported. Rejected JSON records go to
FILE.rejected.ndjson, with line, error and text. The exit code is then 3. If a
report has that name already, the next is FILE.rejected.2.csv, and so on.

JSON is a record a line, an array of records, or records one after another.

The first line of CSV names the columns, which are those of an export, in any
case and order; an empty cell means that there is no such field, and "" an empty
text.

With --with-creation each resource keeps the time and the token of its creation,
which "export --with-creation" has written; one that is stored already keeps its
own. A record without a valid time is rejected.

--all FOLDER imports a file for each collection, such as parcels.csv.`,
    );
  return withSettings(command, settingNames, async (config, file?: string) => {
    using interrupt = new InterruptSignal();
    if ((file === undefined) === (config.allFolder === undefined))
      throw new OperatorError("give the file to import, or a folder of files with --all", 2);
    if (file === undefined) await importAll(config, interrupt.signal);
    else await importFile(config, interrupt.signal, file);
  });
}

/** Imports the files of a folder, one after the other, until one fails. */
async function importAll(config: ImportConfig, signal: AbortSignal): Promise<void> {
  const { database, allFolder = "", collection, importIdsFrom, quiet } = config;
  if ((collection ?? importIdsFrom) !== undefined)
    throw new OperatorError("--all imports every collection, without --collection and --key", 2);
  const { files, others } = await withStore(
    database,
    "existing",
    async ({ contract }) => findFiles(contract.collections, allFolder, "--all"),
    { signal },
  );
  if (others.length > 0 && !quiet) printError(`not of a collection, and not imported: ${others.join(", ")}`);
  for (const each of files)
    try {
      await importFile({ ...config, collection: each.collection.name }, signal, each.file);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      throw new OperatorError(`${each.file}: ${error.message}`, error.exitCode);
    }
}

/** Imports a file, or prints what that would do, and the first differences. */
async function importFile(config: ImportConfig, signal: AbortSignal, file: string): Promise<void> {
  const { database, importUpdate, dryRun: isDry, quiet, format: given } = config;
  using source = openSource(file, signal, host().openInput);
  const name = file === "-" ? "stdin" : file;
  let job: ImportJob | undefined;
  let undo = "";
  let report: string | undefined;
  let unavailable: string | undefined;
  const contractChanged = new ContractChanged();

  const importInto = async (store: PlantStore) => {
    const collection = chosenCollection(store.contract, config.collection);
    const run = commandRun(store);
    undo = `; "plantstore history --undo ${run.id}${databaseFlag(config)}" brings back what was replaced`;
    using progress = new Progress(quiet ? undefined : host().error);
    await using resources = new AsyncDisposableStack();
    const rejected = isDry ? undefined : new RejectedFile(name);
    const importing = new ImportJob({
      collection,
      async create(batch, createdAt) {
        const outcomes = await store.create(batch, createdAt);
        // Records that were read by the former contract are never stored.
        if (unavailable === contractChanged.message) throw contractChanged;
        return outcomes;
      },
      openSql: async () => resources.use(await store.openSql()),
      run: importUpdate ? run : undefined,
      isDry,
      recordBytesMax: config.bodyBytesMax,
      key: config.importIdsFrom ?? basename(name),
      creators: config.importCreation ? store.tokens : undefined,
      onRejected: rejected?.add,
      onBatch: () => progress.update(countAll(importing.counts), source.fractionRead()),
      signal,
    });
    job = importing;
    try {
      await importing.run(source.chunks, { name, given, named: formatOfName(file) });
    } finally {
      report = rejected?.finish();
    }
    if (isDry && !signal.aborted) await printDifferences(collection, importing);
  };
  const onUnavailable = (reason: string) => {
    if (unavailable === undefined && reason !== contractChanged.message)
      printError(`the store cannot be written: ${reason}; trying again for a minute`);
    unavailable = reason;
  };
  /** The counts, and what to do with what was replaced and rejected. */
  const summary = (soFar = "") => {
    const counts = job?.counts ?? newCounts();
    const see = report === undefined ? "" : `; see ${report}`;
    return formatCounts(counts, importUpdate) + soFar + (counts.replaced === 0 || isDry ? "" : undo) + see;
  };
  const resumable = () =>
    isDry ? "nothing was imported" : `${summary(" so far")}; run the same command again to continue`;
  try {
    await withStore(database, isDry ? "existing" : "writable", importInto, { signal, onUnavailable });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    if (!signal.aborted && error instanceof StoreUnavailable)
      throw new OperatorError(`the store could not be written for a minute: ${unavailable}; ${resumable()}`);
    // Such as a header that is not UTF-8.
    const message = error.message + describeEncoding(job);
    const isBegun = !isDry && job !== undefined && countAll(job.counts) > 0;
    if (!signal.aborted)
      throw new OperatorError(isBegun ? `${message}; ${summary(" so far")}` : message, error.exitCode);
  }
  if (signal.aborted || job === undefined) throw new OperatorError(`interrupted; ${resumable()}`);
  const { counts, ignored } = job;
  const place = config.allFolder === undefined ? "" : `${file}: `;
  const line = `${place}${isDry ? "dry run: " : ""}${summary()}${describeFile(job)}`;
  if (isDry) await printStoredLines([line]);
  // Rejected records are an error, and columns that are not read probably a mistake: --quiet hides neither.
  else if (!quiet || counts.rejected > 0 || ignored.length > 0) printError(line);
  if (counts.rejected > 0) host().setExitCode(someRejectedExitCode);
}

/** Prints the first plants that would be replaced. */
async function printDifferences(
  collection: Collection,
  { differences, counts: { replaced } }: ImportJob,
): Promise<void> {
  const more = replaced - differences.length;
  await printStoredLines([
    ...differences.map(
      ({ line, before, after }) =>
        `line ${line}, ${collection.words.one} ${after.id}: ${describeChange(collection, before.values, after.values)}`,
    ),
    ...(more > 0 ? [`and ${more.toLocaleString("en")} more`] : []),
  ]);
}

function countAll({ created, unchanged, replaced, rejected }: ImportCounts): number {
  return created + unchanged + replaced + rejected;
}

/** Adds to the counts that the file has no record, the columns not read, and its encoding. */
function describeFile(job: ImportJob): string {
  const { counts, ignored } = job;
  const names = ignored.map((name) => printable(JSON.stringify(name)));
  return [
    countAll(counts) === 0 ? "; the file has no record" : "",
    names.length === 0
      ? ""
      : `; warning: ignored the column${names.length === 1 ? "" : "s"} ${listed(names)}`,
    describeEncoding(job),
  ].join("");
}

function describeEncoding(job: ImportJob | undefined): string {
  const advice = job?.encoding.advice;
  return advice === undefined ? "" : `; ${advice}`;
}

function formatCounts({ created, unchanged, replaced, rejected }: ImportCounts, isUpdate: boolean): string {
  const counts = [
    [created, "created"],
    ...(isUpdate ? [[replaced, "replaced"] as const] : []),
    [unchanged, "already stored"],
    [rejected, "rejected"],
  ] as const;
  return counts.map(([count, name]) => `${count.toLocaleString("en")} ${name}`).join(", ");
}
