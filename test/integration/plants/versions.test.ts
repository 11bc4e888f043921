// The version of a resource: every change raises it, it never comes back, and tags, conditions,
// operators' edits and undo go by it; on every engine, for each kind of id.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { sendJson } from "../../support/contract-sandbox.ts";
import { jsonOf, objectOf, thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import type { Answer } from "../../support/http.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

const kinds = {
  int64: { schema: { type: "integer", format: "int64" }, id: 9_007_199_254_740_993n },
  uuid: { schema: { type: "string", format: "uuid" }, id: "0198c5a1-7b3e-7c4f-8a2d-1f2e3d4c5b6a" },
  text: { schema: { type: "string" }, id: "Ä/b c" },
} as const;

/** Things that clients create, get, replace, change and delete. */
function things(idSchema: object, more: object = {}): string {
  const properties = { id: idSchema, name: { type: "string" }, size: { type: "integer" }, ...more };
  const thing = objectOf(properties, ["id"]);
  const ok = { description: "ok", ...jsonOf(thing) };
  const edit = { requestBody: jsonOf(thing), responses: { 200: ok } };
  const parameters = [{ name: "id", in: "path", required: true, schema: idSchema }];
  const item = {
    parameters,
    get: { responses: { 200: ok } },
    put: { ...edit, responses: { 200: ok, 201: ok } },
    patch: edit,
    delete: { responses: { 204: { description: "gone" } } },
  };
  return JSON.stringify(thingsDocument({ body: thing, item }));
}

for (const engine of engines)
  for (const [kind, { schema, id }] of Object.entries(kinds))
    describe(`${engine.name}, ${kind}`, () => {
      /** Runs a test on a server of things. */
      async function withThings(
        use: (server: {
          request(method: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
          command(...args: string[]): Promise<string>;
          file(name: string, text: string): string;
          serve(text: string): Promise<void>;
        }) => Promise<void>,
      ) {
        using folder = new TemporaryFolder();
        const text = things(schema);
        await using place = await engine.createTestStore({ text });
        const path = folder.file("things.json");
        const start = (contract: string) => {
          writeFileSync(path, contract);
          const args = ["--contract", path, "--open"];
          return RunningServer.startInProcess({ database: place.database, args });
        };
        let server = await start(text);
        const json = (body: object) =>
          JSON.stringify({ id, ...body }, (_, value) =>
            typeof value === "bigint" ? JSON.rawJSON(String(value)) : value,
          );
        try {
          await use({
            request: (method, body, headers = {}) =>
              sendJson(
                `${server.url}/things${method === "POST" ? "" : `/${encodeURIComponent(String(id))}`}`,
                method,
                body && json(body),
                { "Content-Type": "application/json", ...headers },
              ),
            async command(...args) {
              const { stdout, stderr } = await server.command(...args);
              return stdout + stderr;
            },
            file(name, lines) {
              writeFileSync(folder.file(name), lines);
              return folder.file(name);
            },
            async serve(contract) {
              await server[Symbol.asyncDispose]();
              server = await start(contract);
            },
          });
        } finally {
          await server[Symbol.asyncDispose]();
        }
      }

      const runOf = (text: string) => /--undo (\w+)/.exec(text)?.[1] ?? "";
      const record = (name: string) => {
        const text = typeof id === "bigint" ? String(id) : JSON.stringify(id);
        return `{"id":${text},"name":"${name}"}\n`;
      };

      test("a tag never comes back, neither by a change nor by a deletion", async () => {
        await withThings(async ({ request, command, file, serve }) => {
          const tags: string[] = [];
          const note = async (answer: Answer | string) => {
            if (typeof answer !== "string") expect(answer.status).toBeOneOf([200, 201, 204]);
            const current = await request("GET");
            if (current.status === 200) tags.push(current.headers.get("etag") ?? "");
          };
          const created = await request("POST", { name: "one" });
          await note(created);
          expect(created.headers.get("etag")).toBe(tags[0] ?? "");
          for (const [method, name] of [
            ["PUT", "two"],
            ["PUT", "one"],
            ["PATCH", "two"],
            ["PATCH", "one"],
          ] as const) {
            const changed = await request(method, { name });
            await note(changed);
            expect(changed.headers.get("etag")).toBe(tags.at(-1) ?? "");
          }
          await note(await request("DELETE"));
          await note(await request("POST", { name: "one" }));
          await note(await request("DELETE"));
          await note(await request("PUT", { name: "one" }));
          const update = await command("update", String(id), "--name", "two");
          expect(update).toContain("undoes this");
          await note(update);
          await note(await command("history", "--undo", runOf(update)));
          const deletion = await command("delete", String(id));
          await note(deletion);
          await note(await command("history", "--undo", runOf(deletion)));
          const imported = await command(
            "import",
            "--update",
            file("a.ndjson", record("two") + record("one")),
          );
          await note(imported);
          expect(tags).toHaveLength(11);
          expect(new Set(tags).size).toBe(tags.length);

          const [first = ""] = tags;
          const current = tags.at(-1) ?? "";
          const ifMatch = (tag: string) => ({ "If-Match": tag });
          for (const method of ["PUT", "PATCH"])
            expect((await request(method, { name: "lost" }, ifMatch(first))).status).toBe(412);
          expect((await request("DELETE", undefined, ifMatch(first))).status).toBe(412);
          expect((await request("GET", undefined, { "If-None-Match": first })).status).toBe(200);
          expect((await request("GET", undefined, { "If-None-Match": current })).status).toBe(304);

          // The contract changes what the response has.
          await serve(things(schema, { colour: { type: "string" } }));
          expect((await request("GET", undefined, { "If-None-Match": current })).status).toBe(200);
        });
      });

      test("a resource has one tag, whatever its responses show of it", async () => {
        await withThings(async ({ request, serve }) => {
          const contract = JSON.parse(things(schema));
          const { post } = contract.paths["/things"];
          const { get } = contract.paths["/things/{id}"];
          const responses = [post.responses[200] ?? post.responses[201], get.responses[200]];
          const thing = objectOf({ id: schema, name: { type: "string" } }, ["id"]);
          for (const shown of [thing, objectOf({ data: thing })]) {
            for (const response of responses) {
              Object.assign(response, jsonOf(shown));
              await serve(JSON.stringify(contract));
              const created = await request("POST", { name: "one", size: 7 });
              const tag = created.headers.get("etag") ?? "";
              expect((await request("GET")).headers.get("etag")).toBe(tag);
              const changed = await request("PATCH", { size: 8 }, { "If-Match": tag });
              expect([created.status, changed.status]).toEqual([expect.any(Number), 200]);
              expect((await request("DELETE")).status).toBe(204);
            }
          }
        });
      });

      test("an undo leaves a resource that was deleted and created again", async () => {
        await withThings(async ({ request, command }) => {
          expect((await request("PUT", { name: "one" })).status).toBe(201);
          const runs = (await command("history", "--json")).trim().split("\n");
          const { run } = JSON.parse(runs[0] ?? "") as { readonly run: string };
          await request("DELETE");
          await request("POST", { name: "one" });
          expect(await command("history", "--undo", run)).toContain("0 undone");
          expect(await request("GET")).toMatchObject({ status: 200, json: { name: "one" } });
          // Deleted again, it is not what the first deletion left.
          const deletion = await command("delete", String(id));
          await request("POST", { name: "two" });
          await request("DELETE");
          expect(await command("history", "--undo", runOf(deletion))).toContain("1 changed since");
          expect((await request("GET")).status).toBe(404);
        });
      });

      test("what was edited in several runs is undone from the last one to the first, and back", async () => {
        await withThings(async ({ request, command }) => {
          await request("POST", { name: "0" });
          const runs: string[] = [];
          for (const name of ["1", "2"])
            runs.push(runOf(await command("update", String(id), "--name", name)));
          runs.push(runOf(await command("delete", String(id))));
          const undo = async (run: string) =>
            /run of this undo is (\w+)/.exec(await command("history", "--undo", run))?.[1];
          for (let round = 0; round < 2; round++) {
            const undos: (string | undefined)[] = [];
            for (const run of runs.toReversed()) undos.push(await undo(run));
            expect(await request("GET")).toMatchObject({ json: { name: "0" } });
            for (const run of undos.toReversed()) expect(await undo(run ?? "")).toBeString();
            expect((await request("GET")).status).toBe(404);
          }
        });
      });
    });

for (const engine of engines)
  describe(`${engine.name}: a contract that changed`, () => {
    const text = (properties: object, idName = "id", required: readonly string[] = []) => {
      const thing = objectOf({ [idName]: { type: "integer" }, ...properties }, [idName, ...required]);
      const ok = { description: "ok", ...jsonOf(thing) };
      const parameters = [{ name: idName, in: "path", required: true, schema: { type: "integer" } }];
      const document = thingsDocument({ body: thing }) as { paths: object };
      const item = {
        parameters,
        get: { responses: { 200: ok } },
        patch: { requestBody: jsonOf(thing), responses: { 200: ok } },
      };
      return JSON.stringify({ ...document, paths: { ...document.paths, [`/things/{${idName}}`]: item } });
    };
    const name = { type: "string" };

    /** Migrates a store of things, whose history has edits of an earlier contract, and runs commands on it. */
    async function withChanged(
      use: (store: {
        command(...args: string[]): Promise<string>;
        migrate(contract: string, ...args: string[]): Promise<string>;
        put(things: readonly object[]): Promise<string>;
      }) => Promise<void>,
    ) {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore({ text: text({ name, size: { type: "integer" } }) });
      const run = async (...args: string[]) => {
        const { stdout, stderr } = await runCommand([...args, "--database", place.database]);
        return stdout + stderr;
      };
      const migrate = (contract: string, ...args: string[]) => {
        writeFileSync(folder.file("contract.json"), contract);
        return run("migrate", "--contract", folder.file("contract.json"), ...args);
      };
      await migrate(text({ name, size: { type: "integer" } }));
      const put = (all: readonly object[]) => {
        writeFileSync(folder.file("things.ndjson"), all.map((each) => `${JSON.stringify(each)}\n`).join(""));
        return run("import", folder.file("things.ndjson"), "--update");
      };
      await use({ command: run, migrate, put });
    }
    const runOf = (printed: string) => /--undo (\w+)/.exec(printed)?.[1] ?? "";

    test("its history is read by a renamed id, and undone", async () => {
      await withChanged(async ({ command, migrate, put }) => {
        await put([{ id: 7, name: "one" }]);
        const update = await command("update", "7", "--name", "two");
        await migrate(
          text({ title: name, size: { type: "integer" } }, "number"),
          "--rename-fields",
          "id=number,name=title",
        );
        expect(await command("history", "7")).toContain('title "one" → "two"');
        expect(await command("history", "--undo", runOf(update))).toContain("1 undone");
        expect(await command("get", "7")).toBe('{"number":7,"title":"one"}\n');
      });
    });

    test("an undo checks a plant with its id, which the schema of the whole requires", async () => {
      await withChanged(async ({ command, migrate, put }) => {
        const whole = text({ name, size: { type: "integer" } }).replaceAll(
          '"required":["id"]',
          '"required":["id"],"minProperties":2',
        );
        await migrate(whole);
        await put([{ id: 1, name: "one" }]);
        const update = await command("update", "1", "--name", "two");
        expect(await command("history", "--undo", runOf(update))).toContain("1 undone");
        const deleted = await command("delete", "1");
        expect(await command("history", "--undo", runOf(deleted))).toContain("1 undone");
        expect(await command("get", "1")).toBe('{"id":1,"name":"one"}\n');
      });
    });

    test("an undo refuses what it forbids, and what it cannot read is a line of its own", async () => {
      await withChanged(async ({ command, migrate, put }) => {
        await put([
          { id: 1, name: "one" },
          { id: 2, name: "two", size: 2 },
        ]);
        const deleted = await command("delete", "1", "2");
        await migrate(text({ name, size: { type: "integer" } }, "id", ["size"]));
        const undone = await command("history", "--undo", runOf(deleted));
        expect(undone).toContain("1 undone");
        expect(undone).toContain(
          "Not undone: 1, which the contract of today does not allow as it was. The body is not",
        );
        expect(await command("export")).toBe('{"id":2,"name":"two","size":2}\n');

        // "size" becomes a text.
        await migrate(text({ name }), "--drop-fields", "size");
        await migrate(text({ name, size: { type: "array", items: { type: "string" } } }));
        await command("update", "2", "--name", "three");
        const lines = (await command("history")).trim().split("\n");
        expect(lines).toHaveLength(5);
        expect(lines[1]).toContain('name "two" → "three"');
        expect(
          lines.slice(2).filter((line) => line.endsWith("cannot be read by the contract of today")),
        ).toHaveLength(2);
        expect(lines.filter((line) => line.includes('deleted {"name":"one"}'))).toHaveLength(1);
      });
    });
  });
