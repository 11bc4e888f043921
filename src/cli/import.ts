// plantstore import FILE|-: creates plants from NDJSON or CSV, with the checks of the API.

import { Command } from "commander";
import { OperatorError } from "../core/operator-error.ts";
import type { ReadablePlantStore } from "../core/store/plant-store.ts";
import { formatOfFile, formats } from "../operations/format.ts";
import { type ImportCounts, importPlants, StoreUnavailable } from "../operations/import.ts";
import { operatorProgress } from "../operations/progress.ts";
import { RejectedFile, type Report } from "../operations/rejected-file.ts";
import { openSource } from "../operations/source.ts";
import { withSettings } from "./config/command-options.ts";
import type { Config } from "./config/resolve.ts";
import { host } from "./host.ts";
import { printError } from "./output.ts";
import { InterruptSignal } from "./signals.ts";
import { withStore } from "./with-store.ts";

/** The exit code of an import that rejected some records. */
const someRejectedExitCode = 3;

const settingNames = ["format", "delimiter", "database", "quiet", "recordBytesMax"] as const;
type ImportConfig = Config<(typeof settingNames)[number]>;

export function importCommand(): Command {
  const command = new Command("import")
    .description("create plants from NDJSON or CSV; resumable: run again after an interruption")
    .argument("<file>", "the file, or - for standard input")
    .addHelpText(
      "after",
      `
Rejected records are written to FILE.rejected.ndjson with their line, error and
text, and the exit code is 3. If another import has written a report of that
name, this one is FILE.rejected.2.ndjson, and so on. The first line of CSV names
the columns id, name and tag, in any case; an empty cell means no tag, and "" an
empty tag.`,
    );
  return withSettings(command, settingNames, importFile);
}

async function importFile(config: ImportConfig, file: string): Promise<void> {
  const { format = formatOfFile(file), delimiter, recordBytesMax, database, quiet } = config;
  using interrupt = new InterruptSignal();
  const { signal } = interrupt;
  using source = openSource(file, signal, host().openInput);
  let counts: Readonly<ImportCounts> = { created: 0, unchanged: 0, rejected: 0 };
  let report: Report | undefined;
  let isOpen = false;

  async function importInto(store: ReadablePlantStore): Promise<void> {
    isOpen = true;
    const progress = operatorProgress(quiet ? undefined : host().error);
    // After the store is open: without a store, the report of an earlier import is kept.
    const rejectedFile = new RejectedFile(file === "-" ? undefined : file, source.access);
    try {
      const records = formats[format].records(source.chunks, recordBytesMax, delimiter);
      counts = await importPlants(records, store, {
        signal,
        onRejected: (record) => rejectedFile.add(record),
        onBatch: (soFar) => {
          counts = soFar;
          progress.update(soFar.created + soFar.unchanged + soFar.rejected, source.fractionRead());
        },
      });
    } finally {
      progress.end();
      report = rejectedFile.finish();
    }
  }

  try {
    await withStore(database, "writable", importInto, { quiet, signal, onUnavailable: () => undefined });
  } catch (error) {
    const isWaitInterrupted = signal.aborted && (!isOpen || error instanceof StoreUnavailable);
    if (!isWaitInterrupted) {
      if (!(error instanceof StoreUnavailable)) throw error;
      throw new OperatorError(`the store could not be written for a minute; ${formatResumable(counts)}`);
    }
  }
  if (signal.aborted) throw new OperatorError(`interrupted; ${formatResumable(counts)}`);
  if (!quiet) printError(formatCounts(counts) + (report === undefined ? "" : `; see ${report.path}`));
  // The name of a numbered report cannot be guessed.
  else if (report?.isNumbered) printError(`The rejected records are in ${report.path}.`);
  if (counts.rejected > 0) host().setExitCode(someRejectedExitCode);
}

function formatResumable(counts: ImportCounts): string {
  return `${formatCounts(counts)} so far; run the same command again to continue`;
}

function formatCounts({ created, unchanged, rejected }: ImportCounts): string {
  const [one, two, three] = [created, unchanged, rejected].map((count) => count.toLocaleString("en"));
  return `${one} created, ${two} already stored, ${three} rejected`;
}
