// A client whose rows PostgreSQL has no room for: creates of another collection go on beside it.

import { expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { createStore, RunningServer, TemporaryFolder } from "../../support/server.ts";
import { wideBody, writeWideContract } from "../../support/wide-contract.ts";
import { sendsAll } from "./hostile-session.ts";

const connections = sendsAll ? 64 : 16;
const creates = 600;

for (const engine of engines.filter(({ engine }) => engine === "postgres"))
  test(`${engine.name}: ${creates} creates beside ${connections} clients with such rows`, async () => {
    using folder = new TemporaryFolder();
    const contract = folder.file("wide.json");
    writeWideContract(contract);
    const source = { text: await Bun.file(contract).text() };
    await using place = await engine.createTestStore(source);
    await createStore(place.database, source);
    await using server = await RunningServer.start({
      database: place.database,
      args: ["--contract", contract],
    });
    const tokens = [await server.createToken(), await server.createToken()];
    const post = async (path: string, token: string | undefined, body: string) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      return (await fetch(server.url + path, { method: "POST", headers, body })).status;
    };
    const statuses = new Set<number>();
    let isAttacked = true;
    const attack = async (client: number) => {
      for (let id = client; isAttacked; id += connections)
        statuses.add(await post("/wides", tokens[0], wideBody(id, 30)));
    };
    expect(await post("/wides", tokens[0], wideBody(0, 30))).toBe(413);
    const attackers = Array.from({ length: connections }, (_, client) => attack(client));
    const startedAt = performance.now();
    const all: number[] = [];
    for (let id = 0; id < creates; id += 20) {
      const some = Array.from({ length: 20 }, (_, index) =>
        post("/narrows", tokens[1], JSON.stringify({ id: id + index, name: "x" })),
      );
      all.push(...(await Promise.all(some)));
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    isAttacked = false;
    await Promise.all(attackers);
    process.stdout.write(`${creates} creates in ${seconds.toFixed(1)} s beside rows that are too large\n`);
    expect(all).toEqual(Array<number>(creates).fill(200));
    // Others of its own may be over its share.
    expect([...statuses].filter((status) => status !== 413 && status !== 503)).toEqual([]);
    expect(statuses).toContain(413);
  });
