// plantstore import FILE|-: creates plants from NDJSON or CSV, and replaces them on request.

import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import { OperatorError } from "../core/operator-error.ts";
import type { ReadablePlantStore } from "../core/store/plant-store.ts";
import { formatOfFile, formats } from "../operations/format.ts";
import { type ImportCounts, importPlants, noCounts, StoreUnavailable } from "../operations/import.ts";
import { dryStore, Replacement } from "../operations/import-update.ts";
import { openSql } from "../operations/open-sql.ts";
import { operatorProgress } from "../operations/progress.ts";
import { RejectedFile, type Report } from "../operations/rejected-file.ts";
import { rejectionReport } from "../operations/rejections.ts";
import { openSource, type Source } from "../operations/source.ts";
import { withSettings } from "./config/command-options.ts";
import type { Config } from "./config/resolve.ts";
import { describeChange } from "./describe-change.ts";
import { withEditRun } from "./edit-plants.ts";
import { host } from "./host.ts";
import { printError, printStoredLines } from "./output.ts";
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
  "recordBytesMax",
] as const;
type ImportConfig = Config<(typeof settingNames)[number]>;

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

The first line of CSV names the columns id, name and tag, in any case; an empty
cell means no tag, and "" an empty tag.`,
    );
  return withSettings(command, settingNames, importFile);
}

async function importFile(config: ImportConfig, file: string): Promise<void> {
  const { importUpdate, dryRun, yes } = config;
  using interrupt = new InterruptSignal();
  const { signal } = interrupt;
  if (importUpdate && !dryRun && !yes && (file === "-" || !host().error.isTTY || !process.stdin.isTTY))
    throw new OperatorError(
      "--update asks before it replaces plants, and there is no terminal to ask on: give --yes, or --dry-run to see what it would do",
      2,
    );
  if (dryRun || (importUpdate && !yes)) {
    const counts = await dryRunOf(config, file, signal);
    if (!dryRun && counts.replaced > 0 && !(await confirm(counts.replaced, signal)))
      throw new OperatorError("nothing was imported");
    if (dryRun) return;
  }
  await new Import(config, file, signal).run();
}

/** Prints what an import would do, and the first differences. */
async function dryRunOf(config: ImportConfig, file: string, signal: AbortSignal): Promise<ImportCounts> {
  const { format = formatOfFile(file), delimiter, recordBytesMax, database, quiet, importUpdate } = config;
  using source = openSource(file, signal, host().openInput);
  const progress = operatorProgress(quiet ? undefined : host().error);
  return await withStore(
    database,
    "existing",
    async (store) => {
      await using read = await openSql(store, "read");
      const replacement = new Replacement(read.sql, undefined);
      try {
        const records = formats[format].records(source.chunks, recordBytesMax, delimiter);
        const counts = await importPlants(records, dryStore(read.sql), {
          signal,
          replacement: importUpdate ? replacement : undefined,
          onRejected: () => undefined,
          onBatch: (soFar) => progress.update(countAll(soFar), source.fractionRead()),
        });
        progress.end();
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
      } finally {
        progress.end();
      }
    },
    { quiet, signal },
  );
}

/** Asks on the terminal whether to replace plants. */
async function confirm(plants: number, signal: AbortSignal): Promise<boolean> {
  // Without readline's terminal mode, Ctrl+C stays a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const question = `Replace ${plants.toLocaleString("en")} stored plants? [y/N] `;
    return /^y(es)?$/i.test((await lines.question(question, { signal })).trim());
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  } finally {
    lines.close();
  }
}

/** An import into the store. */
class Import {
  readonly #config: ImportConfig;
  readonly #file: string;
  readonly #signal: AbortSignal;
  #counts: Readonly<ImportCounts> = noCounts;
  #report: Report | undefined;
  #runId: string | undefined;
  #isOpen = false;

  constructor(config: ImportConfig, file: string, signal: AbortSignal) {
    this.#config = config;
    this.#file = file;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { database, quiet } = this.#config;
    const signal = this.#signal;
    using source = openSource(this.#file, signal, host().openInput);
    try {
      await withStore(database, "writable", (store) => this.#importInto(store, source), {
        quiet,
        signal,
        onUnavailable: () => undefined,
      });
    } catch (error) {
      const isWaitInterrupted = signal.aborted && (!this.#isOpen || error instanceof StoreUnavailable);
      if (!isWaitInterrupted) {
        if (!(error instanceof StoreUnavailable)) throw error;
        throw new OperatorError(`the store could not be written for a minute; ${this.#resumable()}`);
      }
    }
    if (signal.aborted) throw new OperatorError(`interrupted; ${this.#resumable()}`);
    const report = this.#report;
    const see = report === undefined ? "" : `; see ${report.path}`;
    if (!quiet) printError(this.#summary() + see);
    // The name of a numbered report cannot be guessed.
    else if (report?.isNumbered) printError(`The rejected records are in ${report.path}.`);
    host().setExitCode(this.#counts.rejected > 0 ? someRejectedExitCode : 0);
  }

  async #importInto(store: ReadablePlantStore, source: Source): Promise<void> {
    const { format = formatOfFile(this.#file), delimiter, recordBytesMax, quiet } = this.#config;
    this.#isOpen = true;
    const input = this.#file === "-" ? undefined : this.#file;
    const progress = operatorProgress(quiet ? undefined : host().error);
    const report = rejectionReport(format, delimiter);
    // After the store is open: without a store, the report of an earlier import is kept.
    const rejectedFile = new RejectedFile(input, format, report, source.access);
    try {
      const records = formats[format].records(
        source.chunks,
        recordBytesMax,
        delimiter,
        undefined,
        report.onHeader,
      );
      await this.#replacing(store, async (replacement) => {
        this.#counts = await importPlants(records, store, {
          signal: this.#signal,
          replacement,
          onRejected: (record) => rejectedFile.add(record),
          onBatch: (soFar) => {
            this.#counts = soFar;
            progress.update(countAll(soFar), source.fractionRead());
          },
        });
      });
    } finally {
      progress.end();
      this.#report = rejectedFile.finish();
    }
  }

  /** Calls a function with the replacement of stored plants, if --update asks for it. */
  async #replacing(
    store: ReadablePlantStore,
    use: (replacement: Replacement | undefined) => Promise<void>,
  ): Promise<void> {
    if (!this.#config.importUpdate) return use(undefined);
    await using read = await openSql(store, "read");
    await withEditRun(store, (run) => {
      this.#runId = run.id;
      return use(new Replacement(read.sql, run));
    });
  }

  #resumable(): string {
    return `${this.#summary()} so far; run the same command again to continue`;
  }

  #summary(): string {
    const counts = formatCounts(this.#counts, this.#config.importUpdate);
    if (this.#counts.replaced === 0) return counts;
    return `${counts}; "plantstore history --undo ${this.#runId}" brings back what was replaced`;
  }
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
