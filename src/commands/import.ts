// plantstore import FILE|-: plants from NDJSON or CSV, with the same checks as the API.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { OperatorError } from "../operator-error.ts";
import { printError, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";
import { formatOfFile, formats } from "../transfer/format.ts";
import { type ImportCounts, importPlants, StoreUnavailable } from "../transfer/import.ts";
import { operatorProgress } from "../transfer/progress.ts";
import { RejectedFile, type Report } from "../transfer/rejected-file.ts";
import { openSource } from "../transfer/source.ts";
import { InterruptSignal } from "./interruption.ts";

/** The exit code of an import that refused some of the lines. */
const someRefusedExitCode = 3;

export function importCommand(): Command {
  const command = new Command("import")
    .description(
      "create plants from NDJSON or CSV; may be broken off and run again; works while the server runs",
    )
    .argument("<file>", "the file, or - for standard input")
    .addHelpText(
      "after",
      `
Refused lines go to FILE.rejected.ndjson with their number, the error and the original text. The exit code is then 3.
Where that name is taken by the report of another import, it is FILE.rejected.2.ndjson, and so on.
CSV starts with a header that names the columns id, name and tag, in capitals or not; an empty cell is no tag, and "" an empty one.`,
    );
  return withSettings(command, ["format", "delimiter", "database", "quiet", "recordBytesMax"]).action(
    (file: string) => importFile(command, file),
  );
}

async function importFile(command: Command, file: string): Promise<void> {
  using interruption = new InterruptSignal();
  const { signal } = interruption;
  const { entries } = formats[settingOf(command, "format") ?? formatOfFile(file)];
  const isQuiet = settingOf(command, "quiet");
  using source = openSource(file, signal);
  const progress = operatorProgress(isQuiet);
  let counts: Readonly<ImportCounts> = { created: 0, unchanged: 0, refused: 0 };
  const store = await openStore(settingOf(command, "database"), "writable", () => undefined, {
    ...(isQuiet ? {} : { report: tellWaiting }),
    signal,
  }).catch((error) => {
    if (signal.aborted) throw new OperatorError(`interrupted; ${goesOn(counts)}`);
    throw error;
  });
  let report: Report | undefined;
  try {
    // Only now: where there is no store, the report of an earlier import stays.
    const rejected = new RejectedFile(file === "-" ? undefined : file, source.access);
    try {
      const recordBytesMax = settingOf(command, "recordBytesMax");
      const read = entries(source.chunks, recordBytesMax, settingOf(command, "delimiter"));
      counts = await importPlants(read, store, {
        signal,
        onRefusal: (refusal) => rejected.add(refusal),
        onBatch: (soFar) => {
          counts = soFar;
          progress.update(soFar.created + soFar.unchanged + soFar.refused, source.part());
        },
      });
    } finally {
      progress.end();
      report = rejected.finish();
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (!signal.aborted)
      throw new OperatorError(`the store could not be written for a minute; ${goesOn(counts)}`);
  } finally {
    // An open connection would keep a command that has failed from ending.
    await store.close();
  }
  if (signal.aborted) throw new OperatorError(`interrupted; ${goesOn(counts)}`);
  if (!isQuiet) printError(countsText(counts) + (report === undefined ? "" : `; see ${report.path}`));
  // Nobody would look for it there.
  else if (report?.isNumbered) printError(`The refused lines are in ${report.path}.`);
  if (counts.refused > 0) process.exitCode = someRefusedExitCode;
}

function goesOn(counts: ImportCounts): string {
  return `${countsText(counts)} so far, and the same command goes on from there`;
}

function countsText({ created, unchanged, refused }: ImportCounts): string {
  const [one, two, three] = [created, unchanged, refused].map((count) => count.toLocaleString("en"));
  return `${one} created, ${two} already there, ${three} refused`;
}
