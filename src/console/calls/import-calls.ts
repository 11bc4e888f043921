// The console's call for an import into the running server: the body of the request is the file,
// which is read at the pace of the store, and the response is the report.

import { AdminError } from "../../admin-pages/admin-responses.ts";
import { OperatorError } from "../../base/operator-error.ts";
import { parts } from "../../base/parts.ts";
import { capitalized } from "../../contract/words.ts";
import { freeIdsOf } from "../../plants/chosen-id.ts";
import type { Outcome } from "../../store/plant-store.ts";
import { keepsKeys } from "../../store/shared/create-key.ts";
import { openContent } from "../../transfer/content.ts";
import type { CsvHeader } from "../../transfer/csv.ts";
import { EncodingGuess } from "../../transfer/encoding.ts";
import { readRecords } from "../../transfer/file-format.ts";
import { type FormatName, formatNames } from "../../transfer/format-names.ts";
import { importPlants, newCounts, type RejectedRecord, StoreUnavailable } from "../../transfer/import.ts";
import type { ImportStore } from "../../transfer/import-store.ts";
import { dryStore, Replacement } from "../../transfer/import-update.ts";
import { RejectionReport } from "../../transfer/rejections.ts";
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
  settings: ImportSettings,
  file: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  client: string,
) {
  const { bodyBytesMax, collection, emit, reader } = context;
  const { update, format, name } = settings;
  const changes = new PlantChanges(context);
  const counts = newCounts();
  let rejections = new RejectionReport(collection, format);
  const report: Buffer[] = [];
  let reportBytes = 0;
  let ignored: readonly string[] = [];
  const encoding = new EncodingGuess();
  const onRejected = (record: RejectedRecord) => {
    const line = rejections.add(record);
    // Stops at the first line that does not fit, even if a later one would.
    const isFull = report.length + 1 < counts.rejected;
    if (isFull || reportBytes + line.length > reportBytesMax) return;
    report.push(line);
    reportBytes += line.length;
  };
  // The signal also ends a read that waits for the client.
  const pieces = file.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
  const run = update === "replace" ? changes.startRun(client) : undefined;
  let replacement: Replacement | undefined;
  let failure: string | undefined;
  try {
    const content = await openContent(pieces, { name: "the file", named: format });
    rejections = new RejectionReport(collection, content.format);
    const onHeader = (header: CsvHeader) => {
      rejections.onHeader(header);
      replacement?.onHeader(header);
      ignored = header.ignored;
    };
    const reading = { recordBytesMax: bodyBytesMax, encoding, onHeader };
    const records = readRecords(collection, content.format, content.chunks, reading, name);
    if (update !== "off") replacement = new Replacement(collection, await reader(), run);
    const store = update === "dry-run" ? dryStore(collection, await reader()) : await smallBatches(context);
    await importPlants(records, store, { counts, replacement, onRejected, signal });
    if (signal.aborted) failure = cancelled;
  } catch (error) {
    failure = signal.aborted ? cancelled : importErrorMessage(error);
    if (failure === internalErrorMessage) emit({ kind: "internalError", requestId: "console import", error });
  }
  if (run !== undefined) changes.reportRun(run, client);
  if (update !== "dry-run")
    emit({
      kind: "notice",
      message: `import in the console ${failure === undefined ? "ended" : "was interrupted"}`,
      fields: { ...counts, reason: failure },
    });
  return {
    ...counts,
    update,
    run: run?.id ?? null,
    differences: (replacement?.differences ?? []).map(({ line, before, after }) => ({
      line,
      id: String(after.id),
      before: toTexts(collection, before.values, listedLength),
      after: toTexts(collection, after.values, listedLength),
    })),
    message: failure ?? null,
    ignored,
    advice: encoding.advice ?? null,
    reported: report.length,
    format: rejections.format,
    // Each byte as a character: some records are not UTF-8.
    report: Buffer.concat(report).toString("latin1"),
  };
}

const cancelled = "cancelled";

const internalErrorMessage = "Internal error; see the server's log.";

function importErrorMessage(error: unknown): string {
  if (error instanceof StoreUnavailable)
    return "The store could not be written for a minute. Import the file again when it can: what is already stored is reported as unchanged.";
  if (error instanceof OperatorError) return `${capitalized(error.message)}.`;
  return internalErrorMessage;
}

/** A store that creates the plants of an import in batches, between those of clients. */
async function smallBatches({
  store,
  collection,
  countCreated,
  reader,
}: ConsoleContext): Promise<ImportStore> {
  return {
    collection,
    freeIds: keepsKeys(collection) ? freeIdsOf(collection, await reader(), () => undefined) : undefined,
    async create(entries) {
      const outcomes: Outcome[] = [];
      for (const batch of parts(entries, batchPlantsMax)) {
        const some = await store.create(batch);
        const count = (outcome: Outcome) => some.filter((each) => each === outcome).length;
        countCreated(count("created"), count("unchanged"));
        outcomes.push(...some);
      }
      return outcomes;
    },
  };
}
