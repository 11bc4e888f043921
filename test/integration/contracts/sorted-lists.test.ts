// Holds sorted lists against a plain sort in memory, on every engine: values of each type, ids of each
// kind, pages of each kind, and cursors while things come and go.

import { beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Collection, Plant } from "../../../src/contract/contract.ts";
import { parsePlantJson } from "../../../src/contract/plant.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { conditionsOf, filterParameters } from "../../../src/plants/list-filters.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { ListScan } from "../../../src/store/shared/list-scan.ts";
import { type OrderPlace, placeIn } from "../../../src/store/shared/page-order.ts";
import type { SqlWork } from "../../../src/store/shared/sql-work.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { engines } from "../../support/engines.ts";
import { openedStore, runSql, unexpected } from "../../support/stored-plants.ts";

type Value = string | number | boolean | null | undefined;
type Thing = Readonly<Record<string, Value>>;

/** A number is its text. */
const numbers = new Set(["price", "weight", "size", "rank", "factor"]);

const decimals = fc.oneof(
  fc.constantFrom("0", "-0", "0.0", "1", "1.0", "1.00", "-1.25", "-1.2", "-12", "1e3", "1000.0", "-0.001"),
  fc
    .tuple(fc.constantFrom("", "-"), fc.bigInt(0n, 10n ** 20n), fc.stringMatching(/^[0-9]{1,17}$/))
    .map(([sign, whole, below]) => `${sign}${whole}.${below}`),
  fc.constantFrom(
    "12345678901234567890123456789012345678",
    "12345678901234567890123456789012345679",
    "-12345678901234567890123456789012345678",
    "0.12345678901234567890123456789012345678",
  ),
);
const times = fc
  .tuple(
    fc.constantFrom("2024-02-29", "2023-12-31", "2024-01-01", "2024-03-01", "0001-01-01", "9998-12-31"),
    fc.constantFrom("00:00:00", "23:30:00", "01:30:00", "12:00:07", "12:00:59"),
    fc.constantFrom("", ".5", ".500", ".1234567890123", ".12345678901230", ".0"),
    fc.constantFrom("Z", "z", "+01:00", "-01:30", "+00:00", "+14:00"),
  )
  .map(([date, time, fraction, zone]) => `${date}T${time}${fraction}${zone}`);
const texts = fc.oneof(
  fc.constantFrom("a", "B", "Ab", "ab", "é", "z", "Z", "", " ", "null", '"a"', "\u{1F600}", "\uFFFD", "aa"),
  fc.string({ unit: "binary", maxLength: 4 }).filter((each) => each.isWellFormed() && !each.includes("\0")),
);
const integers = fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(-2n, 2n)).map(String);
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 3 });
const orNull = <T>(values: fc.Arbitrary<T>) => optional(fc.option(values, { nil: null, freq: 3 }));
const members = {
  name: texts,
  price: optional(fc.bigInt(-500n, 500n).map((cents) => (Number(cents) / 100).toFixed(2))),
  weight: optional(decimals),
  size: optional(integers),
  due: optional(times),
  day: optional(fc.constantFrom("2024-02-29", "2023-12-31", "2024-01-01")),
  kind: optional(fc.constantFrom("raw", "made")),
  isNew: optional(fc.boolean()),
  rank: orNull(integers),
  note: orNull(texts),
  factor: orNull(decimals),
  seen: orNull(times),
};
const names = Object.keys(members);
const things: fc.Arbitrary<Thing> = fc.record(members);

function bodyOf(thing: Thing, id?: string): string {
  const written = Object.entries({ ...(id !== undefined && { id }), ...thing }).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`"${name}":${numbers.has(name) && value !== null ? value : JSON.stringify(value)}`],
  );
  return `{${written.join(",")}}`;
}

/** A decimal number times ten to the power of 40. */
function scaled(text: string): bigint {
  const [, sign, whole = "", below = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e(\d+))?$/.exec(text) ?? [];
  const digits = BigInt(whole + below.padEnd(40, "0")) * 10n ** BigInt(exponent);
  return sign === "-" ? -digits : digits;
}

/** The instant of a time of RFC 3339, in units of 10 to the power of -20 seconds. */
function instant(text: string): bigint {
  const [, whole, fraction = "", zone] =
    /^([^.]*?:\d\d:\d\d)(?:\.(\d+))?(z|Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  return BigInt(Date.parse(`${whole}${zone?.toUpperCase()}`)) * 10n ** 17n + BigInt(fraction.padEnd(20, "0"));
}

const bytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
const byValue = <V extends bigint | boolean>(one: V, other: V) => (one < other ? -1 : one > other ? 1 : 0);

function compare(name: string, one: Value, other: Value): number {
  if (numbers.has(name)) return byValue(scaled(String(one)), scaled(String(other)));
  if (name === "due" || name === "seen") return byValue(instant(String(one)), instant(String(other)));
  return typeof one === "boolean" ? byValue(one, other === true) : bytes(String(one), String(other));
}

type Term = readonly [name: string, isDescending: boolean];
interface Stored {
  readonly id: string;
  readonly thing: Thing;
}

/** @param compareIds their order, which that of the first property turns around. */
function sorted(
  all: readonly Stored[],
  terms: readonly Term[],
  compareIds: (one: string, other: string) => number,
) {
  return all.toSorted((one, other) => {
    for (const [name, isDescending] of terms) {
      const [left, right] = [one.thing[name] ?? null, other.thing[name] ?? null];
      if ((left === null) !== (right === null)) return left === null ? 1 : -1;
      const order = left === null ? 0 : compare(name, left, right);
      if (order !== 0) return isDescending ? -order : order;
    }
    const order = compareIds(one.id, other.id);
    return terms[0]?.[1] ? -order : order;
  });
}

const orders = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...names), fc.boolean()), {
    selector: ([name]) => name,
    minLength: 1,
    maxLength: 3,
  })
  .map((terms) => terms as readonly Term[]);
const signed = (terms: readonly Term[]) =>
  terms.map(([name, isBack]) => (isBack ? "-" : "") + name).join(",");
type Test = (order: number) => boolean;
const tests: Readonly<Record<string, Test>> = {
  ...{ eq: (order) => order === 0, ne: (order) => order !== 0, gt: (order) => order > 0 },
  ...{ gte: (order) => order >= 0, lt: (order) => order < 0, lte: (order) => order <= 0 },
};
/** The parameters of a list with the properties and the comparisons that they mean. */
const comparisons = [
  ...[
    ["price_gte", "price", "gte"],
    ["price[lt]", "price", "lt"],
    ["min_weight", "weight", "gte"],
  ],
  ...[
    ["weightMax", "weight", "lte"],
    ["weight", "weight", "eq"],
    ["size__gte", "size", "gte"],
  ],
  ...[
    ["size__lt", "size", "lt"],
    ["due_after", "due", "gt"],
    ["dueBefore", "due", "lt"],
    ["due", "due", "eq"],
  ],
  ...[
    ["day_from", "day", "gte"],
    ["dayTo", "day", "lte"],
    ["name_gt", "name", "gt"],
    ["isNew", "isNew", "eq"],
  ],
  ...[
    ["kind_ne", "kind", "ne"],
    ["rank_gte", "rank", "gte"],
    ["factor_lte", "factor", "lte"],
  ],
  ...[
    ["seen_since", "seen", "gte"],
    ["note", "note", "eq"],
    ["smallerThan", "size", "lt"],
  ],
] as unknown as readonly (readonly [parameter: string, name: keyof typeof members, test: string])[];
const filters = fc.uniqueArray(
  fc.constantFrom(...comparisons).chain(([parameter, name, test]) =>
    // Null cannot be sent, and a parameter without a text is not one.
    (members[name] as fc.Arbitrary<Value>)
      .filter((value) => value !== undefined && value !== null)
      .map((value) => ({ parameter, name, test, value: value as Value })),
  ),
  { selector: ({ parameter }) => parameter, minLength: 1, maxLength: 2 },
);

type Sent = { readonly name: keyof typeof members; readonly test: string; readonly value: Value };
const fittingAll =
  (sent: readonly Sent[]) =>
  ({ thing }: Stored) =>
    sent.every(({ name, test, value }) => {
      const own = thing[name] ?? null;
      return own === null ? test === "ne" : tests[test]?.(compare(name, own, value)) === true;
    });

const runs = { numRuns: 50, endOnFailure: true };
const integerOrder = (one: string, other: string) => byValue(BigInt(one), BigInt(other));

for (const engine of engines)
  describe(`${engine.name}: sorted lists`, () => {
    const { request } = contractServer(engine, "stock.yaml");
    const stored: Record<string, Stored[]> = { items: [], parts: [], codes: [] };
    const idsOf = (text: string) => [...text.matchAll(/\{"id":"?([^",}]+)/g)].map(([, id]) => id as string);
    const create = async (collection: string, thing: Thing) => {
      const sent = collection === "codes" ? `c${stored.codes?.length}` : undefined;
      const { status, text } = await request("POST", `/${collection}`, bodyOf(thing, sent));
      expect([status, text]).toEqual([201, expect.any(String)]);
      return { id: idsOf(text)[0] as string, thing };
    };
    const list = async (at: string) => {
      const { status, text, json } = await request("GET", at);
      expect([at, status, status === 200 ? "" : text]).toEqual([at, 200, ""]);
      return { ids: idsOf(text), json: json as { readonly next_cursor?: string | null } };
    };
    beforeAll(async () => {
      const some = fc.sample(things, { numRuns: 60, seed: 1 });
      for (const collection of Object.keys(stored))
        for (const thing of some) stored[collection]?.push(await create(collection, thing));
    }, 60_000);

    test("by number, with Spring's parameters", () =>
      fc.assert(
        fc.asyncProperty(orders, fc.nat(4), fc.integer({ min: 7, max: 40 }), async (terms, page, size) => {
          const all = sorted(stored.parts ?? [], terms, bytes).map(({ id }) => id);
          const order = terms.map(([name, isBack]) => `&sort=${name}${isBack ? ",desc" : ""}`).join("");
          const { ids } = await list(`/parts?page=${page}&size=${size}${order}`);
          expect(ids).toEqual(all.slice(page * size, (page + 1) * size));
        }),
        runs,
      ));

    test("by offset, with a direction of its own", () =>
      fc.assert(
        fc.asyncProperty(
          orders,
          fc.boolean(),
          fc.integer({ min: 0, max: 70 }),
          async (terms, isBack, offset) => {
            const own = terms.map(([name]): Term => [name, isBack]);
            const all = sorted(stored.codes ?? [], own, bytes).map(({ id }) => id);
            const order = `order_by=${own.map(([name]) => name).join()}&order=${isBack ? "DESC" : "asc"}`;
            // An enum in the description says "asc" and "desc".
            const { ids } = await list(`/codes?${order.replace("DESC", "desc")}&offset=${offset}&limit=9`);
            expect(ids).toEqual(all.slice(offset, offset + 9));
          },
        ),
        runs,
      ));

    test(
      "between limits, while they are sorted",
      () =>
        fc.assert(
          fc.asyncProperty(filters, orders, async (sent, terms) => {
            const query = sent.map(
              ({ parameter, value }) =>
                `&${encodeURIComponent(parameter)}=${encodeURIComponent(String(value))}`,
            );
            const all = sorted((stored.items ?? []).filter(fittingAll(sent)), terms, integerOrder).map(
              ({ id }) => id,
            );
            const { ids } = await list(`/items?limit=100&sort=${signed(terms)}${query.join("")}`);
            const { ids: unsorted } = await list(`/items?limit=100${query.join("")}`);
            expect([query, ids]).toEqual([query, all]);
            expect(unsorted).toEqual(all.toSorted(integerOrder));
          }),
          { numRuns: 80, endOnFailure: true },
        ),
      60_000,
    );

    test("one of several values", async () => {
      const having = (test: (thing: Thing) => boolean) =>
        (stored.items ?? []).flatMap(({ id, thing }) => (test(thing) ? [id] : [])).toSorted(integerOrder);
      const found = async (query: string) => (await list(`/items?limit=100&${query}`)).ids;
      const both = having(({ kind }) => kind !== undefined);
      expect(await found("kind=raw,made")).toEqual(both);
      expect(await found("kind=raw&kind=made")).toEqual(both);
      expect(await found("kind=raw")).toEqual(having(({ kind }) => kind === "raw"));
      // A text may have a comma.
      expect(await found("names=a,B")).toEqual([]);
      expect(await found("names=a&names=B")).toEqual(having(({ name }) => name === "a" || name === "B"));
      const [kinds, some] = ["kind=raw&".repeat(101), "names=a%1Fb&".repeat(101)];
      for (const [query, message] of [
        [kinds, '"kind" must be at most 100 values, each one of "raw", "made", but is "raw,raw,'],
        [some, '"names" must be at most 100 values, each a string, but is "a\\u001fb,'],
      ] as const)
        expect((await request("GET", `/items?${query}`)).json).toMatchObject({
          message: expect.stringContaining(message),
        });
      // It once was between the values of a parameter that was repeated.
      expect(await found("names=a%1FB")).toEqual([]);
      expect(await found("created_before=9999-01-01")).toEqual(having(() => true));
      expect(await found("created_before=2020-01-01T00:00:00Z")).toEqual([]);
      const status = async (query: string) => (await request("GET", `/items?${query}`)).status;
      for (const wrong of ["kind=raw,none", "size__gte=1.5", "due_after=tomorrow", "due_after=2024-13-01"])
        expect([wrong, await status(wrong)]).toEqual([wrong, 400]);
      const noDay = (await request("GET", "/items?dayTo=2024-02-30")).json;
      const message = '"dayTo" must be a date such as 2026-11-24, but is "2024-02-30"';
      expect(noDay).toMatchObject({ error: 40004, message: expect.stringContaining(message) });
      expect(await status("other=1")).toBe(501);
    });

    test("a cursor with a value that nothing has is refused", async () => {
      const altered: Readonly<Record<string, readonly unknown[]>> = {
        name: ["a\0b", "\ud800", 1],
        price: ["abc", "", "--1", "1e999"],
        size: ["9".repeat(30), "1.5", "abc"],
        rank: ["9".repeat(30), '"x"', "1.5", "{"],
        note: ['"a\\u0000b"', '"\\ud800"'],
        factor: ["abc", '"1"'],
        created_at: ["9".repeat(30)],
      };
      for (const [name, values] of Object.entries(altered)) {
        const { json } = await list(`/items?sort=${name}&limit=1`);
        const [order, , id] = JSON.parse(
          Buffer.from(json.next_cursor?.slice(1) ?? "", "base64url").toString(),
        );
        for (const [value, ofId] of [
          ...values.map((each) => [each, id]),
          [null, "a\0"],
          [null, "9".repeat(30)],
        ]) {
          const cursor = `~${Buffer.from(JSON.stringify([order, [value], ofId])).toString("base64url")}`;
          const { status } = await request("GET", `/items?sort=${name}&cursor=${cursor}`);
          expect([name, value, status]).toEqual([name, value, 400]);
        }
      }
    });

    test("a time with thousands of digits is stored, and found", async () => {
      const due = `2024-01-01T00:00:00.${String(7n ** 4_000n)}Z`;
      const { id } = await create("items", { name: "long", due });
      expect((await list(`/items?due=${due}`)).ids).toEqual([id]);
      expect((await list("/items?due=2024-01-01T00:00:00.0Z")).ids).not.toContain(id);
      await request("DELETE", `/items/${id}`);
    });

    test("after all of a day", async () => {
      const midnight = instant("2024-01-02T00:00:00Z");
      const after = (stored.items ?? []).filter(
        ({ thing: { due } }) => typeof due === "string" && instant(due) >= midnight,
      );
      const { ids } = await list("/items?limit=100&due_after=2024-01-01");
      expect(ids).toEqual(after.map(({ id }) => id).toSorted(integerOrder));
    });

    test(
      "by cursor, while others come and go",
      () =>
        fc.assert(
          fc.asyncProperty(orders, fc.integer({ min: 5, max: 30 }), things, async (terms, limit, other) => {
            const all = sorted(stored.items ?? [], terms, integerOrder).map(({ id }) => id);
            const found: string[] = [];
            const others: string[] = [];
            let pages = 0;
            for (let cursor: string | null = ""; cursor !== null; ) {
              const at: string = `/items?sort=${signed(terms)}&limit=${limit}${cursor && `&cursor=${cursor}`}`;
              const { ids, json } = await list(at);
              found.push(...ids);
              cursor = json.next_cursor ?? null;
              // The last one of a page is gone when the next page is asked for.
              for (const id of others.splice(0)) await request("DELETE", `/items/${id}`);
              if (pages++ < 4) others.push((await create("items", other)).id);
            }
            for (const id of others) await request("DELETE", `/items/${id}`);
            const known = new Set(all);
            expect(found.filter((id) => known.has(id))).toEqual(all);
            expect(new Set(found).size).toBe(found.length);
          }),
          { numRuns: 12, endOnFailure: true },
        ),
      60_000,
    );
  });

for (const engine of engines)
  describe(`${engine.name}: lists in stretches`, () => {
    test("find what a plain filter and sort find, whatever is written meanwhile", async () => {
      const contract = { text: await Bun.file(contractFile("stock.yaml")).text() };
      await using place = await engine.createTestStore(contract);
      await using store = await openedStore(place.database, unexpected, contract);
      await using sql = await store.openSql();
      const collection = store.contract.collections.find(({ name }) => name === "items") as Collection;
      const create = async (some: readonly Stored[]) => {
        const plants = some.map(({ id, thing }) =>
          parsePlantJson(collection, bodyOf(thing), () => BigInt(id)),
        );
        await store.create(toEntries(collection, plants as Plant[]));
      };
      const noiseFrom = 1_000;
      const all = fc
        .sample(things, { numRuns: 40, seed: 2 })
        .map((thing, index) => ({ id: String(7 * index), thing }));
      await create(all);
      let noise = noiseFrom;
      /** Runs statements one by one, between which others come and go. */
      const run = async <Result>(work: SqlWork<Result>, isNoisy: boolean): Promise<Result> => {
        let step = work.next();
        for (let statements = 0; step.done !== true; statements++) {
          const [{ sql: text, parameters } = { sql: "" }] = step.value;
          step = work.next([await sql.query(text, parameters)]);
          if (isNoisy && statements % 8 === 1)
            await create([{ id: String(noise++), thing: all[noise % all.length]?.thing ?? {} }]);
          if (isNoisy && statements % 32 === 7)
            await runSql(place.database, `DELETE FROM items WHERE id >= ${noiseFrom}`);
        }
        return step.value;
      };
      const sizes = fc.record({ stretch: fc.integer({ min: 2, max: 20 }), few: fc.constantFrom(1, 5, 30) });
      const someFilters = fc.oneof(filters, fc.constant([]));
      const someOrders = fc.oneof(orders, fc.constant([]));
      await fc.assert(
        fc.asyncProperty(
          ...([someFilters, someOrders, sizes, fc.integer({ min: 4, max: 30 }), fc.boolean()] as const),
          async (sent, named, size, rowsMax, isNoisy) => {
            const parameters = filterParameters(collection);
            const conditions = sent.flatMap(({ parameter, value }) =>
              conditionsOf(collection, { [parameter]: parameters[parameter]?.parse(String(value)) }),
            );
            const terms = named.map(([name, isDescending]) => ({
              key: collection.list.sort?.keys.get(name) as number,
              isDescending,
            }));
            const fits = fittingAll(sent);
            const right = sorted(all.filter(fits), named, integerOrder).map(({ id }) => id);
            const found: string[] = [];
            const list = { table: collection.table, conditions, terms, offset: 0 };
            for (let after: OrderPlace | undefined, isEnd = false; !isEnd; ) {
              const scan = new ListScan(collection, { ...list, after }, sql, size);
              // Its time is always up.
              const { rows, rest } = await run(scan.find<object>("1", rowsMax, -1), isNoisy);
              found.push(...rows.map(({ id }) => String(id)));
              after = rest?.after ?? (rows.length > 0 ? placeIn(rows.at(-1) as { id: PlantId }) : after);
              isEnd = rest === undefined && rows.length < rowsMax;
            }
            expect(found.filter((id) => Number(id) < noiseFrom)).toEqual(right);
            expect(new Set(found).size).toBe(found.length);
            await runSql(place.database, `DELETE FROM items WHERE id >= ${noiseFrom}`);
            const offset = Math.floor(right.length / 2);
            const skipping = new ListScan(collection, { ...list, after: undefined, offset }, sql, size);
            const { rows } = await run(skipping.find<object>("1", rowsMax, Infinity), false);
            expect(rows.map(({ id }) => String(id))).toEqual(right.slice(offset, offset + rowsMax));
            const counting = { ...list, terms: [], after: undefined, offset: Number.MAX_SAFE_INTEGER };
            const { count } = await run(new ListScan(collection, counting, sql, size).count(Infinity), false);
            expect(count).toBe(right.length);
          },
        ),
        { numRuns: 40, endOnFailure: true },
      );
    }, 120_000);
  });
