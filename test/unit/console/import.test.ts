// Imports of the console, on a store that commits when the test says so, and on one in memory.

import { expect, test } from "bun:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { BadRequestError } from "../../../src/admin-pages/admin-responses.ts";
import type { ServerEvent } from "../../../src/base/server-event.ts";
import { Imports } from "../../../src/console/calls/import-calls.ts";
import type { ConsoleContext } from "../../../src/console/console-context.ts";
import type { Collection } from "../../../src/contract/contract.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import type { NewEntry, Outcome } from "../../../src/store/plant-store.ts";
import { consoleContext, MemoryContext } from "../../support/console.ts";
import { plantStore } from "../../support/contracts.ts";
import { plantJson } from "../../support/http.ts";
import { settled } from "../../support/settled.ts";

class HeldStore {
  readonly contract = plantStore;
  readonly ids = new Set<PlantId>();
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

const settings = { format: "ndjson", update: "off" };

function start(
  { imports, context }: Started,
  file: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  changed: Partial<typeof settings> = {},
  signal?: AbortSignal,
) {
  const parameters = new URLSearchParams({ ...settings, ...changed });
  const request = new Request("http://localhost/", { method: "POST", body: file, signal: signal ?? null });
  return imports.run(context, parameters, request, "::1");
}

interface Started {
  readonly imports: Imports;
  readonly context: ConsoleContext;
}

function importsOf(store: HeldStore): Started {
  return { imports: new Imports(), context: consoleContext({ store }) };
}

function plantLines(from: number, count: number): Uint8Array<ArrayBuffer> {
  const lines = Array.from({ length: count }, (_, index) => `${plantJson(BigInt(from + index), "Hoya")}\n`);
  return new TextEncoder().encode(lines.join(""));
}

test("an import of what was read by a former contract ends at once, and says why", async () => {
  const store = Object.assign(new HeldStore(), { contract: { ...plantStore, number: 2 } });
  const [collection] = plantStore.collections as readonly [Collection];
  const context = consoleContext({ store, collection: { ...collection, contractNumber: 1 } });
  store.release();
  const report = await start({ imports: new Imports(), context }, plantJson(1n, "Hoya"));
  expect(report).toMatchObject({
    created: 0,
    message: "The contract of the store has changed; try again.",
  });
  expect(store.ids.size).toBe(0);
});

test("one import runs at a time; one whose client has left ends after the batch in flight", async () => {
  const store = new HeldStore();
  const imports = importsOf(store);
  const client = new AbortController();
  const running = start(imports, plantLines(0, 40_000), {}, client.signal);
  await store.arrived.promise;
  expect(await settled(start(imports, ""))).toThrow("Another import is running");
  client.abort();
  // As before a reset of a sandbox.
  let isStopped = false;
  const stopping = imports.imports.stop().then(() => {
    isStopped = true;
  });
  await nextTick();
  expect(isStopped).toBe(false);
  store.release();
  await stopping;
  const { created, message } = await running;
  expect(message).toBe("cancelled");
  expect(created).toBe(store.ids.size);
  expect(created).toBeWithin(1, 40_000);
  expect(await start(imports, plantLines(0, 40_000))).toMatchObject({
    created: 40_000 - created,
    unchanged: created,
    message: null,
  });
});

test("a store that fails ends an import with a message, and the log has the reason", async () => {
  const emitted: ServerEvent[] = [];
  const error = new Error("the disk is full");
  const store = { contract: plantStore, create: () => Promise.reject(error) };
  const context = consoleContext({ store, emit: (event) => void emitted.push(event) });
  expect(await start({ imports: new Imports(), context }, plantLines(0, 1))).toMatchObject({
    created: 0,
    message: "Internal error; see the server's log.",
  });
  expect(emitted).toContainEqual({ kind: "internalError", requestId: "console import", error });
});

test("a file is read at the pace of the store", async () => {
  const store = new HeldStore();
  let pieces = 0;
  const file = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pieces === 20) return controller.close();
      controller.enqueue(plantLines(10_000 * pieces++, 10_000));
    },
  });
  const running = start(importsOf(store), file);
  await store.arrived.promise;
  for (let turn = 0; turn < 100; turn++) await nextTick();
  expect(pieces).toBeLessThan(10);
  store.release();
  expect(await running).toMatchObject({ created: 200_000, message: null });
});

/** Imports a text in pieces of some bytes, and returns its report. */
async function importText(context: MemoryContext, changed: Partial<typeof settings>, text: string) {
  const bytes = new TextEncoder().encode(text);
  let offset = 0;
  const file = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.slice(offset, offset + 4_999));
      offset += 4_999;
      if (offset >= bytes.length) controller.close();
    },
  });
  return start({ imports: new Imports(), context }, file, changed);
}

test("a report has the first rejected lines", async () => {
  await using context = new MemoryContext();
  const { report, reported, rejected } = await importText(
    context,
    {},
    `${`${"x".repeat(900)}\n`.repeat(10_000)}y\n`,
  );
  expect(rejected).toBe(10_001);
  expect(reported).toBeLessThan(10_000);
  const lines = report.trimEnd().split("\n");
  expect([lines.length, lines.at(-1)]).toEqual([reported, expect.stringContaining("xxx")]);
});

test("the content decides what is read, and what the report is", async () => {
  await using context = new MemoryContext();
  const array = await importText(context, { format: "csv" }, '[{"id":1,"name":"Rosa"},\n{"id":2}]');
  expect(array).toMatchObject({ created: 1, rejected: 1, format: "ndjson", advice: null });
  expect(JSON.parse(array.report)).toMatchObject({ line: 2, column: 1, text: '{"id":2}' });
  const latin1 = Buffer.from("id,name\n3,Ch\xeane\n", "latin1");
  expect(
    await start({ imports: new Imports(), context }, new Uint8Array(latin1), { format: "csv" }),
  ).toMatchObject({
    rejected: 1,
    format: "csv",
    advice: expect.stringContaining("iconv -f WINDOWS-1252"),
  });
});

test("an import replaces plants that differ after a dry run that only counts, in one run of the history", async () => {
  const plants = Array.from({ length: 30 }, (_, index) => ({ id: BigInt(index), name: "Rosa" }));
  await using context = await MemoryContext.of(plants);
  const corrected = plants.map(({ id }) => plantJson(id, "Rosa canina"));
  const text = [...corrected, plantJson(100n, "new"), "nope"].join("\n");
  const counts = { created: 1, replaced: 30, unchanged: 0, rejected: 1, message: null };
  const { differences, ...dry } = await importText(context, { update: "dry-run" }, text);
  expect(dry).toMatchObject({ ...counts, update: "dry-run", run: null });
  expect(differences).toHaveLength(10);
  expect(differences[0]).toEqual({
    line: 1,
    id: "0",
    before: ["Rosa", null],
    after: ["Rosa canina", null],
  });
  expect([context.store.count(plantStore), context.store.get(plantStore, 0n)?.values[0]]).toEqual([
    30,
    "Rosa",
  ]);

  const { run, ...done } = await importText(context, { update: "replace" }, text);
  expect(done).toMatchObject({ ...counts, update: "replace" });
  expect(context.store.get(plantStore, 29n)?.values[0]).toBe("Rosa canina");
  expect(context.emitted).toContainEqual(
    expect.objectContaining({
      message: "plants edited",
      fields: { by: "console", run, updated: 30, deleted: 0, restored: 0, client: "::1" },
    }),
  );
});

test.each([{ format: "xml" }, { update: "all" }])("an import is not started with %p", async (wrong) => {
  expect(await settled(start(importsOf(new HeldStore()), "", wrong))).toThrow(BadRequestError);
});
