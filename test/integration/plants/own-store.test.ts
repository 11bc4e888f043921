// The store of operations of one's own: resources of any collection, and transactions, by several
// servers at the same time.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Contract } from "../../../src/contract/contract.ts";
import { ApiError, type CollectionStore, etagOf } from "../../../src/index.ts";
import { EditRun } from "../../../src/plants/edit-run.ts";
import { listEdits, undoRun } from "../../../src/plants/edits.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { ownOperation } from "../../support/own-operation.ts";

type Call = Parameters<Parameters<typeof ownOperation>[1]>[0];
// The handlers of this test have no types of a contract.
type Resource = Record<string, unknown> & { readonly id: string };
type Own = Record<"rooms" | "guests" | "bookings", CollectionStore<{ resource: Resource; body: object }>>;

const hotel = { text: await Bun.file(contractFile("hotel.yaml")).text() };

/** The handler that the next call of the only operation runs. */
let handler: (call: Call) => Promise<unknown>;

const run = ownOperation("run", (call) => handler(call) as Promise<never>);

describe.each(engines.filter(({ name }) => name !== "citus"))("on $name", ({ name, createTestStore }) => {
  const resources = new AsyncDisposableStack();
  const servers: InProcessServer[] = [];
  const tokens: string[] = [];
  let contract: Contract;

  beforeAll(async () => {
    const { database } = resources.use(await createTestStore());
    for (const _ of [1, 2]) {
      const server = resources.use(await startInProcess({ database, contract: hotel, operations: [run] }));
      servers.push(server);
      tokens.push(await server.createToken(`ci-${servers.length}`));
    }
    for (const server of servers) await server.server.reloadTokens();
    [
      {
        store: { contract },
      },
    ] = servers as [InProcessServer];
  });
  afterAll(() => resources.disposeAsync());

  async function call(own: (call: Call) => Promise<unknown>, at = 0, headers: Record<string, string> = {}) {
    handler = own;
    const { url } = servers[at] as InProcessServer;
    const response = await fetch(`${url}/run`, {
      method: "POST",
      headers: { Authorization: `Bearer ${tokens[at]}`, ...headers },
    });
    return { status: response.status, json: (await response.json()) as Resource };
  }

  const room = { number: "101", kind: "double", price: { amount: 80.5, currency: "EUR" } };
  const of = ({ store }: Call) => store.collections as unknown as Own;

  test("a handler creates, gets, lists, replaces, patches and deletes as a client does", async () => {
    // Other tests have rooms, too.
    const own = { ...room, number: "1011" };
    const { status, json } = await call(async (each) => {
      const { rooms, guests } = of(each);
      const created = await rooms.create(own);
      const same = await rooms.get(created.id);
      const guest = await guests.create({ name: "Ada", email: "ada@example.org", phone: "1" });
      const patched = await guests.patch(guest.id, { phone: null, vip: true }, { ifMatch: guest });
      const replaced = await rooms.replace(created.id, { ...created, kind: "suite" });
      return {
        created,
        same,
        replaced,
        patched,
        listed: await rooms.list({ where: { number: "1011", kind: "suite" } }),
        none: await rooms.list({ where: { number: "1012" } }),
        deleted: [await guests.delete(guest.id), await guests.delete(guest.id)],
        gone: (await guests.get(guest.id)) ?? null,
      };
    });
    expect(json.same).toEqual(json.created);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        created: { ...own, id: expect.any(String) },
        patched: { name: "Ada", vip: true, created_at: expect.any(String) },
        replaced: { kind: "suite" },
        listed: [{ kind: "suite" }],
        none: [],
        deleted: [true, false],
        gone: null,
      },
    });
  });

  test.each([
    ["create", { number: 7 }, 400, "number"],
    ["create", { ...room, kind: "palace" }, 400, "kind"],
  ])("%s of %p is refused as a client's is", async (method, body, status, message) => {
    const answer = await call((each) => of(each).rooms[method as "create"](body));
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.json)).toContain(message);
  });

  test("what is not there, or does not match, is an error of the contract", async () => {
    const id = crypto.randomUUID();
    expect(await call((each) => of(each).rooms.patch(id, { kind: "single" }))).toMatchObject({
      status: 404,
    });
    const stale = await call(async (each) => {
      const { rooms } = of(each);
      const first = await rooms.create(room);
      await rooms.patch(first.id, { kind: "suite" });
      return rooms.patch(first.id, { kind: "single" }, { ifMatch: first });
    });
    expect(stale.status).toBe(412);
    const header = await call(async (each) => {
      const { rooms } = of(each);
      const first = await rooms.create(room);
      return rooms.patch(first.id, { kind: "single" }, { ifMatch: etagOf(first) });
    });
    expect(header.json).toMatchObject({ kind: "single" });
  });

  test("a transaction makes all of its changes in one run of the history, or none", async () => {
    const { json } = await call(async ({ store }) =>
      store.transaction(async (collections) => {
        const { rooms, guests } = collections as unknown as Own;
        const created = await rooms.create({ ...room, number: "all" });
        const guest = await guests.create({ name: "Ada", email: "ada@example.org" });
        const changed = await rooms.patch(created.id, { beds: 3 });
        return { room: changed, guest, again: await rooms.get(created.id) };
      }),
    );
    const own = json as unknown as Record<"room" | "guest" | "again", Resource>;
    expect(own.again).toEqual(own.room);
    const [{ store }] = servers as [InProcessServer];
    await using sql = await store.openSql();
    const { entries } = await listEdits(contract, sql, {});
    const runs = entries.filter(({ id }) => [own.room.id, own.guest.id].includes(String(id)));
    expect(new Set(runs.map(({ run }) => run)).size).toBe(1);
    expect(runs.map(({ editor }) => editor)).toEqual([
      { by: "client", token: "ci-1" },
      { by: "client", token: "ci-1" },
    ]);

    const undone = await undoRun(contract, new EditRun(store, { by: "command" }), sql, {
      run: runs[0]?.run ?? "",
    });
    expect(undone).toMatchObject({ found: 2, undone: 2, left: [] });
    const gone = await call((each) => {
      const { rooms, guests } = of(each);
      return Promise.all([rooms.list({ where: { number: "all" } }), guests.list()]);
    });
    expect(gone.json as unknown).toEqual([[], []]);
    const { json: kept } = await call((each) => of(each).rooms.create({ ...room, number: "kept" }));

    for (const fail of [
      () => new ApiError(409, "No."),
      () => {
        throw new ApiError(409, "No.");
      },
    ]) {
      const undone = await call(({ store }) =>
        store.transaction(async (collections) => {
          const { rooms } = collections as unknown as Own;
          await rooms.patch(kept.id, { beds: 4 });
          await rooms.create({ ...room, number: "none" });
          return fail();
        }),
      );
      expect(undone).toMatchObject({ status: 409 });
    }
    const after = await call((each) => {
      const { rooms } = of(each);
      return Promise.all([rooms.get(kept.id), rooms.list({ where: { number: "none" } })]);
    });
    expect(after.json as unknown).toEqual([kept, []]);
  });

  test("queries after a change, and calls after the end, are errors of the author", async () => {
    const late = await call(({ store }) =>
      store.transaction(async (collections) => {
        const { rooms } = collections as unknown as Own;
        await rooms.create(room);
        return rooms.list();
      }),
    );
    expect(late.status).toBe(500);
    let ended: Own;
    const after = await call(async ({ store }) => {
      await store.transaction(async (collections) => {
        ended = collections as unknown as Own;
      });
      return ended.rooms.list();
    });
    expect(after.status).toBe(500);
  });

  if (name === "sqlite")
    test("a query that creates would wait for too long is 503", async () => {
      const count =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000000) SELECT count(*) AS rows FROM n";
      const counted = await call(({ store }) => store.transaction(async (_, query) => await query(count)));
      expect(counted.status).toBe(503);
    });

  /** Books a room for a night, if nobody has. */
  const book = (roomId: string, night: string, isBySql: boolean) => (each: Call) =>
    each.store.transaction(async (collections, query) => {
      const { rooms, bookings } = collections as unknown as Own;
      if ((await rooms.get(roomId)) === undefined) return new ApiError("notFound", "There is no such room.");
      const taken = isBySql
        ? await query(`SELECT id FROM bookings WHERE room_id = $1 AND "from" = $2`, [roomId, night])
        : await bookings.list({ where: { room_id: roomId, from: night } });
      if (taken.length > 0) return new ApiError(409, "The room is taken.");
      const guest_id = crypto.randomUUID();
      return await bookings.create({
        room_id: roomId,
        guest_id,
        from: night,
        to: night,
        status: "confirmed",
      });
    });

  test.each([
    ["list", false],
    ["query", true],
  ])("of 20 clients of two servers that book one room by %s, one wins", async (_, isBySql) => {
    const { json: stored } = await call((each) => of(each).rooms.create({ ...room, number: `n${isBySql}` }));
    for (let night = 1; night <= 5; night++) {
      const day = `2026-12-0${night}`;
      // All of them run the same handler.
      handler = book(stored.id, day, isBySql);
      const own = handler;
      const answers = await Promise.all(Array.from({ length: 20 }, (_, client) => call(own, client % 2)));
      const counts = answers.map(({ status }) => status);
      expect(counts.toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
    }
    const { json } = await call((each) => of(each).bookings.list({ where: { room_id: stored.id } }));
    expect(json as unknown).toHaveLength(5);
  });
});
