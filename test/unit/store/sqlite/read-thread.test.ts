// A reading thread that dies is reported, as its connection can serve no more calls; a page that fails is
// none of the others'.

import { expect, spyOn, test } from "bun:test";
import { plantStoreSource } from "../../../../src/openapi/default-contract.ts";
import { readContract } from "../../../../src/openapi/description/read-contract.ts";
import { openReadConnection } from "../../../../src/store/sqlite/sql-connection.ts";
import { createStore, TemporaryFolder } from "../../../support/server.ts";
import { settled } from "../../../support/settled.ts";

test("the end of a reading thread is reported, and that of a closed one is not", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plants.db");
  await createStore(`sqlite:${file}`);
  const contract = await readContract(plantStoreSource);
  const started: Worker[] = [];
  const { Worker: Original } = globalThis;
  using _ = spyOn(globalThis, "Worker").mockImplementation(((url: string, options: WorkerOptions) => {
    const worker = new Original(url, options);
    started.push(worker);
    return worker;
  }) as never);
  const failed = Promise.withResolvers<Error>();
  const failures: Error[] = [];
  const closed = await openReadConnection(file, contract, (error) => failures.push(error));
  await closed[Symbol.asyncDispose]();
  const dying = await openReadConnection(file, contract, failed.resolve);
  started[1]?.terminate();
  expect((await failed.promise).message).toBe("The SQLite worker ended");
  expect(await settled(dying.query("SELECT 1"))).toThrow("The SQLite worker ended");
  expect(failures).toEqual([]);
});

test("of the pages of a message only one that cannot be read fails, with its error", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plants.db");
  await createStore(`sqlite:${file}`);
  await using sql = await openReadConnection(file, await readContract(plantStoreSource), () => undefined);
  const query = { table: "plants", conditions: [], terms: [], after: undefined, offset: 0, size: 1 };
  const page = (table: string, ms = 1_000) =>
    settled(sql.page({ ...query, table, bytesMax: 1_000, url: "http://localhost/plants" }, ms));
  // Those that come after several are one group.
  await Promise.all(
    Array(6)
      .fill("plants")
      .map((table) => page(table)),
  );
  const [first, failed, last] = await Promise.all(
    ["plants", "nothing", "plants"].map((table) => page(table)),
  );
  expect([first?.().json, last?.().json]).toEqual(["[]", "[]"]);
  expect(failed).toThrow("nothing");
});
