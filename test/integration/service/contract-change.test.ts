// A contract that changes while servers run: they take it over, and acknowledge nothing that the
// contract of the moment forbids.

import { afterAll, describe, expect, test } from "bun:test";
import type { Collection, Contract, ContractSource } from "../../../src/contract/contract.ts";
import { compiler } from "../../../src/openapi/compiler.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { storedIndexes } from "../../../src/store/migration/schema.ts";
import { storeAt } from "../../../src/store/open-store.ts";
import type { OpenOptions } from "../../../src/store/plant-store.ts";
import type { SqlWork } from "../../../src/store/shared/sql-work.ts";
import type { SqlConnection } from "../../../src/store/sql-connection.ts";
import { onlyCollection, shelfFields, shelves } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { exported, openedStore, runSql, unexpected } from "../../support/stored-plants.ts";

const { name, size } = shelfFields;
const original = shelves({ name, size });
const narrow = shelves({ name: { ...name, maxLength: 3 }, size });

async function migrate(database: string, contract: ContractSource, options: Partial<OpenOptions> = {}) {
  const choice = { compiler, contract, dropFields: [], ...options };
  await using _ = await storeAt(database).open("create", unexpected, choice);
}

/** Runs statements one by one. */
async function runWork<Result>(sql: SqlConnection, work: SqlWork<Result>): Promise<Result> {
  let step = work.next();
  while (step.done !== true)
    step = work.next(await Promise.all(step.value.map((each) => sql.query(each.sql, each.parameters))));
  return step.value;
}

const forContract = async ({ collections }: Contract) => ({
  operations: collections.flatMap((each: Collection) =>
    collectionOperations(each, ["create", "list", "get", "delete"]),
  ),
});

for (const engine of engines)
  describe(engine.name, () => {
    const resources = new AsyncDisposableStack();
    afterAll(() => resources.disposeAsync());

    /** Two servers on a new store of a contract. */
    async function started(contract: ContractSource) {
      const { database } = resources.use(await engine.createTestStore(contract));
      const [one, other] = await Promise.all(
        (await Promise.all([openedStore(database, () => undefined, contract)]))
          .concat(await openedStore(database, () => undefined))
          .map(async (store) =>
            resources.use(
              await startInProcess({ store, ...(await forContract(store.contract)), forContract }),
            ),
          ),
      );
      if (one === undefined || other === undefined) throw new Error("no server");
      const token = await one.createToken();
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const send = (server: typeof one, body: object, path = "/shelves") =>
        fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
      const changes = (server: typeof one) =>
        server.events.filter(({ kind }) => kind === "contractChanged").length;
      const following = (times: number) =>
        eventually("both servers follow", () => [one, other].every((each) => changes(each) === times));
      return { database, one, other, headers, send, following };
    }

    test("servers take a contract over without a restart", async () => {
      const { database, one, other, headers, send, following } = await started(original);
      expect((await send(one, { id: 1, name: "ab" })).status).toBe(200);
      await migrate(database, shelves({ name, size, note: { type: "string" } }, ["name", "size"]), {
        dropFields: [],
      }).then(
        () => expect.unreachable(),
        (error) => expect(String(error)).toContain('1 ("size" is required'),
      );
      await migrate(database, narrow);
      await following(1);
      for (const server of [one, other]) {
        expect((await send(server, { id: 9, name: "abcd" })).status).toBe(400);
        expect((await send(server, { id: server === one ? 2 : 3, name: "abc" })).status).toBe(200);
      }
      const wide = shelves({ title: { type: "string" }, size }, ["title"], "/racks");
      await migrate(database, wide, {
        renames: new Map([
          ["/shelves", "/racks"],
          ["name", "title"],
        ]),
      });
      await following(2);
      for (const server of [one, other]) {
        expect((await send(server, { id: 9, name: "abcd" })).status).toBe(404);
        const list = await fetch(`${server.url}/racks`, { headers });
        expect(await list.json()).toEqual(
          [{ title: "ab" }, { title: "abc" }, { title: "abc" }].map((each, id) => ({ id: id + 1, ...each })),
        );
      }
      await migrate(database, shelves({ title: { type: "string" } }, ["title"], "/racks"), {
        dropFields: ["size"],
      });
      await following(3);
      expect((await send(other, { id: 4, title: "abcd", size: 3 }, "/racks")).status).toBe(200);
      expect(await exported(database)).toContain('{"id":4,"title":"abcd"}\n');
    });

    test("indexes of lists come and go with what the description names, under servers that run", async () => {
      const { database, one, other, send, following } = await started(original);
      expect((await send(one, { id: 1, name: "b", size: 2 })).status).toBe(200);
      const indexes = async () => {
        await using store = await openedStore(database);
        await using sql = await store.openSql();
        const all = await runWork(sql, storedIndexes(engine.engine === "postgres" ? "postgres" : "sqlite"));
        return [all.complete.length, all.others.length];
      };
      const listed = (...parameters: readonly object[]) => {
        const described = JSON.parse(original.text);
        const schema = {
          type: "array",
          items: described.paths["/shelves"].post.requestBody.content["application/json"].schema,
        };
        const responses = { 200: { description: "ok", content: { "application/json": { schema } } } };
        described.paths["/shelves"].get = { parameters, responses };
        return { text: JSON.stringify(described) };
      };
      const bySize = { name: "size_gte", in: "query", schema: { type: "integer" } };
      const byName = { name: "sort", in: "query", schema: { type: "string", enum: ["name", "-name"] } };
      const search = { name: "q", in: "query", schema: { type: "string" } };
      const made: string[] = [];
      const onIndex = (sentence: string) => void made.push(sentence);
      expect(await indexes()).toEqual([0, 0]);
      await migrate(database, listed(bySize, byName, search), { onIndex });
      expect(made).toEqual([
        'making the index of /shelves by "size"',
        'making the index of /shelves by "name"',
      ]);
      expect(await indexes()).toEqual([2, 0]);
      await following(1);
      for (const [index, server] of [one, other].entries())
        expect((await send(server, { id: 2 + index, name: "a", size: 3 })).status).toBe(200);
      if (engine.engine === "postgres") {
        // As a migration leaves it that is killed.
        await runSql(
          database,
          "UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text LIKE 'x_list%'",
        );
      }
      made.length = 0;
      await migrate(database, listed(byName, bySize, search), { onIndex });
      expect(made.length).toBe(engine.engine === "postgres" ? 2 : 0);
      await migrate(database, listed(byName, search), { onIndex });
      expect(await indexes()).toEqual([1, 0]);
      await migrate(database, original);
      expect(await indexes()).toEqual([0, 0]);
    });

    test("each acknowledged create is stored, and fits the contract of the moment", async () => {
      const { database, one, other, headers, send, following } = await started(original);
      let isEnded = false;
      let id = 0;
      let refused = 0;
      const acknowledged = new Map<number, string>();
      const create = async (server: typeof one) => {
        while (!isEnded) {
          const own = ++id;
          const text = "x".repeat(1 + (own % 8));
          const response = await send(server, { id: own, name: text });
          const { status } = response;
          await response.text();
          if (status === 200) acknowledged.set(own, text);
          else {
            expect([400, 503]).toContain(status);
            refused++;
          }
          const got = await fetch(`${server.url}/shelves/${own}`, { headers });
          const found = await got.text();
          if (got.status === 200) expect(found).toContain(`"name":"${text}"`);
          else expect(got.status === 503 || (got.status === 404 && status !== 200)).toBe(true);
        }
      };
      const clients = Array.from({ length: 12 }, (_, index) => create(index % 2 === 0 ? one : other));
      const wider = (maxLength: number) => shelves({ name: { ...name, maxLength }, size });
      try {
        let changes = 0;
        for (const maxLength of [20, 8, 9]) {
          await eventually("there are creates", () => acknowledged.size > 200 * (changes + 1));
          await migrate(database, wider(maxLength));
          await following(++changes);
        }
        // What is stored does not fit this one, also if it comes during the look.
        await migrate(database, narrow).then(
          () => expect.unreachable(),
          (error) => expect(String(error)).toContain("10 or more of its shelves do not fit"),
        );
        const extended = shelves({ name, size, colour: { type: "string", default: "red" } }, [
          "name",
          "colour",
        ]);
        await migrate(database, extended);
        await following(++changes);
        const after = acknowledged.size;
        // It must have a colour now.
        const before = refused;
        await eventually("creates without one", () => refused > before + 2 * clients.length);
        expect(acknowledged.size).toBe(after);
      } finally {
        isEnded = true;
        await Promise.all(clients);
      }
      const lines = (await exported(database)).trimEnd().split("\n");
      const stored = new Map(lines.map((line) => JSON.parse(line)).map((each) => [each.id, each]));
      const missing = [...acknowledged].filter(([own, text]) => stored.get(own)?.name !== text);
      expect(missing).toEqual([]);
      for (const each of stored.values()) expect(each.colour).toBe("red");
    }, 60_000);

    test("an edit that was checked by a former contract is not made", async () => {
      const { database, one, send } = await started(original);
      await send(one, { id: 1, name: "abc" });
      await using store = await openedStore(database, () => undefined);
      const { table, contractNumber } = onlyCollection(store.contract);
      await migrate(database, narrow);
      const edit = { id: 1n, expected: "any", replacement: undefined } as const;
      const recorded = { table, contractNumber, edit, run: "r", seq: 0, editor: "{}", editedAt: 0 };
      for (const takesOver of [false, true]) {
        if (takesOver) await store.takeOverContract?.();
        await store.edit([recorded]).then(
          () => expect.unreachable(),
          (error) => expect(String(error)).toContain("the contract of the store has changed"),
        );
      }
      expect(await exported(database)).toBe('{"id":1,"name":"abc"}\n');
    });
  });
