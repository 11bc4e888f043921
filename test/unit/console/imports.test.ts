// Imports of the console: in parts, on a store that commits when the test says so, and on one in
// memory.

import { expect, test } from "bun:test";
import { Edits } from "../../../src/console/edits.ts";
import { Imports } from "../../../src/console/imports.ts";
import { BadRequestError } from "../../../src/console/responses.ts";
import type { NewEntry, Outcome } from "../../../src/core/store/plant-store.ts";
import { consoleContext, importColumns, MemoryContext } from "../../support/console.ts";
import { plantJson } from "../../support/http.ts";
import { settled } from "../../support/settled.ts";

class HeldStore {
  readonly ids = new Set<bigint>();
  /** Resolves when the first batch is there. */
  readonly arrived = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();

  async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    this.arrived.resolve();
    await this.#released.promise;
    return batch.map(({ plant: { id } }) => {
      const outcome = this.ids.has(id) ? "unchanged" : "created";
      this.ids.add(id);
      return outcome;
    });
  }

  release(): void {
    this.#released.resolve();
  }
}

const settings = { format: "ndjson", delimiter: ";", columns: "", update: "off" };

function start(store: HeldStore, changed: Partial<typeof settings> = {}) {
  const context = consoleContext({ store });
  const imports = new Imports(context, new Edits(context));
  const { import: id } = imports.start({ ...settings, ...changed }, "::1");
  const add = async (offset: number, part: Uint8Array, importId: string = id) => {
    const parameters = new URLSearchParams({ import: importId, offset: String(offset) });
    return imports.add(parameters, async () => part);
  };
  const end = (bytes: number) => imports.end({ import: id, bytes: String(bytes) });
  const cancel = () => imports.cancel({ import: id });
  return { imports, add, end, cancel };
}

function plantLines(from: number, count: number): Uint8Array {
  const lines = Array.from({ length: count }, (_, index) => `${plantJson(BigInt(from + index), "Hoya")}\n`);
  return new TextEncoder().encode(lines.join(""));
}

test("a part that is repeated while its first copy waits for a commit waits for it, and no plant is lost", async () => {
  const store = new HeldStore();
  const { imports, add, end } = start(store);
  // Each part is more than one batch, and one batch is in flight: the second part cannot be read
  // before a commit.
  const parts = [0, 1, 2].map((part) => plantLines(100_000 * part, 50_000));
  const offsets = [0, parts[0]?.length ?? 0, (parts[0]?.length ?? 0) + (parts[1]?.length ?? 0)];
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  let answered = 0;
  const send = (index: number) =>
    add(offsets[index] ?? 0, parts[index] ?? new Uint8Array()).then(() => answered++);
  const copies = [send(0), send(0), send(1), send(1)];
  await store.arrived.promise;
  expect(answered).toBeLessThanOrEqual(2);
  expect(await settled(end(bytes))).toThrow("have arrived");
  expect(await settled(add(7, new Uint8Array(1)))).toThrow("in their order");
  expect(await settled(add(0, new Uint8Array(1), "another"))).toThrow("no such import");
  expect(() => imports.start(settings, "::1")).toThrow("Another import is running");
  store.release();
  await Promise.all(copies);
  await send(2);
  expect(await end(bytes)).toMatchObject({ created: 150_000, ending: "complete" });
  expect(store.ids.size).toBe(150_000);
});

test("the last part is imported although the end comes while it waits", async () => {
  const store = new HeldStore();
  const { add, end } = start(store);
  const [first, second] = [plantLines(0, 50_000), plantLines(100_000, 50_000)];
  const parts = [add(0, first), add(first.length, second)];
  await store.arrived.promise;
  const ended = end(first.length + second.length);
  store.release();
  await Promise.all(parts);
  expect(await ended).toMatchObject({ created: 100_000, ending: "complete" });
});

test("an import that is cancelled ends after the batch in flight, and the next one can be started", async () => {
  const store = new HeldStore();
  const { imports, add, cancel } = start(store);
  await add(0, plantLines(0, 50_000));
  await store.arrived.promise;
  const cancelled = cancel();
  store.release();
  const { created, ending } = await cancelled;
  expect(ending).toBe("cancelled");
  expect(created).toBe(store.ids.size);
  expect(created).toBeWithin(1, 50_000);
  imports.start(settings, "::1");
});

/** Imports a text in parts of some bytes, and returns how it ended. */
async function importText(context: MemoryContext, changed: Partial<typeof settings>, text: string) {
  const imports = new Imports(context, new Edits(context));
  const { import: id } = imports.start({ ...settings, ...changed }, "::1");
  const bytes = new TextEncoder().encode(text);
  for (let offset = 0; offset < bytes.length; offset += 4_999) {
    const parameters = new URLSearchParams({ import: id, offset: String(offset) });
    await imports.add(parameters, async () => bytes.slice(offset, offset + 4_999));
  }
  const status = await imports.end({ import: id, bytes: String(bytes.length) });
  return { ...status, report: await imports.rejected(new URLSearchParams({ import: id })).text() };
}

test("a report has the first rejected lines, and reports that no client reads take bounded memory", async () => {
  const store = new HeldStore();
  store.release();
  const { imports, add, end } = start(store);
  const file = new TextEncoder().encode(`${`${"x".repeat(900)}\n`.repeat(10_000)}y\n`);
  await add(0, file);
  const { import: id, reported } = await end(file.length);
  expect(reported).toBeLessThan(10_000);
  const report = await imports.rejected(new URLSearchParams({ import: id })).text();
  const lines = report.trimEnd().split("\n");
  expect([lines.length, lines.at(-1)]).toEqual([reported, expect.stringContaining("xxx")]);
  const unread: Response[] = [];
  const rejected = () => {
    // A report has up to 8 MiB, and all of them may have 64.
    while (unread.length < 20) unread.push(imports.rejected(new URLSearchParams({ import: id })));
  };
  expect(rejected).toThrow("Too many large responses");
  for (const response of unread) await response.body?.cancel();
});

test("a file is imported by the columns that were chosen, and rejected lines are reported", async () => {
  await using context = new MemoryContext();
  const lines = ["Kategorie;Nr;Name"];
  for (let id = 1_000; id < 4_000; id++) lines.push(`wax;${id};Hoya ${id} ״שלום״`);
  lines.push("wax;nope;Hoya", 'wax;1000;"another"', ";4000;no tag", 'wax;4001;"two\nlines"', "wax;4002");
  const csv = { format: "csv", columns: importColumns("1,2,0,true") };
  // The parts cut lines, and characters.
  const { report, rejections, ...status } = await importText(context, csv, `${lines.join("\n")}\n`);
  expect(status).toMatchObject({
    created: 3_002,
    unchanged: 0,
    rejected: 3,
    reported: 3,
    ending: "complete",
  });
  expect(rejections.map(({ line, error }) => [line, error])).toEqual([
    [3_002, 40002],
    [3_003, 40009],
    [3_007, 40001],
  ]);
  expect(report.trimEnd().split("\n")).toEqual([
    "Kategorie;Nr;Name;reason",
    expect.stringMatching(/^wax;nope;Hoya;"line 3002: 40002 /),
    expect.stringMatching(/^wax;1000;"another";"line 3003: 40009 /),
    expect.stringMatching(/^wax;4002;line 3007: 40001 /),
  ]);
  expect(context.store.get(4_001n)).toEqual({ id: 4_001n, name: "two\nlines", tag: "wax" });
  expect(context.store.get(4_000n)).toEqual({ id: 4_000n, name: "no tag" });
  const again = await importText(context, csv, 'Kategorie;Nr;Name\nwax;4001;"two\nlines"\nwax;1001;x');
  expect(again).toMatchObject({ created: 0, unchanged: 1, rejected: 1, ending: "complete" });
});

test("an import of a file with an open quote says its line", async () => {
  await using context = new MemoryContext();
  const csv = { format: "csv", columns: importColumns("0,1,2,true") };
  const { ending, message } = await importText(context, csv, 'id;name;tag\n1;"open\n2;x;y\n');
  expect([ending, message]).toEqual(["failed", expect.stringContaining("line 2")]);
});

test("an import replaces plants that differ after a dry run that only counts, in one run of the history", async () => {
  const plants = Array.from({ length: 30 }, (_, index) => ({ id: BigInt(index), name: "Rosa" }));
  await using context = await MemoryContext.of(plants);
  const corrected = plants.map(({ id }) => plantJson(id, "Rosa canina"));
  const text = [...corrected, plantJson(100n, "new"), "nope"].join("\n");
  const counts = { created: 1, replaced: 30, unchanged: 0, rejected: 1, ending: "complete" };
  const { differences, ...dry } = await importText(context, { update: "dry-run" }, text);
  expect(dry).toMatchObject({ ...counts, update: "dry-run", run: null });
  expect(differences).toHaveLength(10);
  expect(differences[0]).toEqual({
    line: 1,
    id: "0",
    before: { name: "Rosa" },
    after: { name: "Rosa canina" },
  });
  expect([context.store.count(), context.store.get(0n)?.name]).toEqual([30, "Rosa"]);

  const { run, ...done } = await importText(context, { update: "replace" }, text);
  expect(done).toMatchObject({ ...counts, update: "replace" });
  expect(context.store.get(29n)?.name).toBe("Rosa canina");
  expect(context.emitted).toContainEqual(
    expect.objectContaining({
      message: "plants edited",
      fields: { by: "console", run, updated: 30, deleted: 0, restored: 0, client: "::1" },
    }),
  );
});

test.each([
  { format: "xml" },
  { format: "csv", delimiter: "ab" },
  { format: "csv", columns: importColumns("-1,1,2,true") },
  { update: "all" },
])("an import is not started with %p", (wrong) => {
  expect(() => start(new HeldStore(), wrong)).toThrow(BadRequestError);
});
