// Ids that are any texts and that clients choose: exact, and in the order of their bytes, on every
// engine.

import { beforeAll, describe, expect, test } from "bun:test";
import { idFormatOf } from "../../../src/contract/plant-id.ts";
import { CreateKey, idMaker } from "../../../src/plants/new-ids.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { readSingle } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import type { Answer } from "../../support/http.ts";
import { settled } from "../../support/settled.ts";

const path = contractFile("codes.yaml");
const source = { text: await Bun.file(path).text() };

/** Texts that differ in case, accents, white space and what a collation would ignore. */
const codes = [
  ..."! %2F -1 .a 0 00 1 10 2 A B a a/b a:b a\\b aa a\u0301 b null z \u00e1 \u00e4 \u4e2d".split(" "),
  ...[" ", "a ", "a\tb", "\ue000", "\uffff", "\u{1f331}", "\u{10ffff}"],
];
const inOrder = codes.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

for (const engine of engines)
  describe(`${engine.name}: parts`, () => {
    const { request, command } = contractServer(engine, "codes.yaml");

    const add = (code: string) => request("POST", "/parts", { code, name: `part ${code}` });
    let answers: readonly Answer[];
    // No test changes them; those of other tests have other codes.
    const ofThese = (all: readonly string[]) => all.filter((code) => codes.includes(code));
    beforeAll(async () => {
      answers = await Promise.all(codes.map(add));
    });

    test("are kept as sent, found by their path, and listed by their bytes", async () => {
      expect(answers.map(({ status, json }) => [status, json])).toEqual(
        codes.map((code) => [200, { code, name: `part ${code}` }]),
      );
      for (const code of codes)
        expect((await request("GET", `/parts/${encodeURIComponent(code)}`)).json).toEqual({
          code,
          name: `part ${code}`,
        });
      const listed: string[] = [];
      for (let next: string | undefined = "/parts?limit=7"; next !== undefined; ) {
        const { json, headers } = await request("GET", next);
        listed.push(...(json as { code: string }[]).map(({ code }) => code));
        next = /<([^>]+)>/.exec(headers.get("link") ?? "")?.[1];
      }
      expect(ofThese(listed)).toEqual(inOrder);
      const lines = (await command("export")).stdout.trimEnd().split("\n");
      expect(ofThese(lines.map((line) => JSON.parse(line).code))).toEqual(inOrder);
      const after = (await command("export", "--since-id", "a")).stdout;
      expect(JSON.parse(after.split("\n")[0] ?? "")).toMatchObject({ code: "a\tb" });
    });

    test("are one part each: the same again is the same, another one a conflict", async () => {
      expect((await add("a")).status).toBe(200);
      const { status, text } = await request("POST", "/parts", { code: "a", name: "other" });
      expect([status, text]).toEqual([
        400,
        expect.stringContaining('The id \\"a\\" already holds a different part'),
      ]);
      // Many at once, half of them twice.
      const many = Array.from({ length: 200 }, (_, index) => ({ code: `many-${index % 100}`, name: "x" }));
      const answers = await Promise.all(many.map((part) => request("POST", "/parts", part)));
      expect(answers.every((answer) => answer.status === 200)).toBeTrue();
    });

    test("are replaced and deleted by their path", async () => {
      await add("c/d");
      const at = `/parts/${encodeURIComponent("c/d")}`;
      expect((await request("PUT", at, { code: "c/d", name: "new", price: 1.5 })).status).toBe(204);
      expect((await request("GET", at)).text).toBe('{"code":"c/d","name":"new","price":1.50}');
      const other = await request("PUT", at, { code: "x", name: "new" });
      expect([other.status, other.text]).toEqual([
        400,
        expect.stringContaining('must be \\"c/d\\", as in the path'),
      ]);
      const without = await request("PUT", at, { name: "new" });
      expect([without.status, without.text]).toEqual([
        400,
        expect.stringContaining('with the member \\"code\\"'),
      ]);
      expect((await request("PUT", "/parts/none", { code: "none", name: "new" })).status).toBe(404);
      expect((await request("DELETE", at)).status).toBe(204);
      expect((await request("GET", at)).status).toBe(404);
    });

    test("of a retry, also in other words, have the ETag of what is stored", async () => {
      const send = (price: string) =>
        request("POST", "/parts", `{"code":"etag","name":"x","price":${price}}`);
      const created = await send("1.5");
      expect(created.headers.get("etag")).toBe((await request("GET", "/parts/etag")).headers.get("etag"));
      for (const price of ["1.5", "1.50"])
        expect((await send(price)).headers.get("etag")).toBe(created.headers.get("etag"));
    });

    test("that cannot be kept are refused", async () => {
      for (const [code, reason] of [
        ["", "a string, of 1 to 255 bytes"],
        ["\u00e4".repeat(128), "a string, of 1 to 255 bytes"],
        ["a\0", "U+0000"],
        ["..", "a string, of 1 to 255 bytes"],
        [1, "a string, of 1 to 255 bytes"],
      ] as const) {
        const { status, text } = await request("POST", "/parts", { code, name: "x" });
        expect([code, status, text]).toEqual([code, 400, expect.stringContaining(reason)]);
      }
      expect((await request("POST", "/parts", { code: `${"\u00e4".repeat(127)}a`, name: "x" })).status).toBe(
        200,
      );
    });
  });

test("ids that a server makes fit their pattern, or the id must be required", async () => {
  const withId = (id: object) =>
    readSingle({
      text: source.text.replace("{ type: string, example: M6-20 }", JSON.stringify({ ...id })),
    });
  const caller = { key: "", name: "ci", creator: 1 };
  for (const [schema, format, pattern] of [
    [{ type: "string" }, "base32", /^[\dA-HJKMNP-TV-Z]{26}$/],
    [{ type: "string", pattern: "^[0-9a-f]{24}$" }, "hex", /^[\da-f]{24}$/],
    [{ type: "string", format: "uuid" }, "uuid", /^[\da-f-]{36}$/],
    [{ type: "string", pattern: "^[A-Z]{3}-[0-9]+$" }, undefined, /^/],
    [{ type: "string", pattern: "^[0-9a-f]{8}-[0-9a-f]{4}-7" }, undefined, /^/],
    [{ type: "string", pattern: "^[1-9a-f][0-9a-f]{23}$" }, undefined, /^/],
    [{ type: "string", format: "uuid", pattern: "^[0-9A-F-]+$" }, undefined, /^/],
    [{ type: "integer", multipleOf: 3 }, undefined, /^/],
  ] as const) {
    const { id } = await withId(schema);
    expect(id.format).toBe(format);
    expect(idFormatOf(id.type)).toBe(format);
    if (format === undefined) continue;
    const next = idMaker(format, () => Date.UTC(2026, 0, 1), 7);
    const ids = Array.from({ length: 5_000 }, () => String(next()));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(5_000);
    const keyed = [1, 2].map(() => new CreateKey({ table: "parts" }, caller, "k").id(format, 0));
    expect(keyed[0]).toBe(keyed[1] as string);
    for (const each of [...ids.slice(0, 3), keyed[0] as string]) expect(each).toMatch(pattern);
  }
  const optional = source.text.replace("required: [code, name]", "required: [name]");
  const coded = optional.replace("example: M6-20", () => "pattern: '^[A-Z]+$', maxLength: 3");
  expect(await settled(readSingle({ text: coded }))).toThrow("one that the server can make");
});
