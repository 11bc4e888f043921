// The preview of an import: what is guessed from the start of a file, and how it is read.

import { expect, test } from "bun:test";
import { previewImport } from "../../../src/console/import-settings.ts";
import { importColumns } from "../../support/console.ts";
import { settled } from "../../support/settled.ts";

function preview(text: string | Uint8Array, parameters: Record<string, string> = {}) {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const all = new URLSearchParams({ name: "plants.csv", size: String(bytes.length), ...parameters });
  return previewImport(bytes, all, 1_000);
}

test.each([
  ["Kategorie;Nr;Bezeichnung\nwax;1;Hoya", ";", "1,2,0,true"],
  ["\ufeffID,Name\n1,Hoya", ",", "0,1,-1,true"],
  ["1\tHoya\twax", "\t", "0,1,2,false"],
  ["1|Hoya", "|", "0,1,-1,false"],
  ["a,b,c\n1,Hoya,wax", ",", "0,1,-1,true"],
  ["name\nHoya", ",", "0,0,-1,true"],
  ["", ",", "0,0,-1,true"],
])("the delimiter and the columns of %j", async (text, delimiter, expected) => {
  const columns = importColumns(expected);
  expect(await preview(text)).toMatchObject({ format: "csv", delimiter, columns, isUtf8: true });
});

test.each(["0,1,2", "0,1,true", "-1,0,1,true", "0,-1,1,true", "0,1,x,true", "0,1,2,yes"])(
  "columns %s",
  async (columns) => {
    expect(await settled(preview("id,name", { columns }))).toThrow("must be chosen");
  },
);

test("records are read as the import reads them, with exact ids and the reasons of rejections", async () => {
  const start = 'id,name,tag\n9007199254740993,"two\nlines",\nx,Aloe,\n1,Ficus';
  const plant = { id: 9007199254740993n, name: "two\nlines" };
  const rejected = { text: "x,Aloe,", reason: expect.stringContaining("id") };
  const { records } = await preview(start, { columns: importColumns("0,1,2,true") });
  expect(records).toMatchObject([{ plant }, rejected, { text: "1,Ficus" }]);
  // The last line may be cut, also in a character or in quotes.
  expect((await preview(start, { size: "100000" })).records).toMatchObject([{ plant }, rejected]);
  expect((await preview('id,name\n1,Aloe\n2,"open\n', { size: "100000" })).records).toHaveLength(1);
  const many = Array.from({ length: 50 }, (_, id) => `{"id":${id},"name":"Hoya"}\n`).join("");
  const lines = await preview(many, { name: "plants.txt" });
  expect(lines.format).toBe("ndjson");
  expect(lines.records.slice(8)).toEqual([8n, 9n].map((id) => ({ plant: { id, name: "Hoya" } })));
});

test("a file in another encoding is not UTF-8", async () => {
  const text = "id,name\n1,B\u00fcste\n";
  expect((await preview(Buffer.from(text, "latin1"))).isUtf8).toBe(false);
  expect((await preview(Buffer.from("id,name\n1,A\n", "utf16le"))).isUtf8).toBe(false);
  expect((await preview(text)).isUtf8).toBe(true);
  // A first line that is longer than the start of the file, which ends in a character.
  const cut = Buffer.from(`{"id":1,"name":"${"\u05d0".repeat(100)}`).subarray(0, -1);
  expect((await preview(cut, { size: "100000" })).isUtf8).toBe(true);
});
