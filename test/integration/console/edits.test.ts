// The console's calls for the history of edits, on every engine.

import { expect, test } from "bun:test";
import { Edits } from "../../../src/console/edits.ts";
import type { ServerEvent } from "../../../src/core/observability/server-event.ts";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { EditRun } from "../../../src/operations/edits.ts";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { ConsoleClient, consoleContext } from "../../support/console.ts";
import { engines } from "../../support/engines.ts";
import { plantJson } from "../../support/http.ts";
import { RunningServer, runCommand } from "../../support/server.ts";
import { storePlants } from "../../support/stored-plants.ts";

type EditPage = Awaited<ReturnType<Edits["list"]>>;

for (const engine of engines) {
  test(`${engine.name}: the history has the edits of the console by pages, and undoes them`, async () => {
    await using place = await engine.createTestStore();
    const plants = Array.from({ length: 60 }, (_, index) => ({ id: BigInt(index), name: "Rosa" }));
    await storePlants(place.database, plants);
    await using server = await RunningServer.startInProcess(place);
    const client = await ConsoleClient.of(server);
    const list = async (query: string) => (await client.read(`edits?${query}`)).json as EditPage;
    expect(await list("id=7")).toEqual({ edits: [], next: null });

    const rosa = '{"id":7,"name":"Rosa"}';
    const replacement = '{"id":7,"name":"Rosa canina","tag":""}';
    expect((await client.write("plant/change", { expected: rosa, replacement })).status).toBe(200);
    expect((await client.write("plant/delete", { expected: replacement })).status).toBe(200);
    const { edits } = await list("id=7");
    expect(edits as unknown[]).toEqual([
      {
        run: expect.any(String),
        editedAt: expect.stringMatching(/^20.*Z$/),
        editor: { by: "console", client: "127.0.0.1" },
        before: { name: "Rosa canina", tag: "" },
        after: null,
      },
      expect.objectContaining({ before: { name: "Rosa" }, after: { name: "Rosa canina", tag: "" } }),
    ]);
    const [deletion, change] = edits.map(({ run }) => run);
    const undo = (id: string, runId = "") => client.write("edits/undo", { run: runId, id });
    const left = await undo("", change);
    expect(left.json).toEqual({ undone: 0, unchanged: 0, leftCount: 1 });
    expect((await undo("7", deletion)).json).toMatchObject({ undone: 1, leftCount: 0 });
    expect((await undo("", change)).json).toMatchObject({ undone: 1 });
    expect((await client.read("plant?id=7")).json).toMatchObject({ name: "Rosa", tag: null });
    expect((await undo("8", change)).status).toBe(404);
    expect((await undo("x", change)).status).toBe(400);
    expect((await client.read("edits?id=7&before=x")).status).toBe(400);

    // More edits of a plant than a page.
    for (let count = 0; count < 24; count++) {
      const other = plantJson(7n, `Rosa ${count}`);
      await client.write("plant/change", { expected: rosa, replacement: other });
      await client.write("plant/change", { expected: other, replacement: rosa });
    }
    const first = await list("id=7");
    expect(first.edits).toHaveLength(50);
    const rest = await list(`id=7&before=${first.next}`);
    expect(rest.edits).toHaveLength(2);
    expect(rest.next).toBeNull();

    // A run of a command.
    const ids = plants.map(({ id }) => String(id));
    expect((await runCommand(["delete", ...ids, "--database", place.database])).exitCode).toBe(0);
    const [{ run: deletions } = { run: "" }] = (await list("id=8")).edits;
    expect((await undo("", deletions)).json).toMatchObject({ undone: 60, leftCount: 0 });
    const { stderr } = await server.stop();
    expect(stderr).toContain('"msg":"plants edited"');
  });
  test(`${engine.name}: many plants get a tag, and are deleted, in one run each`, async () => {
    await using place = await engine.createTestStore();
    const plants = Array.from({ length: 1_200 }, (_, index) => ({
      id: BigInt(index),
      name: `${index < 1_100 ? "Rosa" : "Hoya"} ${index}`,
      ...(index < 10 && { tag: "new" }),
    }));
    await storePlants(place.database, plants);
    await using server = await RunningServer.startInProcess(place);
    const client = await ConsoleClient.of(server);
    const find = async (query: string) =>
      (await client.read(`plants/ids?${query}`)).json as { ids: string[]; isComplete: boolean };
    const edit = (ids: readonly string[], change: string, tag = "") =>
      client.write("plants/edit", { ids: ids.join(" "), change, tag });

    const { ids, isComplete } = await find("word=rosa");
    expect([ids.length, isComplete]).toEqual([1_100, true]);
    // As the list: only the plant with the id, without the index.
    expect((await find("word=7")).ids).toEqual(["7"]);
    const tagged = await edit([...ids, "7", "5000"], "tag", "new");
    expect(tagged.json).toMatchObject({ edited: 1_090, unchanged: 10, left: 1 });
    expect((await find("tag=new")).ids).toHaveLength(1_100);
    const { run: runId } = (await edit((await find("idMin=0&idMax=499")).ids, "delete")).json as {
      run: string;
    };
    expect((await find("tag=new")).ids).toHaveLength(600);
    expect((await client.write("edits/undo", { run: runId, id: "" })).json).toMatchObject({ undone: 500 });
    expect((await edit(["3"], "untag")).json).toMatchObject({ edited: 1 });
    expect((await find("untagged=true")).ids).toHaveLength(101);

    expect((await edit(["3"], "rename")).status).toBe(400);
    expect((await edit(["x"], "delete")).status).toBe(400);
    expect((await edit(["3"], "tag", "\0")).status).toBe(400);
    const tooMany = Array.from({ length: 10_001 }, (_, id) => String(id));
    expect((await edit(tooMany, "delete")).status).toBe(400);
  });
}

test("an undo that fails halfway reports what it has undone", async () => {
  await using store = new MemoryStore(() => undefined);
  const plants = Array.from({ length: 300 }, (_, index) => ({ id: BigInt(index), name: "Rosa" }));
  await store.create(toEntries(plants));
  const deletion = new EditRun(store, { by: "console" });
  await deletion.edit(plants.map((plant) => ({ id: plant.id, expected: plant, replacement: undefined })));

  await using sql = await store.openSql("read");
  const emitted: ServerEvent[] = [];
  let calls = 0;
  const failing: Pick<MemoryStore, "edit" | "openSql"> = {
    openSql: (access) => store.openSql(access),
    edit: async (edits, run) => {
      if (++calls === 2) throw new Error("the disk is full");
      return store.edit(edits, run);
    },
  };
  const edits = new Edits(
    consoleContext({ store: failing, reader: async () => sql, emit: (event) => emitted.push(event) }),
  );
  await using stack = new AsyncDisposableStack();
  stack.defer(() => edits.close());
  await expect(edits.undo({ run: deletion.id, id: "" }, "::1")).rejects.toThrow("the disk is full");
  const restored = (await sql.query("SELECT id FROM plants")).length;
  expect(restored).toBeWithin(1, 300);
  expect(emitted).toEqual([
    expect.objectContaining({ message: "plants edited", fields: expect.objectContaining({ restored }) }),
    expect.objectContaining({ kind: "plantsChanged", created: restored }),
  ]);
});
