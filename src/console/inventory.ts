// The console's figures of all plants: their number, their groups, the size of the store, and its
// growth. Plants are counted in parts, so that no list waits for more than one of them.

import { groupField } from "../core/contract/fields.ts";
import type { ServerEvent } from "../core/observability/server-event.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import type { ConsoleContext } from "./context.ts";

/** Only groups with texts of up to so many characters are counted. */
const countedCharacters = 100;

/** Groups that are shown. */
const shownGroupsMax = 20;

/**
 * Groups that are counted at a time. Beyond it those with the fewest plants are forgotten, and counts
 * become estimates.
 */
const countedGroupsMax = 100_000;

/** Null for plants without a group, and those whose group is long. */
const groupText =
  groupField === undefined
    ? "NULL"
    : `CASE WHEN length(${groupField}) <= ${countedCharacters} THEN ${groupField} END`;
const columns = ["id", "created_at", ...(groupField === undefined ? [] : [groupField])];

/** How long one part should take, in which a list waits. */
const partMs = 20;
const partPlantsFirst = 10_000;
const partPlantsMax = 500_000;

/** A request waits this long for a count, which is enough for some 100,000 plants. */
const waitMsMax = 150;

/**
 * A count is repeated after this many times its duration, so that it takes at most 4 % of a
 * processor; and not before this.
 */
const durationsBetween = 25;
const betweenMsMin = 2_000;

const hourMs = 3_600_000;
const periods = { hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs, month: 30 * 24 * hourMs } as const;
type Period = keyof typeof periods;
const periodNames = Object.keys(periods) as Period[];

/** The sums of a count that is running. */
class Sums {
  plants = 0;
  /** How many plants were created lately. */
  readonly created: Record<Period, number> = { hour: 0, day: 0, week: 0, month: 0 };
  readonly groups = new Map<string, number>();
  groupsAreExact = true;
}

interface Count extends Readonly<Pick<Sums, "plants" | "created" | "groupsAreExact">> {
  /** Whether this server created and deleted no plant since the count began. */
  readonly isExact: boolean;
  /** The groups that most plants are in, in this order. */
  readonly groups: readonly (readonly [group: string, plants: number])[];
  /** The changes by this server until the count began. */
  readonly changes: number;
  readonly endedAt: number;
  readonly durationMs: number;
}

export class Inventory {
  readonly #context: ConsoleContext;
  #count: Count | undefined;
  #counting: { readonly ended: Promise<void>; readonly found: Sums } | undefined;
  #failure: unknown;
  /** Plants that this server has created and deleted. */
  #created = 0;
  #deleted = 0;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  handle(event: ServerEvent): void {
    if (event.kind === "requestCompleted" && event.request.result === "created") this.#created++;
    else if (event.kind === "plantsChanged") {
      this.#created += event.created;
      this.#deleted += event.deleted;
    }
  }

  /** Call it when all plants were replaced. The result of a count that is running is dropped. */
  clear(): void {
    this.#created = 0;
    this.#deleted = 0;
    this.#count = undefined;
    this.#counting = undefined;
  }

  async figures() {
    const { store, now } = this.#context;
    if (this.#isStale(now())) this.#counting ??= this.#startCount();
    if (this.#counting !== undefined) await Promise.race([this.#counting.ended, Bun.sleep(waitMsMax)]);
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    const bytes = await store.bytesOnDisk();
    const count = this.#count;
    return {
      plants: count ? Math.max(0, count.plants + this.#netChanges() - count.changes) : null,
      isExact: count?.isExact ?? false,
      countedSoFar: this.#counting?.found.plants ?? null,
      groups: count?.groups ?? null,
      groupsAreExact: count?.groupsAreExact ?? false,
      bytes: bytes ?? null,
      created: count?.created ?? null,
    };
  }

  #netChanges(): number {
    return this.#created - this.#deleted;
  }

  #isStale(now: number): boolean {
    if (this.#count === undefined) return true;
    const { endedAt, durationMs } = this.#count;
    return now - endedAt > Math.max(betweenMsMin, durationsBetween * durationMs);
  }

  #startCount() {
    // Each count has its own sums: one that began before the plants were replaced may still be
    // running.
    const found = new Sums();
    return { ended: this.#recount(found), found };
  }

  async #recount(found: Sums): Promise<void> {
    const { now } = this.#context;
    const startedAt = now();
    const [changes, edits] = [this.#netChanges(), this.#edits()];
    try {
      await this.#countParts(found);
      if (this.#counting?.found !== found) return;
      this.#count = {
        ...found,
        isExact: this.#edits() === edits,
        groups: [...found.groups].toSorted(([, one], [, other]) => other - one).slice(0, shownGroupsMax),
        changes,
        endedAt: now(),
        durationMs: now() - startedAt,
      };
    } catch (error) {
      if (this.#counting?.found !== found) return;
      this.#failure = error;
    }
    this.#counting = undefined;
  }

  /** Creates and deletions by this server. */
  #edits(): number {
    return this.#created + this.#deleted;
  }

  async #countParts(found: Sums): Promise<void> {
    const { reader, now } = this.#context;
    const sql = await reader();
    const times = periodNames.map((name) => Math.floor(Date.now() - periods[name]));
    const { groups } = found;
    let partPlants = partPlantsFirst;
    for (let afterId: bigint | undefined; ; ) {
      const startedAt = now();
      const rows = await countPart(sql, afterId, partPlants, times);
      if (rows.length === 0) return;
      for (const row of rows) {
        const { group_text: group, last } = row;
        const plants = Number(row.plants);
        found.plants += plants;
        for (const name of periodNames) found.created[name] += Number(row[name]);
        if (group !== null) groups.set(group, (groups.get(group) ?? 0) + plants);
        if (afterId === undefined || last > afterId) afterId = last;
      }
      if (groups.size > countedGroupsMax) {
        forgetRare(groups);
        found.groupsAreExact = false;
      }
      const tookMs = Math.max(now() - startedAt, partMs / 4);
      partPlants = Math.min(partPlantsMax, Math.max(1_000, Math.ceil((partPlants * partMs) / tookMs)));
    }
  }
}

type Row = { readonly group_text: string | null; readonly plants: bigint; readonly last: bigint } & Readonly<
  Record<Period, bigint>
>;

/** The plants of a group each, of at most `plantsMax` plants with greater ids than `afterId`. */
function countPart(
  sql: SqlConnection,
  afterId: bigint | undefined,
  plantsMax: number,
  times: readonly number[],
): Promise<Row[]> {
  const created = periodNames.map(
    (name, index) => `count(CASE WHEN created_at >= $${index + 2} THEN 1 END) AS ${name}`,
  );
  const where = afterId === undefined ? "" : `WHERE id > $${times.length + 2}`;
  return sql.query(
    `SELECT ${groupText} AS group_text, count(*) AS plants, max(id) AS last, ${created.join(", ")}
     FROM (SELECT ${columns.join(", ")} FROM plants ${where} ORDER BY id LIMIT $1) AS part GROUP BY 1`,
    [plantsMax, ...times, ...(afterId === undefined ? [] : [afterId])],
  );
}

/** Keeps the half of the groups that have the most plants. */
function forgetRare(groups: Map<string, number>): void {
  const rare = [...groups].toSorted(([, one], [, other]) => one - other).slice(0, countedGroupsMax / 2);
  for (const [group] of rare) groups.delete(group);
}
