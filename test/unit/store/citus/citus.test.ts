// The queues of a cluster, whose coordinator is the test.

import { expect, test } from "bun:test";
import type { ServerEvent } from "../../../../src/base/server-event.ts";
import { citus } from "../../../../src/store/citus/citus.ts";
import { ShardMap } from "../../../../src/store/citus/shard-map.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { ConnectionLost } from "../../../../src/store/postgres/errors.ts";
import type { Primary } from "../../../../src/store/postgres/primary.ts";
import { plantStore } from "../../../support/contracts.ts";
import { VirtualTime } from "../../../support/virtual-time.ts";

test("a refresh of the shard map that fails is reported, a bug with its stack, and the map stays in use", async () => {
  using time = new VirtualTime();
  const map = new Map([
    [plantStore.table, new ShardMap([{ first: -(2 ** 31), host: "127.0.0.1", port: 1 }])],
  ]);
  let failure: Error | undefined = new ConnectionLost("connection refused");
  const primary = {
    withRetry: async () => map,
    once: async () => {
      if (failure !== undefined) throw failure;
      return map;
    },
  } as unknown as Primary;
  const events: ServerEvent[] = [];
  const queues = await citus.openQueue(
    {
      url: { ...parsePostgresUrl("//plantstore@127.0.0.1/plants"), usesCitusNodes: true },
      primary,
      contract: plantStore,
      onUnavailable: () => undefined,
    },
    { queuePlantsMax: 10, batchPlantsMax: 10 },
    { now: () => 0, emit: (event) => events.push(event) },
  );
  await time.until(time.sleep(5_000), 6_000);
  const bug = new TypeError("undefined is not an object");
  failure = bug;
  await time.until(time.sleep(5_000), 6_000);
  failure = undefined;
  await time.until(time.sleep(5_000), 6_000);
  // The node of the map does not respond either, so that the map is read for it, too.
  const distinct = events.filter((event, index) => !Bun.deepEquals(event, events[index - 1]));
  expect(distinct).toEqual([
    { kind: "storeTaskFailed", reason: "the shard map cannot be read: connection refused" },
    { kind: "internalError", requestId: "citus", error: bug },
  ]);
  expect([...(queues?.nodesUp ?? [])]).toEqual([["127.0.0.1:1", false]]);
  await queues?.close();
});
