// The console's calls for an import into the running server. The page sends the file in parts, each of which is answered once
// it is read into batches: the pace of the store reaches the browser, and neither has more than a part in memory.

import { BadRequestError, respond, respondError, respondJson } from "../core/admin/responses.ts";
import { type ErrorCode, errorRegistry } from "../core/contract/errors.ts";
import type { Emit } from "../core/observability/server-event.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { CreateOutcome, GroupCommit } from "../core/store/group-commit.ts";
import type { NewEntry, Outcome } from "../core/store/plant-store.ts";
import type { ChosenColumns } from "../operations/csv.ts";
import { formatNames, formats } from "../operations/format.ts";
import {
  type ImportCounts,
  importPlants,
  type RejectedRecord,
  StoreUnavailable,
} from "../operations/import.ts";

export interface ImportDependencies {
  readonly groupCommit: Pick<GroupCommit, "create">;
  /** A longer record is rejected. */
  readonly recordBytesMax: number;
  readonly emit: Emit;
  readonly now: () => number;
}

/** The caller of the group commit, which gives each its share of the queue. */
const caller = "console import";

/** Plants that an import has in the queue: half of a batch, so that clients' creates share the other. */
const queuedPlantsMax = 512;

/** The pause before plants are sent again for which the queue was full. */
const overloadedMs = 20;

/** An import of which no part comes for this long has lost its page. */
const partMsMax = 60_000;

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

/** One at a time: two at once would only wait for each other's commits. The last one stays, with its report. */
export class Imports {
  readonly #dependencies: ImportDependencies;
  #last: RunningImport | undefined;

  constructor(dependencies: ImportDependencies) {
    this.#dependencies = dependencies;
  }

  start(settings: Readonly<Record<"format" | "delimiter" | "columns", string>>): Response {
    if (this.#last?.ending === undefined && this.#last !== undefined)
      return respondError(409, "Another import is running; wait until it has ended, or cancel it.");
    this.#last = new RunningImport(this.#dependencies, parseSettings(settings));
    return respondJson({ import: this.#last.id }, 201);
  }

  /** Adds the part at an offset of the file; a part that was received already is not added again. */
  async add(parameters: URLSearchParams, part: Uint8Array): Promise<Response> {
    const running = this.#find(parameters.get("import"));
    const offset = Number(parameters.get("offset"));
    if (!(await running.add(offset, part)))
      throw new BadRequestError("The parts of a file must be sent in their order.");
    return respondJson(running.status());
  }

  /** Ends the file, and responds when all of it is committed. */
  async end(body: { import: string }): Promise<Response> {
    const running = this.#find(body.import);
    await running.end();
    return respondJson(running.status());
  }

  async cancel(body: { import: string }): Promise<Response> {
    const running = this.#find(body.import);
    await running.stop();
    return respondJson(running.status());
  }

  /** The last import of any page, or null. */
  status(): Response {
    return respondJson(this.#last === undefined ? null : this.#last.status());
  }

  /** The rejected lines as a file, in the format of the report of `plantstore import`. */
  rejected(parameters: URLSearchParams): Response {
    return respond(this.#find(parameters.get("import")).report, 200, {
      "Content-Type": "application/x-ndjson",
      "Content-Disposition": 'attachment; filename="rejected.ndjson"',
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

interface ImportSettings {
  readonly format: (typeof formatNames)[number];
  readonly delimiter: string;
  readonly columns: ChosenColumns | undefined;
}

class RunningImport {
  readonly id = crypto.randomUUID();
  ending: Ending | undefined;
  report = "";
  readonly #dependencies: ImportDependencies;
  readonly #parts = new PartQueue();
  readonly #abort = new AbortController();
  readonly #ended: Promise<void>;
  readonly #listed: ListedRejection[] = [];
  #counts: Readonly<ImportCounts> = { created: 0, unchanged: 0, rejected: 0 };
  #reported = 0;
  #bytes = 0;
  #lastOffset = -1;
  #message: string | undefined;
  #timer: Timer | undefined;

  constructor(dependencies: ImportDependencies, settings: ImportSettings) {
    this.#dependencies = dependencies;
    this.#waitForPart();
    this.#ended = this.#run(settings);
  }

  /** Adds a part, and resolves when it is read. Returns false if it is not the next one. */
  async add(offset: number, part: Uint8Array): Promise<boolean> {
    if (this.ending !== undefined || offset === this.#lastOffset) return true;
    if (offset !== this.#bytes) return false;
    clearTimeout(this.#timer);
    this.#lastOffset = offset;
    this.#bytes += part.length;
    await Promise.race([this.#parts.add(part), this.#ended]);
    this.#waitForPart();
    return true;
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer);
    this.#parts.end();
    await this.#ended;
  }

  /** Ends the import after the batch that is being committed. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#abort.abort();
    this.#parts.end();
    await this.#ended;
  }

  status() {
    return {
      import: this.id,
      ...{ ...this.#counts, ending: this.ending ?? null, message: this.#message ?? null, bytes: this.#bytes },
      rejections: this.#listed,
      reported: this.#reported,
    };
  }

  #waitForPart(): void {
    clearTimeout(this.#timer);
    if (this.ending === undefined) this.#timer = setTimeout(() => void this.stop(), partMsMax);
  }

  async #run({ format, delimiter, columns }: ImportSettings): Promise<void> {
    const { recordBytesMax, emit } = this.#dependencies;
    const records = formats[format].records(this.#parts.parts(), recordBytesMax, delimiter, columns);
    try {
      this.#counts = await importPlants(records, new QueuedCreates(this.#dependencies), {
        onRejected: (record) => this.#addRejected(record),
        onBatch: (counts) => {
          this.#counts = { ...counts };
        },
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
    const { created, unchanged, rejected } = this.#counts;
    const reason = this.ending === "cancelled" ? "cancelled" : this.#message;
    emit({ kind: "importEnded", created, unchanged, rejected, reason });
  }

  #addRejected({ line, error, text }: RejectedRecord): void {
    const { error: number } = errorRegistry[error.code satisfies ErrorCode];
    const { message } = error;
    if (this.#listed.length < listedMax)
      this.#listed.push({ line, error: number, message, text: text.slice(0, listedTextLength) });
    const reportLine = `${JSON.stringify({ line, error: number, message, text })}\n`;
    if (this.report.length + reportLine.length > reportCodeUnitsMax) return;
    this.report += reportLine;
    this.#reported++;
  }
}

const internalErrorMessage = "Internal error; see the server's log.";

function importErrorMessage(error: unknown): string {
  if (error instanceof StoreUnavailable)
    return "The store could not be written for a minute. Import the file again when it can: what is stored already counts as such.";
  if (error instanceof OperatorError)
    return `${error.message.slice(0, 1).toUpperCase()}${error.message.slice(1)}.`;
  return internalErrorMessage;
}

/** Hands the parts of a file to their reader, one at a time. */
class PartQueue {
  #next = Promise.withResolvers<{ part: Uint8Array; read: () => void } | undefined>();

  /** Resolves when the reader asks for the part after this one. */
  add(part: Uint8Array): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#next.resolve({ part, read: resolve });
    return promise;
  }

  end(): void {
    this.#next.resolve(undefined);
  }

  async *parts(): AsyncGenerator<Uint8Array> {
    for (let next = await this.#next.promise; next !== undefined; next = await this.#next.promise) {
      this.#next = Promise.withResolvers();
      yield next.part;
      next.read();
    }
  }
}

/** Creates the plants of an import through the group commit, beside those of clients. */
class QueuedCreates {
  readonly #dependencies: ImportDependencies;

  constructor(dependencies: ImportDependencies) {
    this.#dependencies = dependencies;
  }

  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let at = 0; at < batch.length; at += queuedPlantsMax) {
      const some = await this.#createSome(batch.slice(at, at + queuedPlantsMax));
      for (const outcome of some) outcomes.push(outcome);
    }
    return outcomes;
  }

  async #createSome(batch: readonly NewEntry[]): Promise<Outcome[]> {
    const outcomes = await this.#queueAll(batch);
    while (outcomes.includes("overloaded")) {
      await Bun.sleep(overloadedMs);
      const waiting = [...outcomes.keys()].filter((index) => outcomes[index] === "overloaded");
      const retried = await this.#queueAll(waiting.flatMap((index) => batch[index] ?? []));
      for (const [position, index] of waiting.entries()) outcomes[index] = retried[position] ?? "closed";
    }
    const { emit, now } = this.#dependencies;
    const count = (outcome: CreateOutcome) => outcomes.filter((each) => each === outcome).length;
    emit({
      kind: "plantsImported",
      created: count("created"),
      unchanged: count("unchanged"),
      endedAt: now(),
    });
    return outcomes.map((outcome) =>
      outcome === "closed" || outcome === "overloaded" ? "unavailable" : outcome,
    );
  }

  #queueAll(batch: readonly NewEntry[]): Promise<CreateOutcome[]> {
    return Promise.all(
      batch.map(
        ({ plant, creator }) =>
          new Promise<CreateOutcome>((settle, fail) =>
            this.#dependencies.groupCommit.create({ plant, creator, callerKey: caller, settle, fail }),
          ),
      ),
    );
  }
}

function parseSettings({ format, delimiter, columns }: Record<"format" | "delimiter" | "columns", string>) {
  const name = formatNames.find((one) => one === format);
  if (name === undefined) throw new BadRequestError("The format must be ndjson or csv.");
  if (name === "ndjson") return { format: name, delimiter: ",", columns: undefined };
  if (!/^[\t !#-,./:;<=>?@[\\\]^_`{|}~]$/.test(delimiter))
    throw new BadRequestError(
      "The delimiter must be one ASCII character other than a letter, digit, quote or hyphen.",
    );
  return { format: name, delimiter, columns: parseColumns(columns) };
}

/** The indexes of id, name and tag, and whether there is a header: "0,1,-1,true". */
function parseColumns(text: string): ChosenColumns {
  const [, id, name, tag, hasHeader] = /^(\d{1,4}),(\d{1,4}),(-1|\d{1,4}),(true|false)$/.exec(text) ?? [];
  if (id === undefined || name === undefined || tag === undefined)
    throw new BadRequestError("The columns of id and name must be chosen.");
  return { id: Number(id), name: Number(name), tag: Number(tag), hasHeader: hasHeader === "true" };
}
