// Responses in the shape that contracts describe: lists inside a member, pages by number or offset,
// times of creation, and properties that clients cannot set.

import { describe, expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import { toExactJson } from "../../../src/json/exact-json.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import {
  contractFile,
  sandboxOfText,
  sandboxOfThings,
  sendJson,
  tokenHeaders,
} from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { jsonOf, objectOf, readThings, thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { eventually } from "../../support/eventually.ts";
import type { Answer } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { openedStore, unexpected } from "../../support/stored-plants.ts";

const path = contractFile("bookings.yaml");
const text = await Bun.file(path).text();

for (const engine of engines)
  describe(`${engine.name}: bookings`, () => {
    const { request } = contractServer(engine, "bookings.yaml", { args: ["--open"] });
    const book = (body: string, key: string) =>
      request("POST", "/bookings", body, { "Idempotency-Key": key });

    test("a booking has the time of its creation, which a retry and a GET repeat", async () => {
      const before = Date.now();
      const body = '{"id":7,"cabin":"Beech","guests":2,"created_at":"1999-01-01T00:00:00Z"}';
      const created = await book(body, "first");
      expect(created.status).toBe(201);
      const [, id = "", time = ""] =
        /^\{"id":(\d+),"cabin":"Beech","guests":2,"created_at":"([^"]+)"\}$/.exec(created.text) ?? [];
      expect(id).not.toBe("7");
      expect(Date.parse(time)).toBeWithin(before - 1_000, Date.now() + 1_000);
      await eventually("a later time", () => Date.now() > Date.parse(time));
      expect((await book(body, "first")).text).toBe(created.text);
      expect((await request("GET", `/bookings/${id}`)).text).toBe(created.text);
      const listed = await request("GET", "/bookings?limit=50");
      const { total } = listed.json as { total: number };
      expect(listed.text).toStartWith('{"data":[{"id":');
      expect(listed.text).toContain(created.text);
      expect(listed.text).toEndWith(`}],"page":1,"total":${total}}`);
    });

    test("pages are numbered, and Link has the next", async () => {
      for (const key of ["second", "third", "fourth"])
        expect((await book('{"cabin":"Larch"}', key)).status).toBe(201);
      const { total } = (await request("GET", "/bookings")).json as { total: number };
      const found: unknown[] = [];
      let next: string | undefined = "/api/bookings?limit=2";
      while (next !== undefined) {
        const page: Answer = await request("GET", next.slice("/api".length));
        const { data, ...others } = page.json as { data: unknown[] };
        found.push(data.length, others);
        next = /^<(.+)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.[1];
      }
      expect(found).toEqual([2, { page: 1, total }, total - 2, { page: 2, total }]);
      expect((await request("GET", "/bookings?limit=2&page=2147483647")).json).toEqual({
        data: [],
        page: 2147483647,
        total,
      });
      for (const query of ["page=0", "limit=0", "limit=51", "page=x"])
        expect((await request("GET", `/bookings?${query}`)).json).toMatchObject({
          status: 400,
          type: "urn:plantstore:error:40004",
        });
    });
  });

test("only a retry reads its time from the store; one that cannot be read may be retried, unless that is a bug", async () => {
  using folder = new TemporaryFolder();
  const store = await openedStore(`sqlite:${folder.file("bookings.db")}`, unexpected, { text });
  const { openSql, openPlantReads = openSql } = store;
  let times = "";
  let reads = 0;
  store.openPlantReads = async () => {
    const sql = await openPlantReads.call(store);
    const query = sql.query.bind(sql);
    sql.query = async (...all) => {
      reads++;
      if (times === "unreachable") throw new OperatorError(times);
      if (times === "broken") throw new Error(times);
      return times === "gone" ? [] : query(...all);
    };
    return sql;
  };
  await using server = await startInProcess({ store });
  const token = await server.createToken();
  const book = (headers: Record<string, string>, body = '{"cabin":"Beech"}') =>
    sendJson(`${server.url}/bookings`, "POST", body, { ...tokenHeaders(token), ...headers });
  const first = await book({ "Idempotency-Key": "k" });
  expect([first.status, reads]).toEqual([201, 0]);
  expect((await book({ "Idempotency-Key": "k" })).text).toBe(first.text);
  // It, and the history, in which it may have been another at first.
  expect(reads).toBe(2);
  for (const [fails, said] of [
    ["unreachable", "The store cannot be used now"],
    ["gone", "The booking was stored before, and has just been deleted"],
  ] as const) {
    times = fails;
    const failed = await book({ "Idempotency-Key": "k" });
    expect(failed.headers.get("retry-after")).toBe("1");
    expect(failed.json).toEqual({
      type: "urn:plantstore:error:50300",
      title: "Overloaded, or the store or the identity provider cannot be reached",
      status: 503,
      detail: `${said}; retrying in 1 second is safe.`,
    });
  }
  times = "broken";
  expect((await book({ "Idempotency-Key": "k" })).json).toMatchObject({
    type: "urn:plantstore:error:50000",
  });
  expect(server.events.filter(({ kind }) => kind === "internalError")).toMatchObject([
    { error: new Error("broken") },
  ]);
  times = "unreachable";
  expect((await book({ "Idempotency-Key": "k" }, '{"cabin":"Oak"}')).status).toBe(503);
  const again = await book({});
  expect(again.status).toBe(201);
  times = "";
  const sql = await store.openSql();
  const rows = await sql.query<{ created_at: bigint }>("SELECT created_at FROM bookings ORDER BY created_at");
  await sql[Symbol.asyncDispose]();
  expect(rows.map(({ created_at }) => new Date(Number(created_at)).toISOString())).toEqual(
    [first, again].map(({ json }) => (json as { created_at: string }).created_at),
  );
});

test("a retry has its Location, and the time of a change in a property that was added later", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("things.db")}`;
  const description = (times: object) => {
    const one = objectOf({ id: { type: "integer" }, name: { type: "string" }, ...times });
    const item = { get: { responses: { 200: jsonOf(one) } } };
    const post = { responses: { 201: jsonOf(one) } };
    return toExactJson(thingsDocument({ required: ["name"], post, item }));
  };
  const answers: Answer[] = [];
  const updated = { updated_at: { type: "string", format: "date-time", readOnly: true } };
  for (const each of [description({}), description(updated)]) {
    const store = await openedStore(database, unexpected, { text: each });
    const operations = store.contract.collections.flatMap((collection) => collectionOperations(collection));
    await using server = await startInProcess({ store, operations });
    const headers = tokenHeaders(await server.createToken(`token ${answers.length}`));
    for (let sent = 0; sent < 2; sent++)
      answers.push(await sendJson(`${server.url}/things`, "POST", { id: 7, name: "a" }, headers));
    answers.push(await sendJson(`${server.url}/things/7`, "GET", undefined, headers));
  }
  expect(answers.map(({ status, headers }) => [status, headers.get("location")])).toEqual(
    [0, 1].flatMap(() => [
      [201, "/things/7"],
      [201, "/things/7"],
      [200, null],
    ]),
  );
  const [before, , , after, again, got] = answers.map((answer) => answer.text);
  expect(before).toBe('{"id":7,"name":"a"}');
  expect(after).toMatch(/^\{"id":7,"name":"a","updated_at":"20[^"]+Z"\}$/);
  expect([again, got]).toEqual([after, after]);
});

test("a page that cannot be cut short is refused where it is too large", async () => {
  await using store = await sandboxOfText(text.replace("maxLength: 50", "maxLength: 600000"));
  for (const letter of ["a", "b"])
    expect(
      (await store.request("POST", "/bookings", JSON.stringify({ cabin: letter.repeat(600_000) }))).status,
    ).toBe(201);
  expect((await store.request("GET", "/bookings?limit=2")).json).toMatchObject({
    detail: "A page of 2 would be over 1048576 bytes; ask for fewer bookings with limit.",
  });
  expect((await store.request("GET", "/bookings?limit=1&page=2")).status).toBe(200);
});

test("a page that would leave out what the limit asks for is refused, and a smaller one is whole", async () => {
  await using store = await sandboxOfText(text.replace(", maximum: 50", ""));
  const add = (count: number) =>
    Promise.all(Array.from({ length: count }, () => store.request("POST", "/bookings", '{"cabin":"Alder"}')));
  await add(1_000);
  const { data } = (await store.request("GET", "/bookings?limit=5000")).json as { data: unknown[] };
  expect(data.length).toBe(1_000);
  await add(1);
  expect((await store.request("GET", "/bookings?limit=5000")).json).toMatchObject({
    detail: "A page has at most 1000 bookings, and there are more; ask for fewer with limit.",
  });
});

test("paths whose segments have texts and several parameters take no requests of their neighbours", async () => {
  const integer = "{ in: path, required: true, schema: { type: integer }, name:";
  const get = "get: { responses: { '200': { description: Other. } } }";
  const neighbours = `/tiles/{z}-{x}-{y}.png:
    parameters: [${integer} z }, ${integer} x }, ${integer} y }]
    ${get}
  /bookings/{id}.pdf: { ${get} }
  /bookings/{id}:cancel: { post: { responses: { "204": { description: Cancelled. } } } }
  /bookings/{from}..{to}: { ${get} }
  /bookings({id}): { ${get} }
  /bookings`;
  await using store = await sandboxOfText(text.replace("/bookings", neighbours));
  const { headers } = await store.request("POST", "/bookings", '{"cabin":"Alder"}');
  const location = (headers.get("location") ?? "").replace("/api", "");
  expect((await store.request("GET", location)).json).toMatchObject({ cabin: "Alder" });
  for (const [method, path, status] of [
    ["GET", `${location}.pdf`, 200],
    ["POST", `${location}:cancel`, 204],
    ["GET", "/bookings/1..2", 200],
    ["GET", "/bookings(1)", 200],
    ["GET", "/tiles/1-2-3.png", 200],
    ["GET", "/tiles/1-2-x.png", 400],
    // With one group for each parameter this took minutes.
    ["GET", `/tiles/${"-".repeat(10_000)}`, 404],
  ] as const)
    expect([path, (await store.request(method, path)).status]).toEqual([path, status]);
});

test("a path that Bun would take for a parameter", async () => {
  await using other = await sandboxOfText(text.replaceAll("/bookings", "/:tenant/bookings"));
  const body = '{"cabin":"Alder"}';
  expect((await other.request("POST", "/:tenant/bookings", body)).status).toBe(201);
  expect((await other.request("POST", "/acme/bookings", body)).status).toBe(404);
});

/** A description of tasks, whose body has them in `data`. */
const wrappedTasks = (response: object, list: object, parameter = "task_gid") => {
  const data = objectOf({ name: { type: "string" } }, ["name"]);
  return {
    openapi: "3.1.0",
    info: { title: "Tasks", version: "1" },
    paths: {
      "/tasks": {
        post: {
          requestBody: jsonOf(objectOf({ data })),
          responses: { 201: { description: "ok", ...jsonOf(response) } },
        },
        get: { responses: { 200: { description: "ok", ...jsonOf(list) } } },
      },
      [`/tasks/{${parameter}}`]: {
        get: {
          parameters: [{ name: parameter, in: "path", required: true, schema: { type: "string" } }],
          responses: { 200: { description: "ok", ...jsonOf(response) } },
        },
      },
    },
  };
};
const ownTask = (id: string) => objectOf({ [id]: { type: "string" }, name: { type: "string" } }, [id]);
const listOf = (items: object) => ({ type: "array", items });

test.each<[what: string, response: object, list: object, parameter: string, id: string]>([
  [
    "as the body",
    objectOf({ data: ownTask("gid") }),
    objectOf({ data: listOf(ownTask("gid")) }),
    "task_gid",
    "gid",
  ],
  [
    "in another member",
    objectOf({ result: ownTask("id") }),
    objectOf({ items: listOf(ownTask("id")) }),
    "taskId",
    "id",
  ],
  ["without a wrapper", ownTask("id"), listOf(ownTask("id")), "taskId", "id"],
  [
    "with a list in two parts of an allOf",
    objectOf({ data: ownTask("gid") }),
    {
      allOf: [
        objectOf({ data: listOf({ type: "object" }), next: { type: ["string", "null"] } }, ["data"]),
        { properties: { data: listOf(ownTask("gid")) } },
      ],
    },
    "task_gid",
    "gid",
  ],
])("a body in `data` has its id in responses, %s", async (_, response, list, parameter, id) => {
  await using tasks = await sandboxOfText(JSON.stringify(wrappedTasks(response, list, parameter)));
  const created = await tasks.request("POST", "/tasks", '{"data":{"name":"a"}}');
  const found = new RegExp(`"${id}":"([^"]+)"`).exec(created.text)?.[1] ?? "";
  expect([created.status, found.length > 0]).toEqual([201, true]);
  expect((await tasks.request("GET", `/tasks/${found}`)).text).toBe(created.text);
  expect((await tasks.request("GET", "/tasks")).text).toContain(`{"${id}":"${found}","name":"a"}`);
  expect((await tasks.request("POST", "/tasks", '{"name":"a"}')).status).toBe(400);
});

test("what a response requires below the first level is there, or named", async () => {
  const country = { type: "string", example: "NO" };
  const to = (required: readonly string[]) => ({
    ...objectOf(
      {
        country,
        kind: { const: "home" },
        note: { type: ["string", "null"] },
        to: { type: "string", readOnly: true },
      },
      required,
    ),
  });
  const body = objectOf({ id: { type: "integer" }, to: to([]), all: listOf(to([])) }, ["id"]);
  const needs = to(["country", "kind", "note"]);
  const described = {
    body,
    response: objectOf({ id: { type: "integer" }, to: needs, all: listOf(needs) }, ["id"]),
  };
  const made = '{"country":"NO","kind":"home","note":null}';
  await using things = await sandboxOfThings(described);
  expect((await things.request("POST", "/things", '{"id":1,"to":{},"all":[{},{"note":"a"}]}')).text).toBe(
    `{"id":1,"to":${made},"all":[${made},{"note":"a","country":"NO","kind":"home"}]}`,
  );
  const served = await readThings(described);
  expect(served.notes.filter((note) => note.includes("may lack"))).toEqual([
    expect.stringContaining(
      'a response may lack "country", which it requires, as a body need not have it (at ',
    ),
    expect.stringContaining("/all/items/properties/country)"),
  ]);
  const listed = (values: object) =>
    objectOf({ id: { type: "integer" }, kind: { type: "string", ...values } }, ["id"]);
  const narrower = await readThings({
    body: listed({ enum: ["a", "b"] }),
    response: listed({ enum: ["a"] }),
  });
  expect(narrower.notes[0]).toStartWith(
    'a response may have another "kind" than its enum has, as a body may',
  );
  const wider = await readThings({ body: listed({ enum: ["a"] }), response: listed({ enum: ["b", "a"] }) });
  expect(wider.notes).toEqual([]);
  // What a client cannot set is not there either.
  const same = objectOf({ id: { type: "integer" }, to: to(["country", "to"]) }, ["id"]);
  const { notes } = await readThings({ body: same });
  expect(notes.filter((note) => note.includes("may lack"))).toEqual([
    expect.stringContaining('a response may lack "to"'),
  ]);
});
