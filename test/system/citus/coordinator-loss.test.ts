// The coordinator of Citus is killed: servers that run go on.

import { expect, test } from "bun:test";
import { CitusCluster, describeCitus } from "../../support/citus.ts";
import { plantJson, post } from "../../support/http.ts";
import { createStore, RunningServer, runCommand } from "../../support/server.ts";
import { storedCount } from "../../support/stored-plants.ts";

describeCitus("a lost coordinator of Citus", () => {
  test("a running server creates plants; tokens can be changed again when it is back", async () => {
    await using cluster = await CitusCluster.start();
    const { name, address } = await cluster.newDatabase();
    await createStore(address);
    await cluster.distribute(name);
    await using server = await RunningServer.start({ database: `${address}?retry_timeout=1` });
    const token = await server.createToken("ci");
    expect((await post({ url: server.url, token }, plantJson(0n, "Fern"))).status).toBe(200);

    await cluster.coordinator.stop("SIGKILL");
    // Plants of both workers.
    for (let id = 1n; id <= 20n; id++)
      expect((await post({ url: server.url, token }, plantJson(id, "Fern"))).status).toBe(200);
    const revoke = ["token", "revoke", "ci", "--database", `${address}?retry_timeout=1`];
    expect(await runCommand(revoke)).toMatchObject({ exitCode: 1, stdout: "" });

    await cluster.coordinator.run();
    expect(await runCommand(revoke)).toMatchObject({ exitCode: 0 });
    expect(await storedCount(address)).toBe(21);
  });
});
