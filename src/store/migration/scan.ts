// Reads what is stored with a contract that restricts it further, while servers go on: triggers write
// down what they create and change meanwhile, which is read again before the contract is switched.

import { OperatorError } from "../../base/operator-error.ts";
import {
  type Collection,
  countCodeUnits,
  type Plant,
  type PlantColumns,
  wholeOf,
} from "../../contract/contract.ts";
import { parsePlantJson, responseJson, toValues } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { scanJson } from "../../json/json-scanner.ts";
import { list, query, type SqlWork } from "../shared/sql-work.ts";
import type { ContractChange, KeptCollection } from "./contract-change.ts";
import { type Engine, literal } from "./schema.ts";

/** How many of those that do not fit are named. */
const namedMax = 10;

/** Rows of a page, which is in memory; a page after long ones has fewer. */
const pageRowsMax = 500;
const pageCodeUnits = 2 ** 22;

/** Rows that were written down are read in parts, and the last part in the transaction that switches. */
const touchedRowsMax = 2_000;

/** The table of what was created or changed during a scan. */
const touchedTable = "x_touched";

const functionName = "plantstore_touched";

/** A resource that does not fit, and why. */
interface Misfit {
  readonly id: PlantId;
  readonly reason: string;
}

export class Scan {
  readonly #engine: Engine;
  readonly #change: ContractChange;
  /** The collections whose resources may not fit. */
  readonly #kept: readonly KeptCollection[];
  readonly #misfits = new Map<KeptCollection, Misfit[]>();
  /** Whether triggers write down what changes: Citus has none on distributed tables. */
  #isTouchKept = false;

  constructor(engine: Engine, change: ContractChange) {
    this.#engine = engine;
    this.#change = change;
    this.#kept = change.kept.filter(({ isRestricted }) => isRestricted);
  }

  get isNeeded(): boolean {
    return this.#kept.length > 0;
  }

  /** Counts the rows to read. */
  *count(): SqlWork<number> {
    let rows = 0;
    for (const { stored } of this.#kept) {
      const [row] = yield* query<{ plants: bigint | string }>(
        `SELECT count(*) AS plants FROM "${stored.table}"`,
      );
      rows += Number(row?.plants);
    }
    return rows;
  }

  /** Starts to write down what is created and changed. */
  *begin(): SqlWork<void> {
    if (this.#engine === "postgres") {
      const [row] = yield* query<{ shards: string | null }>(
        "SELECT current_setting('citus.shard_count', true) AS shards",
      );
      if (row?.shards != null) return;
    }
    yield* this.end();
    yield this.#triggerStatements().map((sql) => ({ sql }));
    this.#isTouchKept = true;
  }

  /** Removes the triggers, also those of a scan that was killed. */
  *end(): SqlWork<void> {
    const { table } = this.#kept[0]?.stored ?? {};
    if (table === undefined) return;
    if (this.#engine === "postgres") yield [{ sql: `DROP FUNCTION IF EXISTS ${functionName} CASCADE` }];
    else {
      const triggers = yield* query<{ name: string }>(
        `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '${touchedTable}%'`,
      );
      yield triggers.map(({ name }) => ({ sql: `DROP TRIGGER "${name}"` }));
    }
    yield [{ sql: `DROP TABLE IF EXISTS ${touchedTable}` }];
    this.#isTouchKept = false;
  }

  /** Reads all pages, each in a transaction of its own. */
  async readAll(
    transaction: <Result>(work: () => SqlWork<Result>) => Result | Promise<Result>,
    onRead: (rows: number) => void,
  ): Promise<void> {
    if (!this.#isTouchKept) return;
    let read = 0;
    for (const kept of this.#kept) {
      let count = 50;
      for (let after: PlantId | undefined; ; ) {
        const page = await transaction(() => this.#readPage(kept, after, count));
        if (page.last === undefined) break;
        after = page.last;
        count = page.next;
        read += page.rows;
        onRead(read);
        if (this.#misfitsOf(kept).length >= namedMax) break;
      }
    }
    this.assertFits();
    while ((await transaction(() => this.#readTouched())) === touchedRowsMax);
    this.assertFits();
  }

  /** Reads the rest, in the transaction that switches. Throws an OperatorError if one does not fit. */
  *finish(): SqlWork<void> {
    if (!this.isNeeded) return;
    if (this.#engine === "postgres") {
      const tables = this.#kept.map(({ stored }) => `"${stored.table}"`);
      yield [{ sql: `LOCK TABLE ${tables.join(", ")} IN ACCESS EXCLUSIVE MODE` }];
    }
    if (this.#isTouchKept) {
      while ((yield* this.#readTouched()) === touchedRowsMax);
    } else
      for (const kept of this.#kept)
        for (let after: PlantId | undefined; ; ) {
          const page = yield* this.#readPage(kept, after, pageRowsMax);
          if (page.last === undefined) break;
          after = page.last;
        }
    this.assertFits();
    yield* this.end();
  }

  /** Throws an OperatorError that names the first resources that do not fit. */
  assertFits(): void {
    for (const [{ stored, wanted }, misfits] of this.#misfits) {
      const { words, id } = stored;
      const named = misfits.slice(0, namedMax).map((each) => `${id.type.toJson(each.id)} (${each.reason})`);
      const count = misfits.length >= namedMax ? `${namedMax} or more` : String(misfits.length);
      const gone = this.#change.dropped.filter(({ table }) => table === stored.table);
      const renamed =
        gone.length === 0
          ? ""
          : `; "${gone.map(({ name }) => name).join('", "')}" would be gone: say a new name with --rename-fields`;
      throw new OperatorError(
        `the store has another contract, which it keeps: ${count} of its ${words.many} do not fit ${wanted.path} of this one: ${named.join(", ")}${renamed}; correct or delete them first, or export, and import into a new store`,
      );
    }
  }

  #misfitsOf(kept: KeptCollection): Misfit[] {
    return this.#misfits.get(kept) ?? [];
  }

  *#readPage(kept: KeptCollection, after: PlantId | undefined, count: number) {
    const where = after === undefined ? "" : "WHERE id > $1 ";
    const rows = yield* query<PlantColumns & { readonly id: bigint | string }>(
      `${selectOf(kept)} ${where}ORDER BY id LIMIT ${count}`,
      after === undefined ? [] : [after],
    );
    const codeUnits = this.#check(kept, rows);
    const mean = 1 + codeUnits / Math.max(rows.length, 1);
    const last = rows.at(-1)?.id;
    return {
      rows: rows.length,
      last: last === undefined ? undefined : kept.stored.id.type.fromColumn(last),
      next: Math.max(1, Math.min(pageRowsMax, Math.floor(pageCodeUnits / mean))),
    };
  }

  /** Reads some of what was written down; the number of its lines. */
  *#readTouched(): SqlWork<number> {
    const line = this.#engine === "postgres" ? "ctid" : "rowid";
    const touched = yield* query<{ name: string; id: string }>(
      `DELETE FROM ${touchedTable} WHERE ${line} IN (SELECT ${line} FROM ${touchedTable} LIMIT ${touchedRowsMax})
       RETURNING name, id`,
    );
    for (const kept of this.#kept) {
      const { table, id } = kept.stored;
      const own = touched.filter(({ name }) => name === table).map((each) => id.type.fromColumn(each.id));
      const ids = [...new Set(own)];
      for (let start = 0; start < ids.length; start += pageRowsMax) {
        const some = ids.slice(start, start + pageRowsMax);
        this.#check(kept, yield* query(`${selectOf(kept)} WHERE id IN ${list(some)}`, some));
      }
    }
    return touched.length;
  }

  /** Keeps those that do not fit; the length of the texts of all. */
  #check(kept: KeptCollection, rows: readonly (PlantColumns & { readonly id?: unknown })[]): number {
    const { wanted } = kept;
    let codeUnits = 0;
    for (const row of rows) {
      const id = wanted.id.type.fromColumn(row.id as bigint | string);
      const values = toValues(wanted, row).map((value, index) => {
        const { isRequired, fill } = wanted.fields[index] ?? {};
        return value === undefined && isRequired === true ? fill : value;
      });
      codeUnits += countCodeUnits(wanted, values);
      const reason = misfitReason(wanted, id, values);
      if (reason === undefined) continue;
      const misfits = this.#misfitsOf(kept);
      const isKnown = misfits.length >= namedMax || misfits.some((each) => each.id === id);
      if (!isKnown) misfits.push({ id, reason });
      this.#misfits.set(kept, misfits);
    }
    return codeUnits;
  }

  #triggerStatements(): string[] {
    const table = `CREATE TABLE ${touchedTable} (name text NOT NULL, id text NOT NULL)`;
    if (this.#engine === "sqlite")
      return [
        `${table} STRICT`,
        ...this.#kept.flatMap(({ stored }, index) =>
          ["INSERT", "UPDATE"].map(
            (event) => `CREATE TRIGGER ${touchedTable}_${event}_${index} AFTER ${event} ON "${stored.table}"
              BEGIN INSERT INTO ${touchedTable} VALUES (${literal(stored.table, "sqlite")}, CAST(new.id AS text)); END`,
          ),
        ),
      ];
    return [
      table,
      // With the rights of its owner: the role of a server may not write into that table.
      `CREATE FUNCTION ${functionName}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
         SET search_path FROM CURRENT AS
         $$ BEGIN INSERT INTO ${touchedTable} VALUES (TG_TABLE_NAME, NEW.id::text); RETURN NULL; END $$`,
      ...this.#kept.map(
        ({ stored }) =>
          `CREATE TRIGGER ${touchedTable} AFTER INSERT OR UPDATE ON "${stored.table}"
           FOR EACH ROW EXECUTE FUNCTION ${functionName}()`,
      ),
    ];
  }
}

/** Reads rows of the store, with the columns that the wanted contract will have. */
function selectOf({ stored, fields }: KeptCollection): string {
  const columns = fields.map(([before, after]) => `, ${before.column} AS ${after.column}`);
  return `SELECT id${columns.join("")} FROM "${stored.table}"`;
}

/** Why a stored resource does not fit; undefined if it does. */
function misfitReason(wanted: Collection, id: PlantId, values: Plant["values"]) {
  const [hidden] = hiddenMembers(wanted, values);
  if (hidden !== undefined) return `"${hidden}" is one of its other members`;
  const plant = { id, values };
  const { id: member, fields } = wanted;
  const whole = { ...wholeOf(wanted), hasId: member.isAccepted, fields: fields.map(() => true) };
  const parsed = parsePlantJson(
    { ...wanted, allowsOthers: true },
    responseJson(wanted, whole, plant),
    member.isAccepted ? undefined : () => id,
  );
  if ("code" in parsed)
    return (parsed.details.logged ?? parsed.message).replace(/^The body is not [^:]*: |\.$/g, "");
  const accepted = member.isAccepted ? parsed.id : member.type.parse(String(id));
  return accepted === id ? undefined : `"${member.name}" must be ${member.type.expected}`;
}

/**
 * Members that were stored with the other ones, before the contract had properties of their names: a
 * response would have them twice.
 */
function hiddenMembers({ id, fields }: Collection, values: Plant["values"]): string[] {
  const others = values[fields.findIndex(({ isOthers }) => isOthers)];
  if (typeof others !== "string") return [];
  const named = fields.filter(({ isOthers }) => !isOthers).map(({ name }) => name);
  const found = scanJson(others, [id.name, ...named]);
  return "error" in found ? [] : [...found.members.keys()];
}
