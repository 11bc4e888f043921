// The console's connection for reading, which is opened again after a failure.

import { expect, test } from "bun:test";
import { Reader } from "../../../src/console/reads/reader.ts";
import { SqlTimeout } from "../../../src/store/sql-connection.ts";
import { MemoryContext } from "../../support/console.ts";
import { settled } from "../../support/settled.ts";

test("a connection that fails is closed once, and another is opened; closing ends the calls that run", async () => {
  await using context = new MemoryContext();
  let [opened, closed] = [0, 0];
  const reader = new Reader({
    async openSql() {
      opened++;
      const rejections: ((error: Error) => void)[] = [];
      return {
        ...(await context.reader()),
        query: (sql) =>
          sql === "slow"
            ? Promise.reject(new SqlTimeout())
            : new Promise((_, reject) => rejections.push(reject)),
        async [Symbol.asyncDispose]() {
          closed++;
          for (const reject of rejections.splice(0)) reject(new Error("the connection was closed"));
        },
      };
    },
  });
  const first = await reader.open();
  expect(await settled(first.query("slow"))).toThrow(SqlTimeout);
  expect([await reader.open(), closed]).toEqual([first, 0]);
  const failing = settled(first.query("SELECT 1"));
  await first[Symbol.asyncDispose]();
  expect(await failing).toThrow("the connection was closed");
  expect([opened, closed]).toEqual([1, 2]);
  const running = settled((await reader.open()).query("SELECT 1"));
  await reader.close();
  expect(await running).toThrow("the connection was closed");
  expect([opened, closed]).toEqual([2, 3]);
});
