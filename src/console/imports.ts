// The console's calls for an import into the running server. The page sends the file in parts, each
// of which is answered when it begins to be read into batches: the pace of the store reaches the
// browser, which sends one part ahead.

import { AdminError } from "../core/admin/request-bodies.ts";
import { errorRegistry } from "../core/contract/errors.ts";
import type { FieldValue } from "../core/contract/fields.ts";
import type { NewPlant } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { Outcome, PlantStore } from "../core/store/plant-store.ts";
import { readRecords } from "../operations/format.ts";
import { importPlants, newCounts, type RejectedRecord, StoreUnavailable } from "../operations/import.ts";
import { dryStore, Replacement } from "../operations/import-update.ts";
import { type RejectionReport, rejectionReport } from "../operations/rejections.ts";
import type { ConsoleContext } from "./context.ts";
import type { Edits } from "./edits.ts";
import { type ImportParameters, type ImportSettings, parseSettings } from "./import-settings.ts";
import { BadRequestError, respondLong } from "./responses.ts";

/** Plants in one batch of an import: clients wait for at most one of them. */
const batchPlantsMax = 512;

/** An import for which no part begins to arrive for this long has lost its page. */
const partMsMax = 60_000;

/** Parts of one import that wait: the page sends one at a time, and one more if a response was lost. */
const waitingMax = 4;

/** Rejected lines that the page lists, and those that can be downloaded, in UTF-16 code units. */
const listedMax = 100;
const listedTextLength = 300;
const reportCodeUnitsMax = 8 * 2 ** 20;

/** How an import ended. */
type Ending = "complete" | "cancelled" | "failed";

/** A rejected line as the page lists it. */
interface ListedRejection {
  readonly line: number;
  readonly error: number;
  readonly message: string;
  readonly text: string;
}

/**
 * One at a time: two at once would only wait for each other's commits. The last one stays, with its
 * report.
 */
export class Imports {
  readonly #context: ConsoleContext;
  readonly #edits: Edits;
  #last: RunningImport | undefined;

  constructor(context: ConsoleContext, edits: Edits) {
    this.#context = context;
    this.#edits = edits;
  }

  start(settings: ImportParameters, client: string) {
    if (this.#last !== undefined && this.#last.ending === undefined)
      throw new AdminError(409, "Another import is running; wait until it has ended, or cancel it.");
    this.#last = new RunningImport(this.#context, this.#edits, parseSettings(settings), client);
    return { import: this.#last.id };
  }

  /**
   * Adds the part at an offset of the file, and responds when it is handed to its reader. A part
   * that was received already is not added again.
   *
   * @param receive reads the body of the request.
   */
  async add(parameters: URLSearchParams, receive: () => Promise<Uint8Array>) {
    const running = this.#find(parameters.get("import"));
    await running.add(Number(parameters.get("offset")), receive);
    return running.status();
  }

  /** Ends the file of some bytes, and responds when all of it is committed. */
  async end(body: { import: string; bytes: string }) {
    const running = this.#find(body.import);
    await running.end(Number(body.bytes));
    return running.status();
  }

  async cancel(body: { import: string }) {
    const running = this.#find(body.import);
    await running.stop();
    return running.status();
  }

  /** The last import of any page, or null. */
  status() {
    return this.#last?.status() ?? null;
  }

  /** The rejected lines as a file, in the format of the report of `plantstore import`. */
  rejected(parameters: URLSearchParams): Response {
    const { report, settings } = this.#find(parameters.get("import"));
    const { format } = settings;
    return respondLong(report, {
      "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
      "Content-Disposition": `attachment; filename="rejected.${format}"`,
    });
  }

  async close(): Promise<void> {
    await this.#last?.stop();
  }

  #find(id: string | null): RunningImport {
    if (this.#last === undefined || this.#last.id !== id)
      throw new BadRequestError("There is no such import; start it again. What it has created is stored.");
    return this.#last;
  }
}

class RunningImport {
  readonly id = crypto.randomUUID();
  readonly settings: ImportSettings;
  ending: Ending | undefined;
  report = "";
  readonly #context: ConsoleContext;
  readonly #edits: Edits;
  /** Hands the parts of the file to their reader. */
  readonly #parts = new TransformStream<Uint8Array, Uint8Array>();
  readonly #writer = this.#parts.writable.getWriter();
  readonly #abort = new AbortController();
  readonly #ended: Promise<void>;
  readonly #listed: ListedRejection[] = [];
  readonly #counts = newCounts();
  #replacement: Replacement | undefined;
  /** The run of the history. */
  #run: string | undefined;
  #reported = 0;
  #bytes = 0;
  /** The part that was received last. */
  #last: { readonly offset: number; readonly bytes: number; readonly read: Promise<void> } | undefined;
  /** Parts that are being received. */
  #arriving = 0;
  #message: string | undefined;
  #timer: Timer | undefined;

  constructor(context: ConsoleContext, edits: Edits, settings: ImportSettings, client: string) {
    this.#context = context;
    this.#edits = edits;
    this.settings = settings;
    this.#waitForPart();
    this.#ended = this.#import(client);
  }

  /**
   * Adds a part, and resolves when it is handed to its reader. Throws a BadRequestError if it is not
   * the next one.
   */
  async add(offset: number, receive: () => Promise<Uint8Array>): Promise<void> {
    clearTimeout(this.#timer);
    this.#arriving++;
    try {
      const part = await receive();
      await Promise.race([this.#read(offset, part), this.#ended]);
    } finally {
      this.#arriving--;
      this.#waitForPart();
    }
  }

  #read(offset: number, part: Uint8Array): Promise<void> {
    if (this.ending !== undefined) return this.#ended;
    // Its response was lost, or is still to come.
    if (this.#last?.offset === offset && this.#last.bytes === part.length) return this.#last.read;
    // Parts that are not handed to the reader yet lower it from 1; null if the import is ending.
    const waiting = 1 - (this.#writer.desiredSize ?? 1);
    if (offset !== this.#bytes || waiting >= waitingMax)
      throw new BadRequestError(
        "The parts of a file must be sent in their order, each after the one before.",
      );
    this.#bytes += part.length;
    // Rejects if the import has ended without it.
    const read = this.#writer.write(part).catch(() => this.#ended);
    this.#last = { offset, bytes: part.length, read };
    return read;
  }

  /** @param bytes the length of the file. Throws a BadRequestError if not all of it was received. */
  async end(bytes: number): Promise<void> {
    if (this.ending === undefined && bytes !== this.#bytes)
      throw new BadRequestError(`Only ${this.#bytes} of the file's ${bytes} bytes have arrived.`);
    await this.#finish();
  }

  /** Ends the import after the batch that is being committed. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#finish();
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#timer);
    // Rejects if the import has ended without it.
    this.#writer.close().catch(() => undefined);
    await this.#ended;
  }

  status() {
    return {
      import: this.id,
      ...this.#counts,
      update: this.settings.update,
      run: this.#run ?? null,
      differences: (this.#replacement?.differences ?? []).map(({ line, before, after }) => ({
        line,
        id: String(after.id),
        before: shortened(before),
        after: shortened(after),
      })),
      ending: this.ending ?? null,
      message: this.#message ?? null,
      bytes: this.#bytes,
      rejections: this.#listed,
      reported: this.#reported,
    };
  }

  #waitForPart(): void {
    clearTimeout(this.#timer);
    if (this.ending === undefined && this.#arriving === 0)
      this.#timer = setTimeout(() => void this.stop(), partMsMax);
  }

  async #import(client: string): Promise<void> {
    const { update, format, delimiter, columns } = this.settings;
    const { bodyBytesMax, emit, reader } = this.#context;
    const report = rejectionReport(format, delimiter);
    const records = readRecords(format, this.#parts.readable, {
      recordBytesMax: bodyBytesMax,
      delimiter,
      columns,
      onHeader: report.onHeader,
    });
    const run = update === "replace" ? this.#edits.startRun(client) : undefined;
    this.#run = run?.id;
    try {
      if (update !== "off") this.#replacement = new Replacement(await reader(), run);
      const store = update === "dry-run" ? dryStore(await reader()) : smallBatches(this.#context);
      await importPlants(records, store, {
        counts: this.#counts,
        replacement: this.#replacement,
        onRejected: (record) => this.#addRejected(record, report),
        signal: this.#abort.signal,
      });
      this.ending = this.#abort.signal.aborted ? "cancelled" : "complete";
    } catch (error) {
      this.ending = this.#abort.signal.aborted ? "cancelled" : "failed";
      this.#message = this.#abort.signal.aborted ? undefined : importErrorMessage(error);
      if (this.#message === internalErrorMessage)
        emit({ kind: "internalError", requestId: "console import", error });
    }
    clearTimeout(this.#timer);
    if (run !== undefined) this.#edits.reportRun(run, client);
    if (update === "dry-run") return;
    const { created, unchanged, replaced, rejected } = this.#counts;
    const reason = this.ending === "cancelled" ? "cancelled" : this.#message;
    emit({
      kind: "notice",
      message: `import in the console ${reason === undefined ? "ended" : "was interrupted"}`,
      fields: { created, unchanged, replaced, rejected, reason },
    });
  }

  #addRejected(record: RejectedRecord, report: RejectionReport): void {
    const { line, error, text } = record;
    if (this.#listed.length < listedMax)
      this.#listed.push({
        line,
        error: errorRegistry[error.code].error,
        message: error.message,
        text: text.slice(0, listedTextLength),
      });
    const reportLine = report.add(record);
    // Only the first ones, also where a later one would fit.
    const isFull = this.#reported + 1 < this.#counts.rejected;
    if (isFull || this.report.length + reportLine.length > reportCodeUnitsMax) return;
    this.report += reportLine;
    this.#reported++;
  }
}

/** A plant as the page shows it. */
function shortened(plant: NewPlant): Readonly<Record<string, FieldValue>> {
  const { id: _, ...fields } = plant;
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]: [string, FieldValue]) => [
      field,
      typeof value === "string" ? value.slice(0, listedTextLength) : value,
    ]),
  );
}

const internalErrorMessage = "Internal error; see the server's log.";

function importErrorMessage(error: unknown): string {
  if (error instanceof StoreUnavailable)
    return "The store could not be written for a minute. Import the file again when it can: plants that are already stored are reported as unchanged.";
  if (error instanceof OperatorError)
    return `${error.message.slice(0, 1).toUpperCase()}${error.message.slice(1)}.`;
  return internalErrorMessage;
}

/** A store that creates the plants of an import in batches, between those of clients. */
function smallBatches({ store, emit, now }: ConsoleContext): Pick<PlantStore, "create"> {
  return {
    async create(entries) {
      const outcomes: Outcome[] = [];
      for (let at = 0; at < entries.length; at += batchPlantsMax) {
        const some = await store.create(entries.slice(at, at + batchPlantsMax));
        const count = (outcome: Outcome) => some.filter((each) => each === outcome).length;
        const [created, unchanged] = [count("created"), count("unchanged")];
        emit({ kind: "plantsChanged", created, unchanged, deleted: 0, endedAt: now() });
        for (const outcome of some) outcomes.push(outcome);
      }
      return outcomes;
    },
  };
}
