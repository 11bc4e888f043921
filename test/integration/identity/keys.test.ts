// An Idempotency-Key is one resource, whatever format the ids have and however the contract changes.

import { describe, expect, test } from "bun:test";
import { toExactJson } from "../../../src/json/exact-json.ts";
import { sendJson } from "../../support/contract-sandbox.ts";
import { onlyCollection } from "../../support/contracts.ts";
import { objectOf, thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { contractWithIds, idIn, idSchemas, startTwo } from "../../support/id-contracts.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { runCommand } from "../../support/server.ts";
import { openedStore, storedCount } from "../../support/stored-plants.ts";

for (const engine of engines)
  describe(engine.name, () => {
    test.each(Object.entries(idSchemas))("ids that are %s: each key is one resource", async (_, id) => {
      await using both = await startTwo(engine, contractWithIds(id));
      // As many as meet by chance in a small range.
      const count = id === idSchemas["at most 9999"] ? 300 : 60;
      const keys = Array.from({ length: count }, (_, index) => `key ${index}`);
      // Every second one has a body of its own; each is sent to both servers at once.
      const sendAll = () =>
        Promise.all(
          keys.flatMap((key, index) =>
            [0, 1].map((server) => both.create(server, index % 2 === 0 ? "equal" : key, key)),
          ),
        );
      const first = await sendAll();
      expect(first.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
      const ids = first.map(idIn);
      expect([new Set(ids).size, await storedCount(both.database)]).toEqual([count, count]);
      expect((await sendAll()).map(idIn)).toEqual(ids);
      const other = await both.create(0, "another", "key 7");
      expect([other.status, other.text]).toEqual([400, expect.stringContaining(ids[14] ?? "?")]);
    });

    test("the body that a key created last decides what is sent again", async () => {
      await using both = await startTwo(engine, contractWithIds(idSchemas["at most 9999"]));
      const first = await both.create(0, "A", "k");
      expect((await both.send(0, "DELETE", `/${idIn(first)}`)).status).toBe(204);
      const second = await both.create(0, "B", "k");
      expect(second.status).toBe(200);
      const id = idIn(second);
      const changed = await both.send(1, "PATCH", `/${id}`, { name: "C" });
      expect(changed.status).toBe(200);
      const again = await both.create(1, "B", "k");
      expect([again.status, again.text]).toEqual([200, changed.text]);
      expect(again.headers.get("etag")).toBe(changed.headers.get("etag") ?? "none");
      for (const name of ["A", "C"])
        expect((await both.create(0, name, "k")).json).toMatchObject({
          error: 40009,
          message: expect.stringContaining(`has created the thing ${id} from another body`),
        });
    });

    test.each([
      ["integers", [9_999, 99_999, undefined].map((maximum) => ({ type: "integer", maximum }))],
      ["texts", [12, 24, 100].map((maxLength) => ({ type: "string", maxLength }))],
    ])("a key stays the key of its resource when the contract allows other %s", async (_, schemas) => {
      await using place = await engine.createTestStore(contractWithIds(schemas[0]));
      const ids = new Set<string>();
      for (const schema of schemas) {
        const store = await openedStore(place.database, undefined, contractWithIds(schema));
        await using server = await startInProcess({ store });
        const url = `${server.url}/things`;
        const answer = await sendJson(url, "POST", { name: "a" }, { "Idempotency-Key": "k" });
        expect(answer.status).toBe(200);
        ids.add(idIn(answer));
      }
      expect([ids.size, await storedCount(place.database)]).toEqual([1, 1]);
    });

    test("a create stays the same when the contract adds a member with a default", async () => {
      const name = { type: "string" };
      const size = { type: "integer", default: 7 };
      for (const isChosen of [true, false]) {
        const contractOf = (properties: Record<string, unknown>) => {
          const body = objectOf(isChosen ? properties : { id: { type: "integer" }, ...properties }, ["name"]);
          const required = ["id", ...Object.keys(properties)];
          const response = objectOf({ id: { type: "integer" }, ...properties }, required);
          return { text: toExactJson(thingsDocument({ body, response })) };
        };
        const contracts = [contractOf({ name }), contractOf({ name, size })] as const;
        await using place = await engine.createTestStore(contracts[0]);
        const ids: string[] = [];
        for (const contract of contracts) {
          const store = await openedStore(place.database, undefined, contract);
          await using server = await startInProcess({ store });
          const body = isChosen ? { name: "a" } : { id: 5, name: "a" };
          const key: Record<string, string> = isChosen ? { "Idempotency-Key": "k" } : {};
          const answer = await sendJson(`${server.url}/things`, "POST", body, key);
          expect([contract.text, answer.text, answer.status]).toEqual([contract.text, answer.text, 200]);
          ids.push(idIn(answer));
        }
        expect(ids[0]).toBe(ids[1] ?? "");
      }
    });

    test("a deletion that is undone brings the key back, unless it has created another since", async () => {
      await using both = await startTwo(engine, contractWithIds(idSchemas["at most 9999"]));
      const undo = async () => {
        const args = ["--database", both.database];
        const [run = ""] = /[a-z0-9]{12}/.exec((await runCommand(["history", ...args])).stdout) ?? [];
        return runCommand(["history", "--undo", run, ...args]);
      };
      const id = idIn(await both.create(0, "A", "k"));
      await both.send(0, "DELETE", `/${id}`);
      expect((await undo()).exitCode).toBe(0);
      expect(idIn(await both.create(1, "A", "k"))).toBe(id);
      await both.send(0, "DELETE", `/${id}`);
      const other = idIn(await both.create(1, "B", "k"));
      await undo();
      expect(idIn(await both.create(0, "B", "k"))).toBe(other);
      expect(await storedCount(both.database)).toBe(1);
    });

    test("a key whose first id is another's has the next one, also after that is gone", async () => {
      await using both = await startTwo(engine, contractWithIds(idSchemas["at most 9999"]));
      const first = idIn(await both.create(0, "a", "k"));
      await both.send(0, "DELETE", `/${first}`);
      const store = both.servers[0]?.store;
      const collection = store && onlyCollection(store.contract);
      if (collection === undefined) throw new Error("There is a collection");
      // An equal resource takes the id.
      const plant = { id: BigInt(first), values: ["a"] };
      expect(await store?.create([{ collection, plant, creator: null, key: null }])).toEqual(["created"]);
      const second = idIn(await both.create(0, "a", "k"));
      expect(second).not.toBe(first);
      await both.send(0, "DELETE", `/${first}`);
      expect(idIn(await both.create(1, "a", "k"))).toBe(second);
      expect(await storedCount(both.database)).toBe(1);
    });
  });
