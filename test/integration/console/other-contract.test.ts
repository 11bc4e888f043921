// The console with another contract than the Plant Store's: rows, a search, edits as the page sends
// them, and an import.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { bodyOf } from "../../../src/console/page/plant-draft.ts";
import { useContract } from "../../../src/console/page/shown-contract.ts";
import type { PageContract } from "../../../src/console/page-contract.ts";
import { ConsoleClient } from "../../support/console.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { engines } from "../../support/engines.ts";
import { send } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";

interface Row {
  readonly id: string;
  readonly values: readonly (string | null)[];
  readonly version: string;
}

const path = join(import.meta.dir, "../../contracts/parcels.yaml");

for (const engine of engines)
  describe(`${engine.name}: the console of parcels`, () => {
    test("lists, finds, edits and imports them", async () => {
      await using place = await engine.createTestStore();
      await using server = await RunningServer.startInProcess({ ...place, args: ["--contract", path] });
      const client = await ConsoleClient.of(server);
      const { contract } = (await client.read("session")).json as { contract: PageContract };
      useContract(contract);
      const [collection] = contract.collections;
      expect(collection).toMatchObject({ one: "parcel", path: "/v2/parcels" });
      const names = (collection?.fields ?? []).map(({ name }) => name);
      const shown = ["sender", "fragile", "weight", "status", "shipped_at", "items", "note"];
      const at = shown.map((name) => names.indexOf(name));
      const rows = async (query?: Record<string, string>) => (await client.plants<Row>(query)).plants;
      const shownRows = async (query?: Record<string, string>) =>
        (await rows(query)).map(({ id, values }) => [id, ...at.map((index) => values[index])]);
      const draft = (texts: Readonly<Record<string, string>>) =>
        names.map((name) => new Map(Object.entries(texts)).get(name) ?? "");

      const typed = {
        sender: "Ada",
        fragile: "true",
        weight: "019.9",
        status: "sent",
        shipped_at: "2026-11-24T12:00:00Z",
        items: '[{"sku":"tea"}]',
      };
      const body = bodyOf("7", draft(typed));
      expect(await client.write("plants", { body })).toMatchObject({ status: 200 });
      const created = ["7", "Ada", "true", "19.90", "sent", "2026-11-24T12:00:00Z", '[{"sku":"tea"}]', null];
      expect(await shownRows()).toEqual([created]);
      const wrong = await client.write("plants", { body: bodyOf("8", draft({ ...typed, weight: "1.999" })) });
      expect(wrong).toMatchObject({
        status: 400,
        json: {
          message:
            'The body is not a NewParcel: "weight" must be a number with at most 2 digits after the point, at least 0, but is 1.999.',
        },
      });

      const stored = (await client.read("plant?id=7")).json as Row;
      const changed = draft({
        ...typed,
        weight: "2",
        note: "null",
        items: '[{"sku": "tea", "price": 0.10}]',
      });
      const edit = await client.write("edits", {
        plants: `7:${stored.version}`,
        change: "replace",
        value: bodyOf("7", changed, stored.values),
      });
      expect(edit.json).toMatchObject({ edited: 1, left: [] });
      const edited = created.with(3, "2.00").with(6, '[{"sku":"tea","price":0.10}]').with(7, "null");
      expect(await shownRows()).toEqual([edited]);
      const { edits } = (await client.read("edits?id=7")).json as {
        edits: { changes: { name: string; before: string | null; after: string | null }[] }[];
      };
      const changes = edits[0]?.changes.map(({ name, before, after }) => [name, before, after]) ?? [];
      expect(changes.toSorted()).toEqual([
        ["items", created[6] ?? "", edited[6] ?? ""],
        ["note", null, "null"],
        ["weight", "19.90", "2.00"],
      ]);

      const csv =
        'id,sender,fragile,weight,status,items\n9,Eve,false,0.5,packed,"[{""sku"":""ink""}]"\n10,Eve,maybe,,,\n';
      const imported = await send(`${await server.adminUrl()}/console/api/import?format=csv&update=off`, {
        method: "POST",
        headers: { "Content-Type": "application/octet-stream" },
        body: new Blob([csv]),
      });
      expect(imported.json).toMatchObject({ created: 1, rejected: 1, message: null });
      expect((imported.json as { report: string }).report).toContain('""fragile"" must be a boolean, but is');
      const eve = ["9", "Eve", "false", "0.50", "packed", null, '[{"sku":"ink"}]', null];
      expect(await shownRows({ "is.status": "packed" })).toEqual([eve]);
      expect(await shownRows({ word: "sku" })).toEqual([eve, edited]);
      expect(await shownRows({ word: "2026-11" })).toEqual([edited]);
      expect(await shownRows({ "is.status": "lost" })).toEqual([]);
      expect(await shownRows({ missing: "status" })).toEqual([]);

      const plants = (await rows()).map(({ id, version }) => `${id}:${version}`).join(" ");
      const group = (value: string) => client.write("edits", { plants, change: "group", value });
      expect((await group("lost")).json).toEqual({
        message: 'The status must be one of "packed", "sent", "delivered".',
      });
      expect((await group("")).json).toMatchObject({ edited: 2 });
      expect((await shownRows({ missing: "status" })).map(([id]) => id)).toEqual(["9", "7"]);
      expect(await server.logged(({ msg }) => msg === "parcels edited")).toMatchObject({ updated: 1 });
    });

    test("shows and edits parts, whose ids are texts", async () => {
      const codes = contractFile("codes.yaml");
      await using place = await engine.createTestStore({ text: await Bun.file(codes).text() });
      await using server = await RunningServer.startInProcess({ ...place, args: ["--contract", codes] });
      const client = await ConsoleClient.of(server);
      const { contract } = (await client.read("session")).json as { contract: PageContract };
      useContract(contract);
      expect(contract.collections[0]?.id).toEqual({
        name: "code",
        isText: true,
        hint: "A string, of 1 to 255 bytes, such as M6-20",
        isMade: false,
      });
      const ids = [
        "a b:c",
        "a/b",
        "A",
        "\u{1f331}",
        "\uffff",
        ...Array.from({ length: 60 }, (_, index) => `x${index}`),
      ];
      for (const id of ids)
        expect(await client.write("plants", { body: bodyOf(id, [`part ${id}`, ""]) })).toMatchObject({
          status: 200,
        });
      const inOrder = ids.toSorted((one, other) => Buffer.compare(Buffer.from(other), Buffer.from(one)));
      const read = (query: Record<string, string>) => client.plants<Row>(query);
      const first = await read({});
      const second = await read({ after: first.next ?? "" });
      expect([...first.plants, ...second.plants].map(({ id }) => id)).toEqual(inOrder);
      expect(second.next).toBeNull();
      expect((await read({ word: "X5" })).plants.map(({ id }) => id).toSorted()).toEqual(
        ids.filter((id) => id.startsWith("x5")).toSorted(),
      );
      const shown = (await client.read(`plant?${new URLSearchParams({ id: "a b:c" })}`)).json as Row;
      const edit = (change: string, value = "") =>
        client.write("edits", { plants: `${encodeURIComponent("a b:c")}:${shown.version}`, change, value });
      expect((await edit("replace", bodyOf("a b:c", ["new", "0.5"], shown.values))).json).toMatchObject({
        edited: 1,
        left: [],
      });
      const { edits } = (await client.read(`edits?${new URLSearchParams({ id: "a b:c" })}`)).json as {
        edits: { run: string; changes: { after: string | null }[] }[];
      };
      expect(edits[0]?.changes.map(({ after }) => after)).toEqual(["new", "0.50"]);
      expect((await edit("delete")).json).toMatchObject({ edited: 0, left: ["a b:c"] });
      expect(
        (await client.write("edits/undo", { run: edits[0]?.run ?? "", id: "a b:c" })).json,
      ).toMatchObject({
        undone: 1,
      });
    });
  });
