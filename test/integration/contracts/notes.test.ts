// A contract as frameworks write it, on every engine: the resource in a member, ids of 32 bits, a
// default, times, and URLs.

import { describe, expect, test } from "bun:test";
import { contractServer } from "../../support/contract-server.ts";
import { engines } from "../../support/engines.ts";

interface Note {
  readonly id: number;
  readonly url: string;
  readonly created_at: string;
  readonly updated_at: string;
}

for (const engine of engines)
  describe(`${engine.name}: notes`, () => {
    const notes = contractServer(engine, "notes.yaml");
    const create = async (note: object) => {
      const { status, json, headers } = await notes.request("POST", "/notes/", JSON.stringify({ note }));
      expect(status).toBe(201);
      const { note: created } = json as { readonly note: Note };
      return { created, location: headers.get("location") };
    };

    test("are created with what their responses require", async () => {
      const { created, location } = await create({ text: "a" });
      const { id, created_at } = created;
      expect(created as object).toEqual({
        ...{ id, kind: "note", text: "a", done: false, created_at, updated_at: created_at },
        url: `${notes.server.url}/notes/${id}/`,
      });
      expect(id).toBeWithin(1, 2 ** 31);
      expect(location).toBe(`/notes/${id}/`);
      expect((await notes.request("GET", `/notes/${id}/`)).json).toEqual({ note: created });
      for (const body of ['{"text":"a"}', '{"note":[]}', '{"note":{"text":1}}', "[]"])
        expect((await notes.request("POST", "/notes/", body)).status).toBe(400);
    });

    test("have the time of their last change", async () => {
      const { created } = await create({ text: "b", done: true });
      const at = `/notes/${created.id}/`;
      // The clocks of stores have milliseconds.
      while (Date.now() <= Date.parse(created.created_at)) await Bun.sleep(1);
      const changed = await notes.request("PUT", at, '{"note":{"text":"c"}}');
      const { note } = changed.json as { readonly note: Note };
      expect(note as object).toEqual({ ...created, text: "c", done: false, updated_at: note.updated_at });
      expect(Date.parse(note.updated_at)).toBeGreaterThan(Date.parse(created.created_at));
      expect((await notes.request("GET", at)).json).toEqual({ note });
      const deleted = await notes.request("DELETE", at);
      expect(deleted).toMatchObject({ status: 200, json: { note } });
      expect((await notes.request("DELETE", at)).status).toBe(404);
    });

    test("are created once by a key, and sent again are as they are now", async () => {
      const body = '{"note":{"text":"d"}}';
      const send = (sent = body) => notes.request("POST", "/notes/", sent, { "Idempotency-Key": "k" });
      const { note: created } = (await send()).json as { readonly note: Note };
      const at = `/notes/${created.id}/`;
      const change = async (text: string) => {
        while (Date.now() <= Date.parse(created.created_at)) await Bun.sleep(1);
        return await notes.request("PUT", at, JSON.stringify({ note: { text } }));
      };
      for (const text of ["e", "f", "d"]) {
        const changed = await change(text);
        const retried = await send();
        expect([retried.status, retried.json]).toEqual([201, changed.json]);
        expect(retried.headers.get("location")).toBe(at);
        if (text !== "d") expect(retried.headers.get("etag")).toBe(changed.headers.get("etag"));
      }
      await change("e");
      expect((await send('{"note":{"text":"f"}}')).text).toContain("from another body");
      expect((await notes.request("GET", at)).json).toMatchObject({ note: { text: "e" } });
    });
  });
