// Two servers, 64 clients that send an Idempotency-Key each, and kill -9: every key that is sent
// again has its plant, and no key has two.

import { expect, test } from "bun:test";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { RunningServer } from "../../support/server.ts";

/** An int64 and a UUID, with the field that the test fills. */
const contracts = [
  { file: "visits.yaml", collection: "/visits", field: "guest" },
  { file: "members.yaml", collection: "/members", field: "name" },
];
const clients = 64;
const testMsMax = 120_000;

test.each(
  engines.flatMap((engine) => contracts.map((contract) => ({ ...contract, engine, name: engine.name }))),
)(
  "$name, $file: after a kill -9 of both servers each key that is sent again is one plant",
  async ({ engine, file, collection, field }) => {
    const path = contractFile(file);
    const source = { text: await Bun.file(path).text() };
    await using place = await engine.createTestStore(source);
    const start = () =>
      Promise.all([1, 2].map(() => RunningServer.start({ ...place, args: ["--contract", path] })));
    let servers = await start();
    const token = await (servers[0] as RunningServer).createToken("guest");
    const book = async (key: string): Promise<string | undefined> => {
      const { url = "" } = servers[Number(Bun.hash(key) % 2n)] ?? {};
      const request = {
        method: "POST",
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          "Idempotency-Key": key,
        },
        body: JSON.stringify({ [field]: `guest ${key}` }),
      };
      const response = await fetch(url + collection, request).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      return response?.status === 201 ? text : undefined;
    };
    const acknowledged = new Map<string, string>();
    const sent: string[] = [];
    let isKilled = false;
    const load = Array.from({ length: clients }, async (_, client) => {
      for (let index = 0; !isKilled; index++) {
        const key = `${client}-${index}`;
        sent.push(key);
        const text = await book(key);
        if (text !== undefined) acknowledged.set(key, text);
      }
    });
    while (acknowledged.size < 500) await Bun.sleep(10);
    const ended = servers.map((server) => server.stop("SIGKILL"));
    isKilled = true;
    await Promise.all([...ended, ...load]);

    servers = await start();
    await using stack = new AsyncDisposableStack();
    for (const server of servers) stack.use(server);
    // In another order, so that most keys go to the other server.
    servers.reverse();
    const again = new Map<string, string | undefined>();
    for (let at = 0; at < sent.length; at += clients)
      await Promise.all(sent.slice(at, at + clients).map(async (key) => again.set(key, await book(key))));
    for (const [key, text] of acknowledged) expect([key, again.get(key)]).toEqual([key, text]);
    const stored = (await (servers[0] as RunningServer).command("export")).stdout.trimEnd().split("\n");
    const guests = stored.map((line) => (JSON.parse(line) as Record<string, string>)[field] ?? "");
    expect(guests.toSorted()).toEqual(sent.map((key) => `guest ${key}`).toSorted());
  },
  testMsMax,
);
