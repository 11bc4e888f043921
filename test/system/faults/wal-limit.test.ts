// SQLite's write-ahead log under the largest batches that the default limits allow, with two
// servers on one file.

import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const connections = 48;
/** More than fits. */
const creates = 330;

test("the log is never longer than 256 MB, with two servers on one file", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const database = `sqlite:${path}`;
  await using one = await RunningServer.start({ database });
  await using other = await RunningServer.start({ database });
  const token = await one.createToken();
  let [next, acknowledged, walBytesMax] = [0, 0, 0];
  const create = async (connection: number) => {
    const { url } = connection % 2 === 0 ? one : other;
    while (next < creates) {
      const id = next++;
      // Two servers that commit without a pause may keep each other from the lock, which is 503.
      while ((await post({ url, token }, plantJson(BigInt(id), "x".repeat(1_000_000)))).status !== 200)
        await Bun.sleep(10);
      acknowledged++;
      walBytesMax = Math.max(walBytesMax, statSync(`${path}-wal`).size);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, connection) => create(connection)));
  expect(acknowledged).toBe(creates);
  expect(walBytesMax).toBeGreaterThan(48 * 2 ** 20);
  expect(walBytesMax).toBeLessThan(256e6);
  const { plants } = JSON.parse((await one.command("stats", "--json")).stdout) as { plants: number };
  expect(plants).toBe(creates);
});
