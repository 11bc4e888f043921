// plantstore import FILE|-, or --all FOLDER: creates plants from CSV or JSON, and replaces them on request.

import { basename } from "node:path";
import { Command } from "commander";
import { OperatorError } from "../../base/operator-error.ts";
import { printable } from "../../base/terminal.ts";
import { databaseFlag } from "../../process/command-name.ts";
import type { Config } from "../../process/config/resolve.ts";
import { host } from "../../process/host.ts";
import { printError, printStoredLines } from "../../process/output.ts";
import { InterruptSignal } from "../../process/signals.ts";
import type { PlantStore } from "../../store/plant-store.ts";
import { keepsKeys } from "../../store/shared/create-key.ts";
import { type Content, formatOfName, openContent } from "../../transfer/content.ts";
import type { CsvHeader } from "../../transfer/csv.ts";
import { EncodingGuess } from "../../transfer/encoding.ts";
import { readRecords } from "../../transfer/file-format.ts";
import {
  type ImportCounts,
  type ImportOptions,
  importPlants,
  newCounts,
  StoreUnavailable,
} from "../../transfer/import.ts";
import { type ImportStore, importStore } from "../../transfer/import-store.ts";
import { dryStore, Replacement } from "../../transfer/import-update.ts";
import { Progress } from "../../transfer/progress.ts";
import { RejectedFile } from "../../transfer/rejections.ts";
import { openSource, type Source } from "../../transfer/source.ts";
import { withSettings } from "../command-options.ts";
import { findFiles } from "./collection-files.ts";
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

type OpenedFile = Content & Pick<Source, "fractionRead">;

/** Opens the content of a file once its store is open, as standard input may send nothing yet. */
async function openFile(
  { chunks, fractionRead }: Source,
  file: string,
  { format }: ImportConfig,
): Promise<OpenedFile> {
  const options = { name: nameOf(file), given: format, named: formatOfName(file) };
  return { ...(await openContent(chunks, options)), fractionRead };
}

function nameOf(file: string): string {
  return file === "-" ? "stdin" : file;
}

export function importCommand(): Command {
  const command = new Command("import")
    .description("create plants from CSV or JSON; resumable: run again after an interruption")
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
    async ({ contract }) => findFiles(contract, allFolder),
    { signal },
  );
  if (others.length > 0 && !quiet) printError(`not of a collection, and not imported: ${others.join(", ")}`);
  for (const each of files)
    try {
      await importFile({ ...config, collection: each.collection }, signal, each.file);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      throw new OperatorError(`${each.file}: ${error.message}`, error.exitCode);
    }
}

async function importFile(config: ImportConfig, signal: AbortSignal, file: string): Promise<void> {
  using source = openSource(file, signal, host().openInput);
  const run = config.dryRun ? runDry : runImport;
  await run(config, source, signal, file);
}

/** Says of which file a line is, where there are several. */
function withFile(line: string, { allFolder }: ImportConfig, file: string): string {
  return allFolder === undefined ? line : `${file}: ${line}`;
}

/** The outcomes of an import so far, and what it has found in its file. */
class ImportResult {
  readonly counts = newCounts();
  readonly encoding = new EncodingGuess();
  /** The columns that are not read. */
  ignored: readonly string[] = [];
}

/** Prints what an import would do, and the first differences. */
async function runDry(
  config: ImportConfig,
  source: Source,
  signal: AbortSignal,
  file: string,
): Promise<void> {
  const { database, importUpdate } = config;
  const dryRun = async (store: PlantStore) => {
    const collection = chosenCollection(store.contract, config.collection);
    await using read = await store.openSql();
    const replacement = importUpdate ? new Replacement(collection, read, undefined) : undefined;
    const result = new ImportResult();
    const opened = await openFile(source, file, config);
    const target = dryStore(collection, read);
    await importRecords(config, opened, target, result, { file, signal, replacement });
    if (signal.aborted) throw new OperatorError("interrupted; nothing was imported");
    const differences = replacement?.differences ?? [];
    const more = result.counts.replaced - differences.length;
    await printStoredLines([
      ...differences.map(
        ({ line, before, after }) =>
          `line ${line}, ${collection.words.one} ${after.id}: ${describeChange(collection, before.values, after.values)}`,
      ),
      ...(more > 0 ? [`and ${more.toLocaleString("en")} more`] : []),
      withFile(`dry run: ${formatCounts(result.counts, importUpdate)}${describeFile(result)}`, config, file),
    ]);
    if (result.counts.rejected > 0) host().setExitCode(someRejectedExitCode);
  };
  await withStore(database, "existing", dryRun, { signal });
}

async function runImport(
  config: ImportConfig,
  source: Source,
  signal: AbortSignal,
  file: string,
): Promise<void> {
  const { database, importUpdate, quiet } = config;
  const result = new ImportResult();
  const { counts } = result;
  let report: string | undefined;
  let runId: string | undefined;
  let unavailable: string | undefined;

  const importInto = async (store: PlantStore) => {
    const opened = await openFile(source, file, config);
    const collection = chosenCollection(store.contract, config.collection);
    const rejected = new RejectedFile(nameOf(file), collection, opened.format);
    try {
      await using read = importUpdate || keepsKeys(collection) ? await store.openSql() : undefined;
      const run = commandRun(store);
      runId = run.id;
      const replacement = importUpdate && read ? new Replacement(collection, read, run) : undefined;
      await importRecords(config, opened, importStore(store, collection, read), result, {
        file,
        signal,
        replacement,
        creators: store.tokens,
        rejected,
      });
    } finally {
      report = rejected.finish();
    }
  };
  const onUnavailable = (reason: string) => {
    if (unavailable === undefined)
      printError(`the store cannot be written: ${reason}; trying again for a minute`);
    unavailable = reason;
  };
  const summary = (soFar = "") => {
    const undo = `; "plantstore history --undo ${runId}${databaseFlag(config)}" brings back what was replaced`;
    const see = report === undefined ? "" : `; see ${report}`;
    return formatCounts(counts, importUpdate) + soFar + (counts.replaced === 0 ? "" : undo) + see;
  };
  const resumable = () => `${summary(" so far")}; run the same command again to continue`;
  try {
    await withStore(database, "writable", importInto, { signal, onUnavailable });
  } catch (error) {
    const isUnavailable = error instanceof StoreUnavailable;
    if (!isUnavailable && !(error instanceof OperatorError)) throw error;
    if (!signal.aborted && isUnavailable)
      throw new OperatorError(`the store could not be written for a minute: ${unavailable}; ${resumable()}`);
    if (!signal.aborted)
      throw countAll(counts) === 0 ? error : new OperatorError(`${error.message}; ${summary(" so far")}`);
  }
  if (signal.aborted) throw new OperatorError(`interrupted; ${resumable()}`);
  // Rejected records are an error, and columns that are not read probably a mistake: --quiet hides neither.
  if (!quiet || counts.rejected > 0 || result.ignored.length > 0)
    printError(withFile(summary() + describeFile(result), config, file));
  if (counts.rejected > 0) host().setExitCode(someRejectedExitCode);
}

/** Imports the records of a file into the result, and shows the progress. */
async function importRecords(
  { bodyBytesMax, importIdsFrom, importCreation: keepsCreations, quiet }: ImportConfig,
  { format, chunks, fractionRead }: OpenedFile,
  store: ImportStore,
  result: ImportResult,
  {
    file,
    rejected,
    ...options
  }: Pick<ImportOptions, "signal" | "replacement" | "creators"> & { file: string; rejected?: RejectedFile },
): Promise<void> {
  using progress = new Progress(quiet ? undefined : host().error);
  const { counts, encoding } = result;
  const onHeader = (header: CsvHeader) => {
    result.ignored = header.ignored;
    options.replacement?.onHeader(header);
    rejected?.report.onHeader(header);
  };
  const reading = { recordBytesMax: bodyBytesMax, encoding, onHeader, keepsCreations };
  const key = importIdsFrom ?? basename(nameOf(file));
  const records = readRecords(store.collection, format, chunks, reading, key);
  try {
    await importPlants(records, store, {
      ...options,
      counts,
      onRejected: (record) => rejected?.add(record),
      onBatch: () => progress.update(countAll(counts), fractionRead()),
    });
  } catch (error) {
    // Such as a header that is not UTF-8.
    if (!(error instanceof OperatorError)) throw error;
    throw new OperatorError(error.message + describeEncoding(encoding), error.exitCode);
  }
}

function countAll({ created, unchanged, replaced, rejected }: ImportCounts): number {
  return created + unchanged + replaced + rejected;
}

/** Adds to the counts that the file has no record, the columns not read, and its encoding. */
function describeFile({ counts, ignored, encoding }: ImportResult): string {
  const names = ignored.map((name) => printable(JSON.stringify(name)));
  return [
    countAll(counts) === 0 ? "; the file has no record" : "",
    names.length === 0
      ? ""
      : `; warning: ignored the column${names.length === 1 ? "" : "s"} ${names.join(", ")}`,
    describeEncoding(encoding),
  ].join("");
}

function describeEncoding({ advice }: EncodingGuess): string {
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
