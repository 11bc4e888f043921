// The coordinator of Citus is killed: the workers serve creates and tokens without it.

import { expect, test } from "bun:test";
import { storeAt } from "../../../src/core/store/open-store.ts";
import { CitusCluster, describeCitus } from "../../support/citus.ts";
import { plantJson, post } from "../../support/http.ts";
import { createStore, RunningServer, runCommand } from "../../support/server.ts";
import { storedCount } from "../../support/stored-plants.ts";

describeCitus("a lost coordinator of Citus", () => {
  test("running servers and new ones create plants; tokens can be changed again when it is back", async () => {
    await using cluster = await CitusCluster.start();
    const { coordinator, workers } = cluster;
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    await storeAt(address).distribute?.();
    const database = coordinator.address(name, workers, "?retry_timeout=30");
    await using server = await RunningServer.start({ database });
    const token = await server.createToken("ci");
    expect((await post({ url: server.url, token }, plantJson(0n, "Fern"))).status).toBe(200);

    await coordinator.stop("SIGKILL");
    // Plants of both workers.
    for (let id = 1n; id <= 20n; id++)
      expect((await post({ url: server.url, token }, plantJson(id, "Fern"))).status).toBe(200);
    await using another = await RunningServer.start({ database });
    for (let id = 11n; id <= 30n; id++)
      expect((await post({ url: another.url, token }, plantJson(id, "Fern"))).status).toBe(200);
    const revoke = ["token", "revoke", "ci", "--database"];
    const refused = await runCommand([...revoke, coordinator.address(name, workers, "?retry_timeout=1")]);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^(?:waiting for [^\n]+\n)?plantstore: [^\n]+\n$/);

    await coordinator.run();
    expect(await runCommand([...revoke, database])).toMatchObject({ exitCode: 0 });
    expect(await storedCount(address)).toBe(31);
  });
});
