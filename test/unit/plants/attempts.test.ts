// How often something is tried again that others prevent.

import { expect, test } from "bun:test";
import { editOne } from "../../../src/plants/edit-one.ts";
import { ChosenId, freeIdsOf } from "../../../src/plants/new-ids.ts";
import { ownStore } from "../../../src/plants/own-store.ts";
import type { OperationStore } from "../../../src/store/operation-store.ts";
import { plantStore, readSingle } from "../../support/contracts.ts";
import { contractWithIds, idSchemas } from "../../support/id-contracts.ts";

const caller = { key: "key", name: "ci", creator: 1 };
const resolveCreator = async () => undefined;
const isUnavailable = { code: "unavailable" };

/** A store in which somebody changes each plant before it can be edited. */
class ContestedStore {
  attempts = 0;
  change = (_: unknown, _id: unknown, work: () => Promise<unknown>) => work();
  get = async () => ({
    id: 1n,
    values: ["Ficus", null],
    createdAt: 0,
    creator: null,
    version: this.attempts,
  });
  edit = async () => [this.#refuse()];
  transact = async () => this.#refuse();
  read = { dialect: "sqlite", query: async () => [] };

  #refuse() {
    this.attempts++;
    return "changed";
  }
}

test("an edit of a plant is tried ten times", async () => {
  const contested = new ContestedStore();
  const store = contested as unknown as OperationStore;
  const call = { headers: new Headers(), caller, resolveCreator, store };
  const edited = await editOne(plantStore, 1n, call, () => ({ id: 1n, values: ["Aloe", null] }));
  expect(edited).toMatchObject(isUnavailable);
  expect(contested.attempts).toBe(10);
});

test("a transaction of an operation runs ten times", async () => {
  const store = new ContestedStore();
  const context = { contract: plantStore, store, caller, resolveCreator, newId: () => 1n };
  const { transaction } = ownStore({ ...context, checkSize: () => undefined } as never);
  let runs = 0;
  const result = transaction(async (_, query) => {
    runs++;
    for (const sql of ["SELECT 1", "SELECT 2"]) await query(sql);
  });
  expect(await result.catch((error: unknown) => error)).toMatchObject(isUnavailable);
  expect([runs, store.attempts]).toEqual([10, 10]);
});

test("a create tries a thousand ids, and looks for a free one from the twentieth on", async () => {
  const collection = await readSingle(contractWithIds(idSchemas.int32));
  for (const freeIds of [undefined, async () => 1n]) {
    const chosen = new ChosenId(collection, undefined, () => 2n);
    const tried = [chosen.first()];
    for (let id = await chosen.another(freeIds); id !== undefined; id = await chosen.another(freeIds))
      tried.push(id as bigint);
    expect(tried).toHaveLength(1_000);
    expect(tried.indexOf(1n)).toBe(freeIds === undefined ? -1 : 20);
  }
});

test("a search for free ids ends after a million on both sides of where it begins", async () => {
  const collection = await readSingle(contractWithIds(idSchemas.int32));
  let pages = 0;
  const sql = {
    async query(_: string, [from]: readonly bigint[] = []) {
      pages++;
      return Array.from({ length: 1_000 }, (_, index) => ({ id: (from ?? 0n) + BigInt(index) }));
    },
  };
  let told = 0;
  const freeIds = freeIdsOf(collection, sql as never, () => told++);
  expect(await freeIds?.()).toBeUndefined();
  expect(told).toBe(1);
  expect(pages).toBeWithin(1_000, 2_001);
});
