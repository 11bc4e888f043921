// Clients that create in three collections at once, and kill -9: what was acknowledged is in its
// collection, whole, and in no other one.

import { expect, test } from "bun:test";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { RunningServer } from "../../support/server.ts";

const path = contractFile("estate.yaml");
const source = { text: await Bun.file(path).text() };
const clients = 48;

/** The collections with ids of clients, UUIDs and ids of the server, and a body of each. */
const collections = [
  { name: "parcels", bodyOf: (number: number) => ({ id: number, sender: `sender ${number}` }) },
  { name: "couriers", bodyOf: (number: number) => ({ courierId: crypto.randomUUID(), name: `n ${number}` }) },
  {
    name: "special-events",
    bodyOf: (number: number) => ({ eventName: `event ${number}`, location: "Yard" }),
  },
];

test.each(engines)(
  "$name: after a kill -9 each acknowledged resource is in its collection",
  async (engine) => {
    await using place = await engine.createTestStore(source);
    const start = () => RunningServer.start({ ...place, args: ["--contract", path] });
    const server = await start();
    const headers = {
      Authorization: `Bearer ${await server.createToken("steward")}`,
      "Content-Type": "application/json",
    };
    const acknowledged = collections.map(() => [] as string[]);
    let sent = 0;
    let isKilled = false;
    const load = Array.from({ length: clients }, async (_, client) => {
      const place = client % collections.length;
      const { name, bodyOf } = collections[place] as (typeof collections)[number];
      while (!isKilled) {
        const body = JSON.stringify(bodyOf(++sent));
        const text = await fetch(`${server.url}/${name}`, { method: "POST", headers, body }).then(
          async (response) => (response.status === 201 ? await response.text() : undefined),
          () => undefined,
        );
        if (text !== undefined) acknowledged[place]?.push(text);
      }
    });
    while (acknowledged.some(({ length }) => length < 150)) await Bun.sleep(10);
    const ended = server.stop("SIGKILL");
    isKilled = true;
    await Promise.all([ended, ...load]);

    await using again = await start();
    let stored = 0;
    for (const [place, { name }] of collections.entries()) {
      const lines = (await again.command("export", "--collection", name)).stdout.trimEnd().split("\n");
      stored += lines.length;
      expect(new Set(acknowledged[place]).difference(new Set(lines))).toEqual(new Set());
    }
    expect(stored).toBeLessThanOrEqual(sent);
  },
  120_000,
);
