// Ids that the server chooses, and retries by Idempotency-Key.

import { describe, expect, test } from "bun:test";
import { OperatorError } from "../../../src/base/operator-error.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { parseExactJson, toExactJson } from "../../../src/json/exact-json.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { idMaker } from "../../../src/plants/new-ids.ts";
import { contractFile, sandboxOfThings, sendJson, tokenHeaders } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { readSingle } from "../../support/contracts.ts";
import { jsonOf, objectOf, thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { failing } from "../../support/failing.ts";
import { send } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";
import { openedStore } from "../../support/stored-plants.ts";

const source = { text: await Bun.file(contractFile("visits.yaml")).text() };
const visits = await readSingle(source);

// They are made above the engines.
for (const engine of engines.slice(0, 1))
  describe("visits", () => {
    const visitServer = contractServer(engine, "visits.yaml", { tokenName: "guest" });
    const { request, command } = visitServer;
    const book = (body: string, key?: string) =>
      request("POST", "/visits", body, key === undefined ? {} : { "Idempotency-Key": key });

    test("get a new id each, ordered by time, and a Location", async () => {
      const body = '{"guest":"Grace","seats":2}';
      const ids: bigint[] = [];
      for (let time = 0; time < 3; time++) {
        const { status, text, headers } = await book(body);
        expect(status).toBe(201);
        const id = /^\{"visitId":(\d+),"guest":"Grace","seats":2\}$/.exec(text)?.[1] ?? "";
        expect(headers.get("location")).toBe(`/visits/${id}`);
        expect((await request("GET", `/visits/${id}`)).text).toBe(text);
        ids.push(BigInt(id));
      }
      expect(ids.toSorted((one, other) => Number(one - other))).toEqual(ids);
      expect(new Set(ids).size).toBe(3);
      expect(ids.every((id) => id > 2n ** 53n && id < 2n ** 63n)).toBeTrue();
      expect((await book('{"guest":"Grace","visitId":1}')).json).toMatchObject({
        message: 'The body is not a NewVisit: it must have no member "visitId".',
      });
    });

    test("are the same for the same key of a caller, and refused for other content", async () => {
      const body = '{"guest":"Ada"}';
      const answers = await Promise.all(Array.from({ length: 20 }, () => book(body, '"8e03978e-40d5"')));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      const [first] = answers;
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      // Without the quotes of a structured field it is the same key.
      expect((await book(body, "8e03978e-40d5")).text).toBe(first?.text ?? "");
      const id = /\d+/.exec(first?.text ?? "")?.[0];
      expect(await book('{"guest":"Eve"}', "8e03978e-40d5")).toMatchObject({
        status: 400,
        json: {
          error: 40009,
          message: `This Idempotency-Key has created the visit ${id} from another body. Nothing was stored; send a new key for another visit.`,
        },
      });
      expect((await book(body, "another")).text).not.toBe(first?.text ?? "");
      for (const key of ["", "é", "x".repeat(256)])
        expect((await book(body, key)).json).toMatchObject({ error: 40004 });
    });

    test("are the same for a key, also after an operator has changed them", async () => {
      const body = '{"guest":"Mary","seats":1}';
      const { visitId } = parseExactJson((await book(body, "m")).text) as { readonly visitId: bigint };
      await command("update", String(visitId), "--seats", "3");
      const { status, text } = await book(body, "m");
      expect([status, text]).toEqual([201, `{"visitId":${visitId},"guest":"Mary","seats":3}`]);
      expect((await book('{"guest":"Mary","seats":3}', "m")).json).toMatchObject({ error: 40009 });
      expect((await book('{"guest":"Mary","seats":2}', "m")).json).toMatchObject({ error: 40009 });
    });

    test("are the same on every server, and for a token that is rotated", async () => {
      const { server, token } = visitServer;
      await using other = await RunningServer.startInProcess({ database: server.database });
      const first = await book('{"guest":"Bob"}', "k");
      const rotated = (await command("token", "rotate", "guest", "--overlap", "1h")).stdout.trim();
      for (const [url, used] of [
        [other.url, token],
        [server.url, rotated],
        [other.url, rotated],
      ] as const) {
        const again = await send(`${url}/visits`, {
          method: "POST",
          headers: {
            Authorization: `Bearer ${used}`,
            "Content-Type": "application/json",
            "Idempotency-Key": "k",
          },
          body: '{"guest":"Bob"}',
        });
        expect([again.status, again.text]).toEqual([201, first.text]);
      }
    });
  });

test("a key leads to what it has created, also after its collection has another path", async () => {
  using folder = new TemporaryFolder();
  const [database, path] = [`sqlite:${folder.file("visits.db")}`, folder.file("visits.yaml")];
  let token: string | undefined;
  const bookAt = async (name: string) => {
    await Bun.write(path, source.text.replaceAll("/visits", name));
    await using server = await RunningServer.startInProcess({ database, args: ["--contract", path] });
    token ??= await server.createToken();
    const headers = { ...tokenHeaders(token), "Idempotency-Key": "8e03978e" };
    return (await sendJson(`${server.url}${name}`, "POST", '{"guest":"Ada"}', headers)).text;
  };
  const first = await bookAt("/visits");
  expect(first).toContain("Ada");
  await Bun.write(path, source.text.replaceAll("/visits", "/stays"));
  const rename = ["--contract", path, "--rename-fields", "/visits=/stays", "--database", database];
  expect((await runCommand(["migrate", ...rename])).exitCode).toBe(0);
  expect(await bookAt("/stays")).toBe(first);
});

test("a retry after a change is known also where no body may have the id", async () => {
  const name = { type: "string" };
  // Its number of members makes the body's own schema count.
  const body = { ...objectOf({ name }, ["name"]), additionalProperties: false, minProperties: 1 };
  const response = objectOf({ id: { type: "integer" }, name });
  const item = { patch: { requestBody: jsonOf(objectOf({ name })), responses: { 200: jsonOf(response) } } };
  await using things = await sandboxOfThings({ body, response, item });
  const headers = { ...tokenHeaders(things.token), "Idempotency-Key": "k" };
  const create = () => things.request("POST", "/things", '{"name":"a"}', headers);
  const id = /\d+/.exec((await create()).text)?.[0];
  const changed = await things.request("PATCH", `/things/${id}`, '{"name":"b"}');
  expect(changed.status).toBe(200);
  expect(await create()).toMatchObject({ status: 200, text: changed.text });
});

test("a taken id is never shown: the create gets another one", async () => {
  using folder = new TemporaryFolder();
  const store = await openedStore(`sqlite:${folder.file("visits.db")}`, undefined, source);
  const tried: PlantId[] = [];
  const create = store.create.bind(store);
  store.create = (batch) => {
    tried.push(...batch.map(({ plant }) => plant.id));
    return tried.length < 3 ? Promise.resolve(batch.map(() => "taken" as const)) : create(batch);
  };
  await using server = await startInProcess({ store });
  const token = await server.createToken("guest");
  const response = await send(`${server.url}/visits`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: '{"guest":"Grace"}',
  });
  expect(response.status).toBe(201);
  expect(new Set(tried).size).toBe(3);
  expect(response.text).toBe(`{"visitId":${tried.at(-1)},"guest":"Grace"}`);
});

test("a create that may be stored under an id of the server is not said to be safe to send again", async () => {
  using folder = new TemporaryFolder();
  const store = await openedStore(`sqlite:${folder.file("visits.db")}`, undefined, source);
  using _ = failing(store, "create", new OperatorError("the disk is gone"));
  await using server = await startInProcess({ store });
  const token = await server.createToken("guest");
  const book = (headers: Record<string, string>) =>
    send(`${server.url}/visits`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...headers },
      body: '{"guest":"Grace"}',
    });
  const [unsafe, safe] = [await book({}), await book({ "Idempotency-Key": "k" })];
  // A client that obeys Retry-After would create another one.
  expect([unsafe.status, unsafe.headers.get("retry-after")]).toEqual([503, null]);
  expect(unsafe.text).toContain(
    "may have been stored; check before you send it again, or send an Idempotency-Key",
  );
  expect([safe.status, safe.text]).toEqual([
    503,
    expect.stringContaining("was stored; retrying in 1 second is safe"),
  ]);
});

test("the ids of one process are in order, also of one millisecond", () => {
  const next = idMaker("int64", () => Date.UTC(2026, 0, 1), 7);
  const ids = Array.from({ length: 1_000 }, next);
  expect(new Set(ids).size).toBe(1_000);
  expect(ids.toSorted((one, other) => (one < other ? -1 : 1))).toEqual(ids);
});

test("the description has the key, bodies without an id, and that a create sent again is a second one", () => {
  const served = servedDocument(visits, collectionOperations(visits));
  const description = String(served.info.description);
  const post = served.paths["/visits"]?.post;
  expect(post?.parameters).toMatchObject([{ name: "Idempotency-Key", in: "header", required: false }]);
  const [example] = Object.values(post?.requestBody?.content["application/json"]?.examples ?? {});
  expect(example).toMatchObject({ value: { guest: "Grace Hopper", seats: 2 } });
  expect(description).not.toContain("changes nothing");
  expect(description).toContain("again creates a second one, unless both requests have");
  expect(description).toContain("| Compare: the visit may have been changed since.");
});

test("an exception while a free id is looked for is an internal error, and logged", async () => {
  using folder = new TemporaryFolder();
  const name = { type: "string" };
  const response = objectOf({ id: { type: "integer", minimum: 1, maximum: 9 }, name });
  const text = toExactJson(thingsDocument({ body: objectOf({ name }), response }));
  const store = await openedStore(`sqlite:${folder.file("things.db")}`, undefined, { text });
  store.create = async (batch) => batch.map(() => "taken");
  const openReads = (store.openPlantReads ?? store.openSql).bind(store);
  const broken = new Error("broken");
  store.openPlantReads = async () =>
    Object.assign(await openReads(), { query: () => Promise.reject(broken) });
  await using server = await startInProcess({ store });
  const token = await server.createToken();
  const failed = await sendJson(`${server.url}/things`, "POST", { name: "a" }, tokenHeaders(token));
  expect(failed.json).toMatchObject({ error: 50000 });
  expect(server.events).toContainEqual(expect.objectContaining({ kind: "internalError", error: broken }));
});
