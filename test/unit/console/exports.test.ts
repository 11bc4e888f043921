// Exports of the console whose downloads the test does not read.

import { expect, test } from "bun:test";
import { Exports } from "../../../src/console/exports.ts";
import { Inventory } from "../../../src/console/inventory.ts";
import { MemoryContext } from "../../support/console.ts";

test("an export has no progress before its download begins, nor if it is rejected", async () => {
  await using context = await MemoryContext.of([{ id: 1n, name: "Monstera" }]);
  const exports = new Exports(context, new Inventory(context));
  const start = (run: string) =>
    exports.start(new URLSearchParams({ run, format: "csv" }), { words: [], tag: undefined });
  const progress = (run: string) => exports.progress(new URLSearchParams({ run }));
  const unread: Response[] = [];
  const rejected = await (async () => {
    for (;;) unread.push(await start(String(unread.length)));
  })().catch((error) => error);
  expect(rejected).toMatchObject({ status: 503 });
  expect(progress(String(unread.length))).toBeNull();
  expect(progress(String(unread.length - 1))).toBeNull();
  for (const response of unread) await response.body?.cancel();
  expect(await (await start("again")).text()).toBe("id,name,tag\n1,Monstera,\n");
  expect(progress("again")).toMatchObject({ plants: 1, state: "complete" });
});
