// plantstore import FILE|-: creates plants from NDJSON or CSV, and replaces them on request.

import { statSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import { fieldNames } from "../core/contract/fields.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { CommandStore, PlantStore } from "../core/store/plant-store.ts";
import { type FormatName, formatOfFile, readRecords } from "../operations/format.ts";
import {
  type ImportCounts,
  type ImportOptions,
  importPlants,
  newCounts,
  StoreUnavailable,
} from "../operations/import.ts";
import { dryStore, Replacement } from "../operations/import-update.ts";
import { Progress } from "../operations/progress.ts";
import { RejectedFile } from "../operations/rejections.ts";
import { openSource, type Source } from "../operations/source.ts";
import { withSettings } from "./config/command-options.ts";
import type { Config } from "./config/resolve.ts";
import { describeChange } from "./describe-change.ts";
import { newEditRun } from "./edit-plants.ts";
import { host } from "./host.ts";
import { formatCount, printError, printStoredLines } from "./output.ts";
import { InterruptSignal } from "./signals.ts";
import { withStore } from "./with-store.ts";

/** The exit code of an import that rejected some records. */
const someRejectedExitCode = 3;

const settingNames = [
  "format",
  "delimiter",
  "importUpdate",
  "dryRun",
  "yes",
  "database",
  "quiet",
  "bodyBytesMax",
] as const;
type GivenConfig = Config<(typeof settingNames)[number]>;
type ImportConfig = GivenConfig & { readonly format: FormatName };

export function importCommand(): Command {
  const command = new Command("import")
    .description("create plants from NDJSON or CSV; resumable: run again after an interruption")
    .argument("<file>", "the file, or - for standard input")
    .addHelpText(
      "after",
      `
With --update a record replaces the stored plant of its id, after a dry run and a
question, or at once with --yes; "plantstore history --undo RUN" restores the
replaced plants.

Rejected CSV records go to FILE.rejected.csv, with their columns and the reason;
once corrected, that file can be imported. Rejected NDJSON records go to
FILE.rejected.ndjson, with line, error and text. The exit code is then 3. If a
report has that name already, the next is FILE.rejected.2.csv, and so on.

The first line of CSV names the columns ${["id", ...fieldNames].join(", ")},
in any case; an empty cell means that the plant does not have the field, and ""
an empty text.`,
    );
  return withSettings(command, settingNames, importFile);
}

async function importFile(given: GivenConfig, file: string): Promise<void> {
  const { importUpdate, dryRun, yes } = given;
  using interrupt = new InterruptSignal();
  const { signal } = interrupt;
  if (importUpdate && !dryRun && !yes && !(canBeReadTwice(file) && host().error.isTTY && process.stdin.isTTY))
    throw new OperatorError(
      "--update reads a file twice and asks on a terminal in between, which is not possible here: give --yes, or --dry-run to see what it would do",
      2,
    );
  const config = { ...given, format: given.format ?? formatOfFile(file) };
  if (dryRun || (importUpdate && !yes)) {
    const { replaced } = await printDryRun(config, file, signal);
    if (dryRun) return;
    if (replaced > 0 && !(await confirm(replaced, signal))) throw new OperatorError("nothing was imported");
  }
  await importInto(config, file, signal);
}

/** Unlike a pipe; true for a missing file, which is another error. */
function canBeReadTwice(file: string): boolean {
  return file !== "-" && statSync(file, { throwIfNoEntry: false })?.isFile() !== false;
}

/** Prints what an import would do, and the first differences. */
async function printDryRun(config: ImportConfig, file: string, signal: AbortSignal): Promise<ImportCounts> {
  const { database, quiet, importUpdate } = config;
  using source = openSource(file, signal, host().openInput);
  const dryRun = async (store: CommandStore) => {
    await using read = await store.openSql("read");
    const replacement = new Replacement(read, undefined);
    const counts = newCounts();
    await importRecords(config, source, dryStore(read), {
      counts,
      signal,
      replacement: importUpdate ? replacement : undefined,
      onRejected: () => undefined,
    });
    if (signal.aborted) throw new OperatorError("interrupted; nothing was imported");
    const { differences } = replacement;
    const more = counts.replaced - differences.length;
    await printStoredLines([
      ...differences.map(
        ({ line, before, after }) => `line ${line}, plant ${after.id}: ${describeChange(before, after)}`,
      ),
      ...(more > 0 ? [`and ${more.toLocaleString("en")} more`] : []),
      `dry run: ${formatCounts(counts, importUpdate)}`,
    ]);
    if (counts.rejected > 0) host().setExitCode(someRejectedExitCode);
    return counts;
  };
  return await withStore(database, "existing", dryRun, { quiet, signal });
}

/** Asks on the terminal whether to replace plants. */
async function confirm(plants: number, signal: AbortSignal): Promise<boolean> {
  // Without readline's terminal mode, Ctrl+C stays a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  // The question itself is never settled if the input ends.
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    const question = `Replace ${formatCount(plants)} in the store? [y/N] `;
    const answer = await Promise.race([lines.question(question, { signal }), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  } finally {
    lines.close();
  }
}

async function importInto(config: ImportConfig, file: string, signal: AbortSignal): Promise<void> {
  const { database, quiet, importUpdate, delimiter, format } = config;
  const counts = newCounts();
  let report: string | undefined;
  let runId: string | undefined;
  let isOpen = false;
  let unavailable = "";
  const summary = (soFar = "") => {
    const undo = `; "plantstore history --undo ${runId}" brings back what was replaced`;
    const see = report === undefined ? "" : `; see ${report}`;
    return formatCounts(counts, importUpdate) + soFar + (counts.replaced === 0 ? "" : undo) + see;
  };
  const resumable = () => `${summary(" so far")}; run the same command again to continue`;

  using source = openSource(file, signal, host().openInput);
  const importStore = async (store: CommandStore) => {
    isOpen = true;
    const rejectedFile = new RejectedFile(file === "-" ? "stdin" : file, format, delimiter);
    const options = { counts, signal, onRejected: rejectedFile.add };
    const importAll = (replacement?: Replacement) =>
      importRecords(config, source, store, { ...options, replacement }, rejectedFile.report.onHeader);
    try {
      if (!importUpdate) return await importAll();
      await using read = await store.openSql("read");
      const run = newEditRun(store);
      runId = run.id;
      await importAll(new Replacement(read, run));
    } finally {
      report = rejectedFile.finish();
    }
  };
  try {
    const onUnavailable = (reason: string) => {
      unavailable = reason;
    };
    await withStore(database, "writable", importStore, { quiet, signal, onUnavailable });
  } catch (error) {
    if (error instanceof OperatorError && countAll(counts) > 0)
      throw new OperatorError(`${error.message}; ${summary(" so far")}`);
    const isUnavailable = error instanceof StoreUnavailable;
    const isWaitInterrupted = signal.aborted && (!isOpen || isUnavailable);
    if (!isWaitInterrupted && isUnavailable)
      throw new OperatorError(`the store could not be written for a minute: ${unavailable}; ${resumable()}`);
    if (!isWaitInterrupted) throw error;
  }
  if (signal.aborted) throw new OperatorError(`interrupted; ${resumable()}`);
  if (!quiet) printError(summary());
  // Its name may have a number.
  else if (report !== undefined) printError(`The rejected records are in ${report}.`);
  host().setExitCode(counts.rejected > 0 ? someRejectedExitCode : 0);
}

/** Imports the records of a source, and shows the progress. */
async function importRecords(
  { format, delimiter, bodyBytesMax, quiet }: ImportConfig,
  source: Source,
  store: Pick<PlantStore, "create">,
  options: ImportOptions,
  onHeader?: (header: string) => void,
): Promise<void> {
  using progress = new Progress(quiet ? undefined : host().error);
  const records = readRecords(format, source.chunks, { recordBytesMax: bodyBytesMax, delimiter, onHeader });
  await importPlants(records, store, {
    ...options,
    onBatch: () => progress.update(countAll(options.counts), source.fractionRead()),
  });
}

function countAll({ created, unchanged, replaced, rejected }: ImportCounts): number {
  return created + unchanged + replaced + rejected;
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
