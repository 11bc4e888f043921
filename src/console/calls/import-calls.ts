// The console's call for an import into the running server: the body of the request is the file,
// which is read at the pace of the store, and the response is the report.

import { AdminError } from "../../admin-pages/admin-responses.ts";
import { listed } from "../../base/listed.ts";
import { OperatorError } from "../../base/operator-error.ts";
import { parts } from "../../base/parts.ts";
import { capitalized } from "../../contract/words.ts";
import type { NewEntry, Outcome } from "../../store/plant-store.ts";
import { ContractChanged } from "../../store/shared/plant-edit.ts";
import { type FormatName, formatNames } from "../../transfer/format-names.ts";
import { ImportJob } from "../../transfer/import-job.ts";
import type { ConsoleContext } from "../console-context.ts";
import { parseChoice } from "../parameters.ts";
import { PlantChanges } from "./plant-changes.ts";
import { listedLength, toTexts } from "./shown-plant.ts";

/** Whether stored plants that differ are rejected, replaced, or counted without any write. */
const updates = ["off", "dry-run", "replace"] as const;

interface ImportSettings {
  readonly update: (typeof updates)[number];
  readonly format: FormatName;
  /** The name of the file, from which the ids of records without one are made, as the command does. */
  readonly name: string;
}

/** Plants in one batch of an import: clients wait for at most one of them. */
const batchPlantsMax = 512;

const reportBytesMax = 8 * 2 ** 20;

/** One at a time: two at once would only wait for each other's commits. */
export class Imports {
  #stopping = new AbortController();
  #running: Promise<unknown> | undefined;

  /** Imports the body of a request, and resolves with the report when all of it is committed. */
  async run(context: ConsoleContext, parameters: URLSearchParams, { body, signal }: Request, client: string) {
    const settings = {
      format: parseChoice(parameters, "format", formatNames),
      update: parseChoice(parameters, "update", updates),
      name: parameters.get("name") ?? "",
    };
    if (this.#running !== undefined)
      throw new AdminError(409, "Another import is running; wait until it has ended.");
    const abort = AbortSignal.any([signal, this.#stopping.signal]);
    const file = body ?? new Blob().stream();
    const running = importFile(context, settings, file, abort, client);
    this.#running = running;
    try {
      return await running;
    } finally {
      this.#running = undefined;
    }
  }

  /** Ends a running import after the batch that is being committed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopping = new AbortController();
    await this.#running;
  }
}

async function importFile(
  context: ConsoleContext,
  { update, format: named, name }: ImportSettings,
  file: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  client: string,
) {
  const { bodyBytesMax, collection, emit, reader } = context;
  const changes = new PlantChanges(context);
  const run = changes.startRun(client);
  const report: Buffer[] = [];
  let reportBytes = 0;
  const onRejected = (text: Buffer) => {
    // Stops at the first line that does not fit, even if a later one would.
    const isFull = report.length + 1 < job.counts.rejected;
    if (isFull || reportBytes + text.length > reportBytesMax) return;
    report.push(text);
    reportBytes += text.length;
  };
  const job = new ImportJob({
    collection,
    create: (entries) => createInSmallBatches(context, entries),
    openSql: reader,
    run: update === "off" ? undefined : run,
    isDry: update === "dry-run",
    recordBytesMax: bodyBytesMax,
    key: name,
    onRejected,
    signal,
  });
  // The signal also ends a read that waits for the client.
  const pieces = file.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
  let failure: string | undefined;
  try {
    await job.run(pieces, { name: "the file", named });
  } catch (error) {
    failure = error instanceof OperatorError ? `${capitalized(error.message)}.` : internalErrorMessage;
    if (failure === internalErrorMessage && !signal.aborted)
      emit({ kind: "internalError", requestId: "console import", error });
  }
  if (signal.aborted) failure = "cancelled";
  changes.reportRun(run, client);
  const { counts, differences, ignored, encoding } = job;
  if (update !== "dry-run")
    emit({
      kind: "notice",
      message: `import in the console ${failure === undefined ? "ended" : "was interrupted"}`,
      fields: { ...counts, reason: failure },
    });
  return {
    ...counts,
    update,
    run: update === "replace" ? run.id : null,
    differences: differences.map(({ line, before, after }) => ({
      line,
      id: String(after.id),
      before: toTexts(collection, before.values, listedLength),
      after: toTexts(collection, after.values, listedLength),
    })),
    message: failure ?? null,
    ignored: listed(ignored),
    advice: encoding.advice ?? null,
    reported: report.length,
    format: job.format ?? named,
    // Each byte as a character: some records are not UTF-8.
    report: Buffer.concat(report).toString("latin1"),
  };
}

const internalErrorMessage = "Internal error; see the server's log.";

/** Creates the plants of an import between those of clients. */
async function createInSmallBatches(
  { store, countCreated }: ConsoleContext,
  entries: readonly NewEntry[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const batch of parts(entries, batchPlantsMax)) {
    const number = batch[0]?.collection.contractNumber;
    // Records that were read by a former contract are never stored.
    if (number !== undefined && number !== store.contract.number) throw new ContractChanged();
    const some = await store.create(batch);
    const count = (outcome: Outcome) => some.filter((each) => each === outcome).length;
    countCreated(count("created"), count("unchanged"));
    outcomes.push(...some);
  }
  return outcomes;
}
