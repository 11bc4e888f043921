// The import of one file into a collection, as the command and the console run it.

import type { Collection } from "../contract/contract.ts";
import type { EditRun } from "../plants/edit-run.ts";
import { freeIdsOf } from "../plants/new-ids.ts";
import type { PlantStore } from "../store/plant-store.ts";
import { keepsKeys } from "../store/shared/create-key.ts";
import type { TokenStore } from "../store/shared/sql-tokens.ts";
import type { SqlConnection } from "../store/sql-connection.ts";
import { type ContentNames, openContent } from "./content.ts";
import type { CsvHeader } from "./csv.ts";
import { EncodingGuess } from "./encoding.ts";
import { readRecords } from "./file-format.ts";
import type { FormatName } from "./format-names.ts";
import { importPlants, newCounts } from "./import.ts";
import { type Difference, dryStore, Replacement } from "./import-update.ts";
import { RejectionReport } from "./rejections.ts";

interface ImportJobOptions {
  readonly collection: Collection;
  readonly create: PlantStore["create"];
  /** Opens a connection that reads the store; called only if one is needed. */
  readonly openSql: () => Promise<SqlConnection>;
  /** The run of the history in which stored plants that differ are replaced; otherwise they stay. */
  readonly run: EditRun | undefined;
  /** Whether outcomes are only counted. */
  readonly isDry: boolean;
  readonly recordBytesMax: number;
  /** Makes the ids of records without one, where the server makes ids. */
  readonly key: string;
  /** Stores the names of creators, if an import keeps when and by whom plants were created. */
  readonly creators?: Pick<TokenStore, "creatorKeys"> | undefined;
  /** Gets the report on a rejected record. */
  readonly onRejected?: ((text: Buffer, format: FormatName) => void) | undefined;
  readonly onBatch?: () => void;
  /** Ends the import after the batch that is in flight. */
  readonly signal: AbortSignal;
}

/** Imports one file. Its counts and findings can be read also after a failure. */
export class ImportJob {
  readonly counts = newCounts();
  readonly encoding = new EncodingGuess();
  /** The format of the report on rejected records; undefined before the file is opened. */
  format: FormatName | undefined;
  /** The columns that are not read. */
  ignored: readonly string[] = [];
  /** The first records that replace a plant. */
  differences: readonly Difference[] = [];
  readonly #options: ImportJobOptions;

  constructor(options: ImportJobOptions) {
    this.#options = options;
  }

  /** Rejects with an OperatorError if the rest of the file cannot be imported. */
  async run(file: AsyncIterable<Uint8Array>, names: ContentNames): Promise<void> {
    const { collection, create, openSql, run, isDry, key, creators, onRejected, ...options } = this.#options;
    const { counts, encoding } = this;
    const { format, chunks } = await openContent(file, names);
    const sql = isDry || run !== undefined || keepsKeys(collection) ? await openSql() : undefined;
    const replacement = sql && run && new Replacement(collection, sql, isDry ? undefined : run);
    this.differences = replacement?.differences ?? [];
    const freeIds = sql && freeIdsOf(collection, sql, () => undefined);
    const report = new RejectionReport(collection, format);
    this.format = report.format;
    const onHeader = (header: CsvHeader) => {
      this.ignored = header.ignored;
      replacement?.onHeader(header);
      report.onHeader(header);
    };
    const reading = { ...options, encoding, onHeader, keepsCreations: creators !== undefined };
    await importPlants(
      readRecords(collection, format, chunks, reading, key),
      sql && isDry ? dryStore(collection, sql) : { collection, create, freeIds },
      {
        ...options,
        counts,
        replacement,
        creators: isDry ? undefined : creators,
        onRejected: (record) => onRejected?.(report.add(record), report.format),
      },
    );
  }
}
