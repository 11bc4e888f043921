// The console's export: downloads all plants or those of a search, page by page of the list.
// Each page is a short read, so that neither a large store nor a slow download keeps a snapshot,
// which would keep SQLite from restarting its WAL.

import { countCodeUnits } from "../core/contract/fields.ts";
import { type NewPlant, toNewPlant } from "../core/contract/plant.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { exportText } from "../operations/export.ts";
import { formatNames } from "../operations/format.ts";
import type { ConsoleContext } from "./context.ts";
import type { Inventory } from "./inventory.ts";
import { findPlant, type PlantSummary } from "./plant-rows.ts";
import { type Filter, isSearch } from "./plant-search.ts";
import { searchPages } from "./plants.ts";
import { BadRequestError, respondDownload } from "./responses.ts";

/**
 * Memory that an export is counted with: a page, or a plant of the largest body, unless that limit
 * is configured.
 */
const exportedBytes = 2 ** 20;

/** UTF-16 code units of names and tags that are read before they are sent. */
const chunkCodeUnitsMax = 2 ** 18;

/** The exports whose progress can be asked for. */
const runsMax = 20;

interface Run {
  plants: number;
  bytes: number;
  /**
   * About how many plants it will have, from the last count of the store; null where that is not
   * known.
   */
  readonly plantsTotal: number | null;
  state: "running" | "complete" | "interrupted";
}

export class Exports {
  readonly #context: ConsoleContext;
  readonly #inventory: Inventory;
  /** Exports by the id that the page has chosen. */
  readonly #runs = new Map<string, Run>();

  constructor(context: ConsoleContext, inventory: Inventory) {
    this.#context = context;
    this.#inventory = inventory;
  }

  /** Starts an export; its progress has the name `run`. */
  async start(parameters: URLSearchParams, filter: Filter): Promise<Response> {
    const format = formatNames.find((one) => one === parameters.get("format"));
    if (format === undefined) throw new BadRequestError("The format must be ndjson or csv.");
    const name = parameters.get("run") ?? "";
    if (!/^[\w-]{1,64}$/.test(name)) throw new BadRequestError("An export must have a name.");
    const total = isSearch(filter) ? undefined : this.#inventory.plants;
    const run: Run = { plants: 0, bytes: 0, plantsTotal: total ?? null, state: "running" };
    const texts = exportText(readPlants(await this.#context.reader(), filter), format, ",", (exported) => {
      run.plants = exported;
    });
    return respondDownload(this.#send(texts, name, run), exportedBytes, {
      "Content-Type": format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson",
      "Content-Disposition": `attachment; filename="plants.${format}"`,
    });
  }

  /** Null for an export that has not started, or is long ended. */
  progress(parameters: URLSearchParams): Readonly<Run> | null {
    return this.#runs.get(parameters.get("run") ?? "") ?? null;
  }

  /** The bytes of an export, whose run is there from the first one on. */
  async *#send(texts: AsyncIterable<string>, name: string, run: Run): AsyncGenerator<Uint8Array> {
    this.#add(name, run);
    const encoder = new TextEncoder();
    try {
      for await (const text of texts) {
        if (text === "") continue;
        const bytes = encoder.encode(text);
        run.bytes += bytes.length;
        yield bytes;
      }
      run.state = "complete";
    } finally {
      if (run.state === "running") run.state = "interrupted";
    }
  }

  #add(name: string, run: Run): void {
    this.#runs.delete(name);
    this.#runs.set(name, run);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > runsMax && oldest !== undefined) this.#runs.delete(oldest);
  }
}

/** All plants of a search in full, some at a time, those that the list of the console shows. */
async function* readPlants(sql: SqlConnection, filter: Filter): AsyncGenerator<NewPlant[]> {
  for await (const page of searchPages(sql, filter)) yield* inFull(sql, page);
}

async function* inFull(sql: SqlConnection, summaries: readonly PlantSummary[]): AsyncGenerator<NewPlant[]> {
  let plants: NewPlant[] = [];
  let codeUnits = 0;
  for (const summary of summaries) {
    const complete = summary.isTruncated ? await findPlant(sql, summary.id) : summary;
    // The plant has been deleted since.
    if (complete === undefined) continue;
    const plant = toNewPlant(complete.id, complete);
    plants.push(plant);
    codeUnits += countCodeUnits(plant);
    if (codeUnits < chunkCodeUnitsMax) continue;
    yield plants;
    plants = [];
    codeUnits = 0;
  }
  if (plants.length > 0) yield plants;
}
