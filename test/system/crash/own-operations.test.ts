// Operations of one's own in a process: kill -9 leaves all of a transaction or nothing, and a promise
// that nobody awaits does not end the server.

import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { contractFile, tokenHeaders } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const kills = Number(process.env.PLANTSTORE_TEST_KILLS ?? 5);

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const operations = folder.file("operations.ts");
writeFileSync(
  operations,
  `import { defineOperation, text } from "plantstore";
const common = { method: "POST", summary: "Runs", responses: { 200: { description: "It." } } };
const price = { amount: 1, currency: "EUR" };
export default [
  defineOperation({
    ...common,
    operationId: "both",
    path: "/both",
    parameters: { mark: text("A mark.") },
    handle: ({ parameters: { mark }, store }) =>
      store.transaction(async ({ rooms, guests }) => {
        await rooms.create({ number: mark, kind: "single", price });
        await guests.create({ name: mark, email: mark + "@example.org" });
        return { mark };
      }),
  }),
  defineOperation({
    ...common,
    operationId: "forgets",
    path: "/forgets",
    handle: () => {
      void Promise.reject(new Error("nobody awaits this"));
      setTimeout(() => {
        throw new Error("nobody catches this");
      }, 1);
      return { done: true };
    },
  }),
];
`,
);
const args = ["--contract", contractFile("hotel.yaml"), "--extend", operations];

describe.each(engines.filter(({ name }) => name !== "citus"))("on $name", ({ createTestStore }) => {
  test(
    `${kills} kills leave the room and the guest of each transaction, or neither`,
    async () => {
      await using place = await createTestStore();
      const acknowledged: string[] = [];
      let [token, sent] = ["", 0];
      for (let kill = 0; kill < kills; kill++) {
        await using server = await RunningServer.start({ database: place.database, args });
        token ||= await server.createToken();
        const enough = Promise.withResolvers<void>();
        const goal = acknowledged.length + 20;
        const clients = Array.from({ length: 8 }, async () => {
          try {
            for (;;) {
              const mark = `m${sent++}`;
              const url = `${server.url}/both?mark=${mark}`;
              const { status } = await fetch(url, { method: "POST", headers: tokenHeaders(token) });
              if (status === 200) acknowledged.push(mark);
              if (acknowledged.length >= goal) enough.resolve();
            }
          } catch {
            // The server is gone.
          }
        });
        await enough.promise;
        await server.stop("SIGKILL");
        await Promise.all(clients);
      }
      await using server = await RunningServer.start({ database: place.database, args });
      const marksOf = async (collection: string, member: string) => {
        const { stdout } = await server.command("export", "--collection", collection, "--format", "ndjson");
        const lines = stdout.trim().split("\n");
        return lines.map((line) => (JSON.parse(line) as Record<string, string>)[member] ?? "").toSorted();
      };
      const rooms = await marksOf("rooms", "number");
      expect(await marksOf("guests", "name")).toEqual(rooms);
      expect(acknowledged.filter((mark) => !rooms.includes(mark))).toEqual([]);
    },
    60_000 + kills * 10_000,
  );
});

test("a promise that nobody awaits and an exception of a timer are in the log, and the server goes on", async () => {
  await using server = await RunningServer.start({ args });
  const options = { method: "POST", headers: tokenHeaders(await server.createToken()) };
  for (const _ of [1, 2]) expect((await fetch(`${server.url}/forgets`, options)).status).toBe(200);
  for (const message of ["nobody awaits this", "nobody catches this"])
    await server.logged((line) => JSON.stringify(line).includes(message));
  expect((await fetch(`${server.url}/forgets`, options)).status).toBe(200);
});
